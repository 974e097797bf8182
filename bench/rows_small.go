package main

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate"
)

// smallRows measure the most common Job, which has one pod: the decision to create the pod, and a
// sync after an event.
func smallRows(m meter, _ scale, emit emit) error {
	w := newWorld(running, 1)
	fresh := &world{job: w.job.DeepCopy()}
	fresh.job.Status = batchv1.JobStatus{}
	first := firstSync{world: fresh, stored: *fresh.job}
	first.stored.ResourceVersion = "2"
	event, err := eventSide(running, asItIs, 1)
	if err != nil {
		return err
	}
	r, err := m.measure(fresh.jobfate(), fresh.realSync(), event, w.realSync(), timed(func() { err = first.sync() }))
	if err != nil {
		return err
	}
	emit(faster(r, 0, 1, "one pod: the decision to create it", "real controller", atLeast(3, "≥ 3")),
		faster(r, 2, 3, "one pod: an event and a sync that changes nothing", "real controller", atLeast(3.5, "≥ 3.5")))
	decision := allocated(func() { _, err = jobfate.Decide(fresh.snapshot()) })
	whole := allocated(func() { err = first.sync() })
	const sync = "one pod: the sync of a new Machine that creates it, with all requests"
	emit(amount("one pod: the decision to create it: allocations", "allocs", "%.0f", float64(decision.count),
		atMost(40, "≤ 40")),
		row{what: sync, ours: span(r.median(4))},
		amount(sync+": allocations", "allocs", "%.0f", float64(whole.count), target{}))
	return err
}

// A firstSync is the first sync of a Job without pods. Its server allocates nothing.
type firstSync struct {
	*world
	stored batchv1.Job
}

func (l *firstSync) sync() error {
	machine, created, stored := jobfate.NewMachine(), 0, 0
	err := machine.Begin(jobfate.View{Job: l.job, Now: now, JobsVersion: "9", PodsVersion: "9", Barrier: "1"})
	if err != nil {
		return err
	}
	result := machine.Run(func(r jobfate.Request) (k8sruntime.Object, error) {
		switch r.Verb {
		case jobfate.CreatePod:
			created++
			r.Pod.UID, r.Pod.Name, r.Pod.ResourceVersion = "uid", "job-0-abcde", "1"
			return r.Pod, nil
		case jobfate.PatchStatus:
			stored++
			return &l.stored, nil
		}
		return nil, fmt.Errorf("unexpected request: %s", r.Verb)
	})
	if result.Err == nil && (created != 1 || stored != 1) {
		return fmt.Errorf("got %d creations and %d writes of the status, want one of each", created, stored)
	}
	return result.Err
}
