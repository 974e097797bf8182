package main

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/decide"
)

// smallRows measure the most common Job, which has one pod: the decision to create the pod, and a
// sync after an event.
func smallRows(m meter, _ scale, emit emit) error {
	w := newWorld(running, 1)
	fresh := &world{job: w.job.DeepCopy()}
	fresh.job.Status = batchv1.JobStatus{}
	event, err := eventSide(running, asItIs, 1)
	if err != nil {
		return err
	}
	r, err := m.measure(fresh.jobfate(), fresh.realSync(), event, w.realSync())
	if err != nil {
		return err
	}
	emit(faster(r, 0, 1, "one pod: the decision to create it", "real controller", atLeast(3, "≥ 3")),
		faster(r, 2, 3, "one pod: an event and a sync that changes nothing", "real controller", atLeast(3.5, "≥ 3.5")))
	decision := allocated(func() { _, err = decide.Job(fresh.snapshot()) })
	emit(amount("one pod: the decision to create it: allocations", "allocs", "%.0f", float64(decision.count),
		atMost(40, "≤ 40")))
	return err
}
