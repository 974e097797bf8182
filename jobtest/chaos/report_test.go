package chaos

import (
	"slices"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/jobtest/internal/story"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// A report describes the property, the violation at which the story ends, the cause of a
// stall, and how to run it again. It has at most 60 lines, and few of the 200 steps.
func TestReports(t *testing.T) {
	for _, c := range []struct {
		name, property, cause, folded string
		steps                         int // the maximum number
	}{
		{"a creation is sent again and counted although its pod has finished", "L1", "is still in flight and nothing will resolve it", "", 11},
		{"seen, no timer for indexes that back off", "L2", "the controller has set no requeue", "", 3},
		{"a status is written in each sync", "L1", "", "times more", 1},
		{"k105200, a stale pod is counted again", "S1", "", "", 7},
		{"k130333, k137210, a decision on a stale Job", "S6", "", "", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(knownBugs, func(k bug) bool {
				return k.name == c.name
			})
			for seed := range enough {
				cfg := Config{Seed: seed, Mode: Liveness, Controller: knownBugs[at].controller, Retries: -1}
				found := Run(cfg).Violation
				if found == nil || found.Property != c.property {
					continue
				}
				cfg.Retries = 300
				r := Run(cfg)
				lines := strings.Split(strings.TrimSuffix(r.Story, "\n"), "\n")
				t.Logf("%d lines\n%s", len(lines), r.Story)
				if len(lines) > 60 || !r.Violation.Same(found) || !strings.HasPrefix(r.Story, c.property+", "+found.Meaning()+": "+r.Violation.Text+"\n") {
					t.Errorf("%d lines about %v, want at most 60, about a case of %v", len(lines), r.Violation, found)
				}
				if steps := story.StepsOf(r.Story); steps > c.steps {
					t.Errorf("%d steps are left, want at most %d", steps, c.steps)
				}
				for _, part := range []string{"To run it again:\n  chaos.Run(", c.cause, c.folded} {
					if !strings.Contains(r.Story, part) {
						t.Errorf("the report does not contain %q", part)
					}
				}
				return
			}
			t.Error("not found")
		})
	}
}

// Two cases of one bug differ only in pods, counts and times. The texts of different bugs
// differ in other words.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"pod-3 is created 5s after a failure", "pod-12 is created 1m2.5s after a failure", true},
		{"the indexes 0-2,4 have failed", "the indexes 1 have failed", true},
		{`the status says {"active":1}, but 2 pods are active`, `the status says {"ready":3}, but 1 pods are active`, true},
		{"active is 3, but at most 2 pods can be active", "ready is 3, active 2", false},
	} {
		a, b := &referee.Violation{Property: "S1", Text: c.a}, &referee.Violation{Property: "S1", Text: c.b}
		if a.Same(b) != c.want {
			t.Errorf("%q and %q are the same: %v, want %v", c.a, c.b, !c.want, c.want)
		}
		if b.Property = "S2"; a.Same(b) {
			t.Errorf("%q is the same for two properties", c.a)
		}
	}
}
