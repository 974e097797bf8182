package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// whatIf holds the failures of a Job, and the changes with which fewer would have counted.
type whatIf struct {
	*facts
	counted []*record    // the failed pods that count, in the order of failure
	total   int          // of the failures that count, also those of pods that are gone
	next    *batchv1.Job // with the changes so far
}

// gain says how the failed pods would have counted.
type gain struct {
	notCounted, later int
	by                *record // the first pod that would have failed the Job or its index before later ones existed
	what              string  // what it would have failed
	ends              bool    // the Job fails
}

// try changes the next Job, and returns the pattern with what that gains. It returns false, and changes nothing, if it
// gains nothing, or the API server rejects the Job. Without most of the failed pods, and if their restarts count, the
// pattern is all that can be said.
func (w *whatIf) try(code explain.Code, p Pattern) (Pattern, bool) {
	p.Code = code
	switch {
	case p.Text == "" || p.change == nil:
		return p, p.Text != ""
	case w.countsRestarts():
		p.Remedy += ", with restartPolicy Never"
		return p, true
	}
	next := w.next.DeepCopy()
	next.Spec = p.change(next.Spec)
	created := next.DeepCopy()
	created.Namespace, created.UID = cmp.Or(next.Namespace, "default"), cmp.Or(next.UID, "new")
	if len(validation.Create(defaulting.Prepared(created))) > 0 {
		return p, false
	}
	was, is, left := w.with(w.next), w.with(next), len(w.counted)
	ignored, later := is.notCounted-was.notCounted, is.later-was.later
	if ignored+later < 1 || 2*left < w.total {
		return p, ignored+later > 0
	}
	w.next, p.NotCounted, p.Later, p.GoesOn = next, ignored, later, was.ends && !is.ends && left == w.total
	all, after := count(w.total, "failed pod"), ""
	if later > 0 {
		after = fmt.Sprintf("%d %s created after %s would have failed %s, at %s", later,
			either(later == 1, "was", "were"), w.named(is.by), is.what, w.clock(is.by.Finish()))
	}
	p.Gain = "of " + either(left < w.total, fmt.Sprintf("the %d of %s that are left", left, all), all) + ", " +
		joined(", and ", textIf(ignored > 0, fmt.Sprintf("%d would not have counted", ignored)), after) +
		textIf(p.GoesOn, "; the Job would not have failed by these failures")
	return p, true
}

// with decides on a new Job with the failed pods, and returns how they count. What it says holds until the first pod
// that would not have been created.
func (w *whatIf) with(next *batchv1.Job) (g gain) {
	d, err := decide.Job(w.anew(next))
	if err != nil {
		return g
	}
	f := d.Facts()
	g.ends = f.End.Condition.Type != ""
	failed := map[int32]*record{} // the pods that fail their indexes
	var fails *record             // the one that fails the Job
	for _, r := range w.counted {
		p, by := f.Pod(r.Pod.UID), cmp.Or(fails, failed[r.Index])
		switch {
		case by != nil && r.Pod.CreationTimestamp.After(by.Finish()):
			g.later++
			first := g.by == nil || g.by == by
			g.what = either(by == fails, "the Job", either(first, "its index", "its index, and others theirs"))
			g.by = cmp.Or(g.by, by)
		case p == nil || by != nil:
		case p.Ignored():
			g.notCounted++
		case p.FailsJob():
			fails = r
		case p.FailsIndex():
			failed[r.Index] = r
		}
	}
	return g
}

// anew returns the snapshot of a Job whose failed pods are not counted yet. With a new limit per index, each has the
// number of failures of its index before it, which the Job controller would have written.
func (w *whatIf) anew(next *batchv1.Job) decide.Snapshot {
	job := next.DeepCopy()
	job.DeletionTimestamp, job.Spec.Suspend, job.Spec.ManagedBy, job.Spec.ActiveDeadlineSeconds = nil, nil, nil, nil
	job.Status = batchv1.JobStatus{StartTime: w.Job.Status.StartTime, Succeeded: w.Status.Succeeded,
		CompletedIndexes: w.Status.CompletedIndexes}
	var pods []*corev1.Pod
	policy, failures := failurepolicy.FromAPI(job.Spec.PodFailurePolicy), map[int32]int{}
	for _, r := range w.counted {
		pod := *r.Pod
		pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
		if w.Indexed() && !w.PerIndex() { // so it has annotations
			all := maps.Clone(pod.Annotations)
			all[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(failures[r.Index])
			pod.Annotations = all
		}
		if policy.Match(&pod).Counts() {
			failures[r.Index]++
		}
		pods = append(pods, &pod)
	}
	return decide.Snapshot{Job: job, Pods: pods, Now: w.Now}
}
