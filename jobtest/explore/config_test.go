package explore

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Search returns an error that names the field of an invalid configuration. It does not
// truncate values.
func TestSearch_errors(t *testing.T) {
	for _, test := range []struct {
		want   string
		change func(*Config)
	}{
		{"Job is nil", func(c *Config) { c.Job = nil }},
		{"completions", func(c *Config) { c.Job.Spec.Completions = new(int32(-1)) }},
		{"Pods is 0", func(c *Config) { c.Pods = 0 }},
		{"Pods is 6", func(c *Config) { c.Pods = 6 }},
		{"Faults is -1", func(c *Config) { c.Faults = -1 }},
		{"Faults is 256", func(c *Config) { c.Faults = 256 }},
		{"Edits is 256", func(c *Config) { c.Edits = make([]func(*batchv1.JobSpec), 256) }},
		{"Codes is 0", func(c *Config) { c.Codes = nil }},
		{"Codes is 255", func(c *Config) { c.Codes = make([]int32, 255) }},
		{"Ticks is 256", func(c *Config) { c.Ticks = make([]time.Duration, 256) }},
		{"Ticks has 0s", func(c *Config) { c.Ticks = []time.Duration{time.Hour, 0} }},
		{"Ticks has -1s", func(c *Config) { c.Ticks = []time.Duration{-time.Second} }},
		{"Old is -1s", func(c *Config) { c.Old = -time.Second }},
		{"Kinds has Kind(16)", func(c *Config) { c.Kinds = append(Faults(), kinds) }},
	} {
		c := jobOf(1, indexed)
		c.Pods = 1
		test.change(&c)
		if _, err := Search(c); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want an error that contains %q", err, test.want)
		}
	}
}

// Ticks and Old default to an hour, and the largest values are valid.
func TestSearch_limits(t *testing.T) {
	c := jobOf(1, indexed)
	c.Pods, c.Limit, c.Faults, c.Codes = 1, 2, 255, make([]int32, 254)
	x := searchFor(t, c)
	if s := x.states[0]; s.faults != 255 || x.Old != time.Hour || len(x.Ticks) != 1 || x.Ticks[0] != time.Hour {
		t.Errorf("%d faults, old is %v, the ticks are %v; want 255, an hour, and one hour", s.faults, x.Old, x.Ticks)
	}
}

// An unknown kind has a name as well.
func TestKindString(t *testing.T) {
	for kind, want := range map[Kind]string{KillBefore: "kill before", DeleteJobOrphan: "delete the Job, orphan its pods", 99: "Kind(99)"} {
		if got := kind.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
