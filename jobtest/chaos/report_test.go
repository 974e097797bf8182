package chaos

import (
	"slices"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/jobtest/internal/story"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// Reports are for people: the property in words, the violation that the story ends with, the
// cause of a stall, how to run it again, 60 lines at most, and few of the 200 steps.
func TestReports(t *testing.T) {
	for _, c := range []struct {
		name, property, cause, folded string
		steps                         int // at most
	}{
		{"a creation is sent again and counts, though its pod has finished", "L1", "is still in flight and nothing will resolve it", "", 11},
		{"seen, no timer for the indexes that wait", "L2", "the controller does not want to look again", "", 3},
		{"a status is written at each look", "L1", "", "times more", 1},
		{"k105200, a stale pod is counted again", "S1", "", "", 7},
		{"k130333, k137210, a stale Job is not waited for", "S6", "", "", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(knownBugs, func(k bug) bool {
				return k.name == c.name
			})
			for _, seed := range seedsFor(c.name) {
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
					t.Errorf("%d lines about %v, want 60 at most, about a case of %v", len(lines), r.Violation, found)
				}
				if steps := story.StepsOf(r.Story); steps > c.steps {
					t.Errorf("%d steps are left, want %d at most", steps, c.steps)
				}
				for _, part := range []string{"To run it again:\n  chaos.Run(", c.cause, c.folded} {
					if !strings.Contains(r.Story, part) {
						t.Errorf("the report does not say %q", part)
					}
				}
				return
			}
			t.Error("not found")
		})
	}
}

// TestFickle runs a controller that depends on chance: what was found once is reported as
// such.
func TestFickle(t *testing.T) {
	cfg := Config{Seed: 1, Retries: 10}
	cfg = cfg.orDefault()
	r := newRun(cfg, cfg.plan())
	r.broken = &referee.Violation{Property: "S1", Text: "made up"}
	if text := r.shrink().story(); !strings.Contains(text, "the controller depends on\nchance") {
		t.Errorf("the report does not say that the controller depends on chance:\n%s", text)
	}
}

// Two cases of a bug differ in pods, counts and times; two bugs in their words.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"pod-3 is created 5s after a failure", "pod-12 is created 1m2.5s after a failure", true},
		{"the indexes 0-2,4 have failed", "the indexes 1 have failed", true},
		{`the status says {"active":1}, and 2 pods are active`, `the status says {"ready":3}, and 1 pods are active`, true},
		{"active is 3, and 2 pods at most can be", "ready is 3, active 2", false},
	} {
		a, b := &referee.Violation{Property: "S1", Text: c.a}, &referee.Violation{Property: "S1", Text: c.b}
		if a.Same(b) != c.want {
			t.Errorf("%q and %q are the same: %v, want %v", c.a, c.b, !c.want, c.want)
		}
		if b.Property = "S2"; a.Same(b) {
			t.Errorf("%q breaks the same of two properties", c.a)
		}
	}
}
