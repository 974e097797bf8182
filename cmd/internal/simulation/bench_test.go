package simulation

import "testing"

// BenchmarkLarge simulates a Job of 100,000 indexes with parallelism 1,000.
func BenchmarkLarge(b *testing.B) {
	for _, bc := range []struct{ name, scenario string }{
		{"alike", ""},
		{"spread", "pods: [{chance: 0.02, exits: [1, 0]}, {spread: 20s}]"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			s := scenarioOf(b, bc.scenario)
			for b.Loop() {
				r, err := Play(indexed(100_000, 1000, perIndex(3)), s, Settings{})
				if err != nil || r.End != Complete {
					b.Fatalf("got %v and %v", r, err)
				}
			}
		})
	}
}
