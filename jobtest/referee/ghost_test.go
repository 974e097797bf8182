package referee_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/referee"
)

// Ghosts have equal keys if and only if they are equal.
func TestKey(t *testing.T) {
	var ghost referee.Ghost
	ghost.Started(&batchv1.Job{})
	ghost.Charged["pod-1"], ghost.Charged["pod-2"] = corev1.PodFailed, corev1.PodSucceeded
	ghost.Failures[0], ghost.Failures[1] = 1, 2
	ghost.Tampered["pod-3"] = true
	keys := map[string]string{ghost.Key(): "nothing"}
	if same := ghost.Clone(); same.Key() != ghost.Key() {
		t.Errorf("the key of a copy is %q, want %q", same.Key(), ghost.Key())
	}
	for what, change := range map[string]func(*referee.Ghost){
		"a pod that was charged":            func(g *referee.Ghost) { g.Charged["pod-3"] = corev1.PodFailed },
		"the phase of a charged pod":        func(g *referee.Ghost) { g.Charged["pod-1"] = corev1.PodSucceeded },
		"a pod that was not charged":        func(g *referee.Ghost) { delete(g.Charged, "pod-1") },
		"the number of failures":            func(g *referee.Ghost) { g.Failed++ },
		"the number of successes":           func(g *referee.Ghost) { g.Succeeded++ },
		"the parallelism":                   func(g *referee.Ghost) { g.Parallelism++ },
		"the failures of an index":          func(g *referee.Ghost) { g.Failures[1]++ },
		"an index that has failed":          func(g *referee.Ghost) { g.Failures[2] = 1 },
		"a pod that was tampered with":      func(g *referee.Ghost) { g.Tampered["pod-4"] = true },
		"a pod that was adopted":            func(g *referee.Ghost) { g.Adopted["pod-4"] = true },
		"a pod whose creation is unknown":   func(g *referee.Ghost) { g.Unknown["pod-4"] = true },
		"a pod that was deleted":            func(g *referee.Ghost) { g.Deleted["pod-4"] = true },
		"that the controller is behind":     func(g *referee.Ghost) { g.Behind = true },
		"that it is in doubt":               func(g *referee.Ghost) { g.InDoubt = true },
		"that state was removed from pods":  func(g *referee.Ghost) { g.StateLost = true },
		"a failure moved from index 0 to 1": func(g *referee.Ghost) { g.Failures[0], g.Failures[1] = 0, 3 },
	} {
		changed := ghost.Clone()
		change(&changed)
		if other, ok := keys[changed.Key()]; ok {
			t.Errorf("%s and %s: both have the key %q", what, other, changed.Key())
		}
		keys[changed.Key()] = what
	}
}
