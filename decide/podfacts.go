package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/classify"
)

// PodFacts holds how a decision reads a pod of its Job. A failure of the pod fails the Job, its index or neither, or
// is ignored: as the rule that it matches says, and the limit of the index.
type PodFacts struct {
	Pod *corev1.Pod
	// Index is the completion index of an Indexed Job's pod, or tracking.NoIndex. Valid says that the pod can count: an
	// index is below completions.
	Index int32
	Valid bool
	// Active pods have not terminated and are not being deleted. Terminating pods are being deleted and have not
	// terminated yet. Lost pods would be among them, but count as failed (FailLostPods).
	Active, Terminating, Lost bool
	// Succeeded and Failed say how the pod counts. A pod that is being deleted counts as failed before it has
	// terminated, unless only failed pods are replaced. Listed pods are in an uncounted list of the status, which
	// then decides instead of the phase.
	Succeeded, Failed, Listed bool
	// Finalized pods carry the tracking finalizer, or get it when they are adopted.
	Finalized bool
	// Failures is the number of failures of the index, that of this pod included, and Counted the number of those that
	// count towards backoffLimitPerIndex. Without that limit nothing counts them, and both are 1.
	Failures, Counted int32

	record classify.PodRecord // of its own: the census changes its records
}

// podFacts returns what a record says.
func podFacts(r *classify.PodRecord) PodFacts {
	next := r.Counts.Next(!r.Ignored())
	return PodFacts{Pod: r.Pod, Index: r.Index, Valid: r.Valid, Active: r.Active, Terminating: r.Terminating,
		Lost: r.Lost, Succeeded: r.Succeeded, Failed: r.Failed, Listed: r.Listed, Finalized: r.Finalized,
		Failures: next.Total(), Counted: next.Failures, record: *r}
}

// Match returns the rule that a failed pod matches.
func (p *PodFacts) Match() failurepolicy.Match { return p.record.Match() }

// Ignored reports whether the failure of the pod does not count.
func (p *PodFacts) Ignored() bool { return p.record.Ignored() }

// FailsJob reports whether the failure of the pod fails the Job.
func (p *PodFacts) FailsJob() bool { return p.record.FailsJob() }

// FailsIndex reports whether the failure of the pod fails its index.
func (p *PodFacts) FailsIndex() bool { return p.record.FailsIndex() }

// Finish returns when the pod finished, if it counts as succeeded or failed.
func (p *PodFacts) Finish() time.Time { return p.record.Finish() }

// CompareFailures orders the failed pods of an index. The next pod of the index replaces the last of them.
func (p *PodFacts) CompareFailures(o *PodFacts) int { return p.record.CompareFailures(&o.record) }
