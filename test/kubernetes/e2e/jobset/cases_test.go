package jobset

import (
	"slices"
	"testing"
)

// testCase is a test of JobSet or Trainer, rewritten.
type testCase struct {
	name string // in the results
	from string // the kind of test in the project
	play func(*stage)
}

const (
	e2e         = "e2e"
	integration = "integration"
	own         = "own"
)

// cases lists the cases of JobSet, in the order of the results.
var cases = slices.Concat(success, failure, messages, restarts, gated, indexes, suspension, startup, dependencies, rest)

func TestJobSet(t *testing.T) { play(t, "JobSet", cases) }

// play runs the cases of a project.
func play(t *testing.T, project string, cases []testCase) {
	played := map[string]*result{}
	t.Run("case", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				r := &result{}
				played[c.name] = r
				t.Parallel()
				r.play(t, c)
			})
		}
	})
	checkResults(t, project, cases, played)
}

// result says which sides have passed a case, and what became of its pods.
type result struct {
	builtIn, ours bool
	lives         []string
}

// play runs a case on both sides, and compares the final states.
func (r *result) play(t *testing.T, c testCase) {
	var theirs, own *stage
	ctx := t.Context() // the stages run until the final states are compared
	t.Run("with", func(t *testing.T) {
		for _, p := range []struct {
			side   side
			stage  **stage
			passed *bool
		}{{builtIn, &theirs, &r.builtIn}, {ours, &own, &r.ours}} {
			t.Run(p.side.name, func(t *testing.T) {
				t.Parallel()
				s := newStage(ctx, t, p.side)
				*p.stage = s
				c.play(s)
				s.wantManaged()
				*p.passed = !t.Failed() // not reached after a fatal error
			})
		}
	})
	if t.Failed() {
		return
	}
	r.ours = false
	agree(t, theirs, own)
	r.ours, r.lives = true, own.lives
}
