package decisions

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// judging is a run whose writes the referee sees, in the order in which a Machine makes them.
type judging struct {
	run
	ghost referee.Ghost
	view  cluster.View
	job   *batchv1.Job  // as stored
	pods  []*corev1.Pod // as stored
	found *referee.Violation
}

// judge returns the first violation of a property. The decision assumes that the claims succeed,
// so the referee sees the other writes as if the snapshot had been taken after them.
func (r run) judge() *referee.Violation {
	j := &judging{run: r, job: defaulting.Job(r.s.Job), pods: slices.Clone(r.s.Pods)}
	j.view = cluster.View{Now: r.s.Now, Job: j.job, Pods: slices.Clone(r.s.Pods)}
	j.ghost.Started(j.job)
	j.ghost.Forgive() // the backoff record need not know these failures
	for _, c := range r.d.Claim {
		j.patch(c.Pod.UID, j.claimPatch(c), true)
		i := slices.Index(j.view.Pods, c.Pod)
		if j.view.Pods[i] = j.stored(c.Pod.UID); j.view.Pods[i] == nil {
			j.view.Pods = slices.Delete(j.view.Pods, i, i+1)
		}
	}
	for _, uid := range r.s.InFlight.Stripped {
		j.patch(uid, builtin.StripPatch, false)
	}
	j.ghost.StateLost = false
	for _, pod := range j.pods {
		j.ghost.Tampered[pod.UID] = !metav1.IsControlledBy(pod, j.job) || !classify.Selects(j.job, pod)
	}
	for _, p := range r.s.InFlight.Pods {
		j.inFlight(p)
	}
	for _, d := range r.d.Delete {
		if !slices.Contains(r.done.Deletions, d.Pod.UID) {
			j.delete(d)
		}
	}
	before := len(j.pods)
	for i, c := range r.d.Create[:len(r.d.Create)-r.done.Creations] {
		j.pods = append(j.pods, cluster.NewPod(c.Pod(), 1000+i, metav1.NewTime(r.s.Now)))
	}
	created := slices.Clone(j.pods[before:])
	j.store(r.d.Status)
	for _, pod := range created { // none for an index that this decision ends
		j.see(cluster.Step{Request: &cluster.Request{Verb: cluster.Create}, Pod: pod})
	}
	for _, pod := range r.gone {
		j.patch(pod.UID, builtin.StripPatch, true)
	}
	j.store(r.settled.Status)
	return j.found
}

func (j *judging) see(s cluster.Step) {
	if j.found != nil {
		return
	}
	if s.Job == nil {
		s.Job, s.OldJob = j.job, j.job
	}
	s.View, s.Pods = new(j.view), func() []*corev1.Pod { return j.pods }
	j.found = referee.Rules{}.See(&j.ghost, &s)
}

func (j *judging) stored(uid types.UID) *corev1.Pod {
	for _, pod := range j.pods {
		if pod.UID == uid {
			return pod
		}
	}
	return nil
}

// put stores the next version of a pod; nil removes it.
func (j *judging) put(pod, next *corev1.Pod) {
	if i := slices.Index(j.pods, pod); next != nil {
		j.pods[i] = next
	} else {
		j.pods = slices.Delete(j.pods, i, i+1)
	}
}

func (j *judging) patch(uid types.UID, with func(*corev1.Pod) []byte, judged bool) {
	pod := j.stored(uid)
	if pod == nil {
		return
	}
	q := &cluster.Request{Verb: cluster.Patch, Patch: with(pod)}
	next := podtest.Must(cluster.PatchPod(pod, q.Patch))
	if j.put(pod, next); judged {
		j.see(cluster.Step{Request: q, OldPod: pod, Pod: next})
	}
}

func (j *judging) owner() metav1.OwnerReference {
	return *metav1.NewControllerRef(j.job, batchv1.SchemeGroupVersion.WithKind("Job"))
}

func (j *judging) claimPatch(c decide.Claim) func(*corev1.Pod) []byte {
	return func(pod *corev1.Pod) []byte {
		switch c.Action {
		case decide.ClaimAdopt:
			return builtin.AdoptPatch(pod, j.owner())
		case decide.ClaimRelease:
			return builtin.ReleasePatch(pod, j.job.UID)
		}
		return builtin.StripPatch(pod)
	}
}

// inFlight stores the effect of an earlier write that the snapshot does not show.
func (j *judging) inFlight(p decide.PodInFlight) {
	if j.stored(p.UID) == nil {
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node"}}
		pod.UID, pod.Finalizers, pod.OwnerReferences = p.UID, []string{batchv1.JobTrackingFinalizer}, []metav1.OwnerReference{j.owner()}
		j.pods = append(j.pods, pod)
	}
	if pod := j.stored(p.UID); p.Deleted {
		j.ghost.Deleted[p.UID] = true
		j.put(pod, cluster.DeletePod(pod, cluster.DefaultGrace, j.s.Now))
	}
}

func (j *judging) delete(d decide.Deletion) {
	if d.StripFirst {
		j.patch(d.Pod.UID, builtin.StripPatchAt, true)
	}
	if pod := j.stored(d.Pod.UID); pod != nil {
		next := cluster.DeletePod(pod, cluster.DefaultGrace, j.s.Now)
		j.put(pod, next)
		step := cluster.Step{OldPod: pod, Pod: next, Request: &cluster.Request{Verb: cluster.Delete,
			Options: metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}}}
		if d.Cause == decide.CauseJobEnds {
			// A Machine stores the interim condition before it deletes the pod.
			ends := *j.job
			ends.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}
			step.Job, step.OldJob = &ends, &ends
		}
		j.see(step)
	}
}

func (j *judging) store(st *batchv1.JobStatus) {
	if st == nil {
		return
	}
	next := *j.job
	next.Status = *st
	step := cluster.Step{Request: &cluster.Request{Verb: cluster.Status}, OldJob: j.job, Job: &next}
	if errs := validation.StatusUpdate(&next, j.job); len(errs) > 0 {
		step.Refused = errs.ToAggregate()
	}
	j.see(step)
	j.job = &next
}
