package jobset

import (
	"testing"
)

// A played case: in words, as the table has them.
type scene struct {
	name string
	play func(*stage)
}

var scenes = success

func TestScenes(t *testing.T) {
	for _, c := range scenes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stages := []*stage{newStage(t, builtIn), newStage(t, ours)}
			t.Run("with", func(t *testing.T) {
				for _, s := range stages {
					t.Run(s.side.name, func(t *testing.T) {
						t.Parallel()
						s.t = t
						c.play(s)
					})
				}
			})
			if !t.Failed() {
				agree(t, stages[0], stages[1])
			}
		})
	}
}
