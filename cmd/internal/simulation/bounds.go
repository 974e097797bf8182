package simulation

import (
	"cmp"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
)

// Bounds limit the memory and the time of a simulation. The zero Bounds are DefaultBounds.
type Bounds struct {
	// Pods is the total number of pods, and AtOnce the number of pods that the Job may need
	// at once. For AtOnce a pod counts once for every ten of its containers.
	Pods, AtOnce int
	// Events is the number of events of a scenario.
	Events int
	// Steps counts the work: one for each change of a pod or of the Job, and for
	// each pod in each sync.
	Steps int
}

// DefaultBounds returns the default bounds.
func DefaultBounds() Bounds {
	return Bounds{Pods: 500_000, AtOnce: 20_000, Events: 10_000, Steps: 200_000_000}
}

// BoundError is the error of a simulation that exceeds one of its Bounds.
type BoundError struct {
	// Field is the field of Bounds.
	Field string
	text  string
}

// Error says which bound it is, and its value.
func (e *BoundError) Error() string { return e.text }

// checkPods returns an error if the Job needs too many pods at once.
func (b Bounds) checkPods(spec *batchv1.JobSpec, succeeded int32) error {
	want := *cmp.Or(spec.Parallelism, new(int32(1)))
	if spec.Completions != nil {
		want = min(want, *spec.Completions-succeeded)
	}
	containers := len(spec.Template.Spec.InitContainers) + len(spec.Template.Spec.Containers)
	most := b.AtOnce / max(1, containers/10)
	if int(want) <= most {
		return nil
	}
	text := fmt.Sprintf("spec.parallelism: %d pods at once; want at most %d", want, most)
	if most < b.AtOnce {
		text += fmt.Sprintf(" of %d containers each", containers)
	}
	return &BoundError{"AtOnce", text}
}

// checkCost returns an error once the simulation has cost too much.
func (b Bounds) checkCost(now Time, pods, steps int) error {
	switch {
	case pods > b.Pods:
		return &BoundError{"Pods",
			fmt.Sprintf("gave up at %s of virtual time: there were more than %d pods in all", now, b.Pods)}
	case steps > b.Steps:
		return &BoundError{"Steps",
			fmt.Sprintf("gave up at %s of virtual time: the simulation took more than %d steps", now, b.Steps)}
	}
	return nil
}
