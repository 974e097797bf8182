package lifetime

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/tracking"
)

// A referee watches what jobfate stores, and charges each pod once: when its
// UID first stands in a list of the status, or when the finalizer of a pod goes
// whose index the status holds as completed.
type referee struct {
	failed, succeeded uids
	parallelism       int32 // the largest so far
}

func newReferee() *referee { return &referee{failed: uids{}, succeeded: uids{}} }

// stored checks a status that was stored in place of another.
func (r *referee) stored(job *batchv1.Job, old, st *batchv1.JobStatus) error {
	u := st.UncountedTerminatedPods
	if u == nil {
		u = &batchv1.UncountedTerminatedPods{}
	}
	for _, uid := range u.Failed {
		r.failed[uid] = true
	}
	for _, uid := range u.Succeeded {
		r.succeeded[uid] = true
	}
	for uid := range r.failed {
		if r.succeeded[uid] {
			return fmt.Errorf("S1: %s is charged as failed and as succeeded", uid)
		}
	}
	if got, want := int(st.Failed)+len(u.Failed), len(r.failed); got != want {
		return fmt.Errorf("S1: failed and uncounted failed are %d, but %d pods were charged", got, want)
	}
	if st.Failed < old.Failed {
		return fmt.Errorf("S3: failed falls from %d to %d", old.Failed, st.Failed)
	}
	if isIndexed(job) {
		if err := indexes(job, old, st); err != nil {
			return err
		}
	} else if got, want := int(st.Succeeded)+len(u.Succeeded), len(r.succeeded); got != want {
		return fmt.Errorf("S1: succeeded and uncounted succeeded are %d, but %d pods were charged", got, want)
	}
	return conditions(job, old, st)
}

func indexes(job *batchv1.Job, old, st *batchv1.JobStatus) error {
	completed, err := indexset.Parse(st.CompletedIndexes)
	if err != nil {
		return fmt.Errorf("S4: completedIndexes: %w", err)
	}
	before := indexset.MustParse(old.CompletedIndexes).Clip(*job.Spec.Completions)
	if !before.Difference(completed).IsEmpty() {
		return fmt.Errorf("S3: completedIndexes lose %s", before.Difference(completed))
	}
	if int(st.Succeeded) < completed.Len() || int(st.Succeeded) > completed.Len() && st.Succeeded > old.Succeeded {
		return fmt.Errorf("S1: succeeded is %d, completedIndexes are %s", st.Succeeded, completed)
	}
	if st.FailedIndexes == nil {
		return nil
	}
	failed, err := indexset.Parse(*st.FailedIndexes)
	if err != nil {
		return fmt.Errorf("S4: failedIndexes: %w", err)
	}
	if failed.Overlaps(completed) {
		return fmt.Errorf("S4: completed %s, failed %s", completed, failed)
	}
	return nil
}

func conditions(job *batchv1.Job, old, st *batchv1.JobStatus) error {
	for _, t := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget, batchv1.JobComplete, batchv1.JobFailed} {
		if isTrue(old, t) && !isTrue(st, t) {
			return fmt.Errorf("S8: %s is taken back", t)
		}
	}
	if isTrue(st, batchv1.JobSuccessCriteriaMet) && isTrue(st, batchv1.JobFailureTarget) {
		return fmt.Errorf("S8: both ends")
	}
	if *st.Ready > st.Active {
		return fmt.Errorf("S10: ready %d, active %d", *st.Ready, st.Active)
	}
	complete, failed := isTrue(st, batchv1.JobComplete), isTrue(st, batchv1.JobFailed)
	switch {
	case !complete && !failed:
		return nil
	case complete && failed, complete != isTrue(st, batchv1.JobSuccessCriteriaMet), failed != isTrue(st, batchv1.JobFailureTarget):
		return fmt.Errorf("S8: %+v", st.Conditions)
	case st.Active+*st.Terminating != 0, st.StartTime == nil, complete != (st.CompletionTime != nil):
		return fmt.Errorf("S9: %+v", st)
	case st.UncountedTerminatedPods != nil && len(st.UncountedTerminatedPods.Failed)+len(st.UncountedTerminatedPods.Succeeded) > 0:
		return fmt.Errorf("S9: uncounted pods at the end")
	}
	return nil
}

// watch checks what jobfate did in one sync.
func (r *referee) watch(before *world, o *outcome) error {
	old, job := &before.job.Status, before.job
	r.parallelism = max(r.parallelism, *job.Spec.Parallelism)
	for _, st := range o.statuses {
		if err := r.stored(job, old, st); err != nil {
			return err
		}
		old = st
	}
	for _, uid := range o.stripped {
		if err := r.mayGo(before, o, uid); err != nil {
			return err
		}
	}
	return r.created(before, o)
}

// mayGo checks a pod whose finalizer went after the status was stored.
func (r *referee) mayGo(before *world, o *outcome, uid types.UID) error {
	pod, job := before.seen[uid], before.job
	st := &o.world.job.Status
	index := tracking.IndexOf(pod)
	switch {
	case r.failed[uid], r.succeeded[uid]:
	case job.DeletionTimestamp != nil:
	case isIndexed(job) && (index < 0 || index >= *job.Spec.Completions):
	case pod.Status.Phase == corev1.PodSucceeded && isIndexed(job):
		if !indexset.MustParse(st.CompletedIndexes).Contains(index) {
			return fmt.Errorf("S2: %s succeeded, index %d is not recorded", uid, index)
		}
	case real.MatchFailurePolicy(policyOf(job), pod).Action == batchv1.PodFailurePolicyActionIgnore:
	case isTrue(st, batchv1.JobSuccessCriteriaMet) && pod.Status.Phase != corev1.PodFailed:
	default:
		return fmt.Errorf("S2: the finalizer of %s goes, and nothing records it", describe(pod))
	}
	return nil
}

func policyOf(job *batchv1.Job) *batchv1.PodFailurePolicy {
	if p := job.Spec.PodFailurePolicy; p != nil {
		return p
	}
	return &batchv1.PodFailurePolicy{}
}

func (r *referee) created(before *world, o *outcome) error {
	if len(o.created) == 0 {
		return nil
	}
	job := before.job
	if decided(&job.Status) || job.DeletionTimestamp != nil || *job.Spec.Suspend {
		return fmt.Errorf("S7: pods are created")
	}
	var active int32
	live := map[int32]int{}
	for _, pod := range o.world.pods {
		if alive(pod) {
			active++
			live[tracking.IndexOf(pod)]++
		}
	}
	if before.tampered {
		return nil
	}
	if active > r.parallelism {
		return fmt.Errorf("S6: %d pods are active, parallelism was at most %d", active, r.parallelism)
	}
	if !isIndexed(job) {
		return nil
	}
	st := &o.world.job.Status
	over := indexset.MustParse(st.CompletedIndexes)
	if st.FailedIndexes != nil {
		over = over.Union(indexset.MustParse(*st.FailedIndexes))
	}
	for _, uid := range o.created {
		index := tracking.IndexOf(o.world.pods[uid])
		if over.Contains(index) || index >= *job.Spec.Completions || live[index] > 1 {
			return fmt.Errorf("S5: a pod for index %d, which needs none", index)
		}
	}
	return nil
}

// buried checks a Job that has come to its end, with all its pods.
func (r *referee) buried(w *world) error {
	for _, pod := range w.stored() {
		if tracking.HasFinalizer(pod) {
			return fmt.Errorf("L3: %s keeps its finalizer", describe(pod))
		}
	}
	if !slices.Equal(w.unseen(), nil) {
		return fmt.Errorf("the cache never caught up")
	}
	return nil
}
