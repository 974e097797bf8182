package jobset

import (
	"slices"
	"testing"
)

// scene is a case.
type scene struct {
	name string // as in the table
	from string // which tests of the project it is from
	play func(*stage)
}

const (
	e2e         = "e2e"
	integration = "integration"
)

// scenes are all cases, in the order of the table.
var scenes = slices.Concat(success, failure, restarts, indexes, suspension, startup, dependencies, rest)

// byDefault is played without -all: two runs of four Jobs, of which one fails.
const byDefault = "one failure, one restart, then all succeed"

func TestScenes(t *testing.T) { play(t, "JobSet", scenes, byDefault) }

// play plays the cases of a project, or the one that is played by default.
func play(t *testing.T, project string, scenes []scene, byDefault string) {
	played := map[string]*result{}
	t.Run("case", func(t *testing.T) {
		for _, c := range scenes {
			if !*all && !*write && c.name != byDefault {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				r := &result{}
				played[c.name] = r
				t.Parallel()
				r.play(t, c)
			})
		}
	})
	checkTable(t, project, scenes, played)
}

// result is who has passed a case.
type result struct{ builtIn, ours bool }

// play plays a case on both sides and compares the ends.
func (r *result) play(t *testing.T, c scene) {
	var theirs, own *stage
	ctx := t.Context() // stages go on until the ends are compared
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
				*p.passed = !t.Failed() // a fatal failure does not come so far
			})
		}
	})
	if t.Failed() {
		return
	}
	r.ours = false
	agree(t, theirs, own)
	r.ours = true
}
