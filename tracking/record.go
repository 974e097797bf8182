package tracking

import (
	"cmp"
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
)

// NoIndex is the index of a pod that has none that can be read.
const NoIndex int32 = -1

// Is is a set of things that a pod is to its Job.
type Is uint16

// What a pod can be. Succeeded and Failed say how a pod counts. For a pod that
// is recorded already, that is what the record says and not the phase.
const (
	// Active pods have not terminated and are not being deleted.
	Active Is = 1 << iota
	// Ready pods are active and have the Ready condition.
	Ready
	// Terminating pods are being deleted and have not terminated yet.
	Terminating
	// Succeeded pods count as succeeded.
	Succeeded
	// Failed pods count as failed. Unless only failed pods are replaced, a pod
	// that is being deleted is one of them before it has terminated.
	Failed
	// Finalized pods carry the tracking finalizer in the snapshot.
	Finalized
	// Tracked pods carry it, and nobody has asked for its removal yet: they
	// are still to be counted.
	Tracked
	// Parked pods have their UID in one of the uncounted lists.
	Parked
	// Valid pods can count: for an Indexed Job, their index is within
	// completions.
	Valid
	// Ignored pods match an Ignore rule of the pod failure policy.
	Ignored
	// FailsIndex pods match a FailIndex rule.
	FailsIndex
	// FailsJob pods match a FailJob rule.
	FailsJob
)

// Record is what there is to know of one pod, read from the pod once. It takes
// at most 48 bytes.
type Record struct {
	Pod    *corev1.Pod
	finish int64 // seconds, and nanos within: time.Time would take 24 bytes
	nanos  int32
	// Index is the completion index of an Indexed Job's pod, or NoIndex. An
	// index above every valid one reads as the largest int32.
	Index int32
	// Counts are the pod's failure counts, read for failed pods of Jobs with a
	// backoff limit per index.
	Counts backoff.Counts
	is     Is
}

// Is reports whether the pod is all of what.
func (r *Record) Is(what Is) bool { return r.is&what == what }

// Finish returns when the pod finished. It is known for pods that are tracked
// and have succeeded or failed.
func (r *Record) Finish() time.Time { return time.Unix(r.finish, int64(r.nanos)).UTC() }

// Before is the one order of a Job's pods that every decision follows: by index,
// then by UID.
func (r *Record) Before(o *Record) bool {
	return cmp.Or(cmp.Compare(r.Index, o.Index), cmp.Compare(r.Pod.UID, o.Pod.UID)) < 0
}

// Lens is through what a Job's pods are seen: the parts of the Job that decide
// what a pod is to it.
type Lens struct {
	// Indexed and Completions tell which indexes are valid.
	Indexed     bool
	Completions int32
	// PerIndex says that the Job has a backoff limit per index.
	PerIndex bool
	// ReplaceFailedOnly says that a pod fails only once it has the phase
	// Failed, not when its deletion begins (KEP-3939).
	ReplaceFailedOnly bool
	// Restarts asks for the container restarts, which count with the restart
	// policy OnFailure.
	Restarts bool
	// Policy is the pod failure policy; nil for none.
	Policy *failurepolicy.Policy
	// Uncounted are the lists of the status.
	Uncounted Uncounted
	// Stripped reports whether the removal of the pod's finalizer has been
	// asked for already, though the pod still shows it. Nil means never.
	Stripped func(pod *corev1.Pod) bool
}

// read makes the record of a pod. held says that the pod carries the finalizer,
// or will by the time it is needed because the pod is being adopted. index is
// the annotation with the index, empty when there is none.
func (l *Lens) read(pod *corev1.Pod, held bool, index string) Record {
	r := Record{Pod: pod, Index: NoIndex}
	if l.Indexed {
		r.Index = parseIndex(index)
	}
	if !l.Indexed || r.Index != NoIndex && r.Index < l.Completions {
		r.is = Valid
	}
	if held {
		r.is |= Finalized
		if l.Stripped == nil || !l.Stripped(pod) {
			r.is |= Tracked
		}
	}
	l.classify(&r)
	if r.is&(Succeeded|Failed) != 0 && r.Is(Tracked) {
		r.setFinish(backoff.FinishTime(pod))
	}
	return r
}

func (l *Lens) classify(r *Record) {
	pod := r.Pod
	deleted := pod.DeletionTimestamp != nil
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		r.is |= Succeeded
	case pod.Status.Phase == corev1.PodFailed:
		r.is |= Failed
	case deleted:
		r.is |= Terminating
		if !l.ReplaceFailedOnly {
			r.is |= Failed
		}
	default:
		r.is |= Active
		if ready(pod) {
			r.is |= Ready
		}
	}
	if len(l.Uncounted.parked) > 0 && r.Is(Finalized) {
		l.recall(r)
	}
	if !r.Is(Failed) {
		return
	}
	if l.Policy != nil {
		r.is |= l.judge(pod)
	}
	if l.PerIndex {
		r.Counts = backoff.CountsOf(pod.Annotations)
	}
}

// recall lets the list that a pod stands in overrule its phase. A pod that runs,
// though a list holds it, runs on and counts when it ends: only somebody's write
// to the status brings that about.
func (l *Lens) recall(r *Record) {
	failed, parked := l.Uncounted.parked[r.Pod.UID]
	if !parked {
		return
	}
	if r.is&(Succeeded|Failed) != 0 {
		r.is &^= Succeeded | Failed
		if failed {
			r.is |= Failed
		} else {
			r.is |= Succeeded
		}
	}
	r.is |= Parked
}

// judge says what the pod failure policy makes of a pod.
func (l *Lens) judge(pod *corev1.Pod) Is {
	switch match := l.Policy.Match(pod); match.Action {
	case batchv1.PodFailurePolicyActionIgnore:
		return Ignored
	case batchv1.PodFailurePolicyActionFailIndex:
		return FailsIndex
	case batchv1.PodFailurePolicyActionFailJob:
		return FailsJob
	}
	return 0
}

func (r *Record) setFinish(t time.Time) {
	r.finish, r.nanos = t.Unix(), int32(t.Nanosecond())
}

// finishedBefore reports whether r finished before o.
func (r *Record) finishedBefore(o *Record) bool {
	if r.finish != o.finish {
		return r.finish < o.finish
	}
	return r.nanos < o.nanos
}

// IndexOf returns the completion index that the pod's annotation names, or
// NoIndex when there is none or it cannot be read.
func IndexOf(pod *corev1.Pod) int32 {
	if pod == nil {
		return NoIndex
	}
	return parseIndex(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
}

// parseIndex reads an index; an absent one is as one that cannot be read.
func parseIndex(text string) int32 {
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil || i < 0 {
		return NoIndex
	}
	return int32(min(i, math.MaxInt32))
}

// IndexConflict reports whether the pod's label names another index than its
// annotation does. The annotation is what counts; a label that differs shows
// that one of them was edited (k#140839).
func IndexConflict(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	label, ok := pod.Labels[batchv1.JobCompletionIndexAnnotation]
	return ok && parseIndex(label) != IndexOf(pod)
}

func ready(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
