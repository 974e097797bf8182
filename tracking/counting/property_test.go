package counting_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/fuzztest"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
	"github.com/jobfate/jobfate/tracking/counting"
)

// stated is a Job with its pods by UID, read without the functions of the package.
type stated struct {
	job     *batchv1.Job
	owned   []*corev1.Pod
	indexed bool
}

func state(job *batchv1.Job, pods []*corev1.Pod) stated {
	s := stated{job: job}
	for _, pod := range pods {
		if pod != nil && pod.UID != "" && job.UID != "" && metav1.IsControlledBy(pod, job) && s.pod(pod.UID) == nil {
			s.owned = append(s.owned, pod)
		}
	}
	mode := job.Spec.CompletionMode
	s.indexed = mode != nil && *mode == batchv1.IndexedCompletion && (job.Spec.Completions != nil || job.Spec.Parallelism == nil)
	return s
}

func (s stated) pod(uid types.UID) *corev1.Pod {
	for _, pod := range s.owned {
		if pod.UID == uid {
			return pod
		}
	}
	return nil
}

func hasFinalizer(pod *corev1.Pod) bool {
	return pod != nil && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

func terminated(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// invalid reports whether a pod of an Indexed Job has no index below its completions.
func (s stated) invalid(pod *corev1.Pod) bool {
	completions := int32(1)
	if s.job.Spec.Completions != nil {
		completions = *s.job.Spec.Completions
	}
	i := names.IndexOf(pod)
	return s.indexed && (i == tracking.NoIndex || i >= completions)
}

// countable reports whether a pod counts: it has terminated, or it is being deleted and is
// replaced before it has terminated (KEP-3939).
func (s stated) countable(pod *corev1.Pod) bool {
	policy := s.job.Spec.PodReplacementPolicy
	early := s.job.Spec.PodFailurePolicy == nil && (policy == nil || *policy != batchv1.Failed)
	return terminated(pod) || early && pod.DeletionTimestamp != nil
}

func listsOf(st *batchv1.JobStatus) (succeeded, failed []types.UID) {
	if u := st.UncountedTerminatedPods; u != nil {
		return u.Succeeded, u.Failed
	}
	return nil, nil
}

// countHolds checks the next step of counting for any Job and pods. The bits of gone say which
// pods lose their finalizer.
func countHolds(t rapid.TB, job *batchv1.Job, pods []*corev1.Pod, gone uint64) {
	t.Helper()
	s, counted := state(job, pods), counting.Count(job, pods, names)
	strip := counted.Strip
	for i, pod := range strip {
		if !slices.Contains(s.owned, pod) || !hasFinalizer(pod) || slices.Contains(strip[:i], pod) {
			t.Errorf("%s is in Strip: not a pod of the Job, without a finalizer, or twice", pod.UID)
		}
	}
	if IsTrue(job, batchv1.JobComplete, batchv1.JobFailed) {
		// "If the Job has ended, Strip includes all pods, and the status does not change."
		Same(t, "status of a Job that has ended", counted.Status, &job.Status)
		for _, pod := range s.owned {
			if hasFinalizer(pod) && !slices.Contains(strip, pod) {
				t.Errorf("%s is not in Strip of a Job that has ended", pod.UID)
			}
		}
		return
	}
	recordsHold(t, s, counted)
	s.stripHolds(t, counted)
	restartHolds(t, s, counted, gone)
	slices.Reverse(s.owned)
	again := counting.Count(job, s.owned, names)
	Same(t, "status, pods in another order", again.Status, counted.Status)
	Same(t, "Strip, pods in another order", again.Strip, strip)
}

// recordsHold: "A UID is never added to a list twice, and it leaves the list only after the
// finalizer of its pod is removed." "A UID that a list holds as failed remains failed, whatever
// phase the pod shows later, so no pod is counted twice."
func recordsHold(t rapid.TB, s stated, counted counting.Counted) {
	t.Helper()
	wasSucceeded, wasFailed := listsOf(&s.job.Status)
	succeeded, failed := listsOf(counted.Status)
	seen := map[types.UID]bool{}
	for _, uid := range slices.Concat(succeeded, failed) {
		if seen[uid] || uid == "" {
			t.Errorf("%q is empty or listed twice: %v, %v", uid, succeeded, failed)
		}
		seen[uid] = true
		pod := s.pod(uid)
		isNew := !slices.Contains(wasSucceeded, uid) && !slices.Contains(wasFailed, uid)
		if !hasFinalizer(pod) || isNew && !slices.Contains(counted.Strip, pod) {
			t.Errorf("%s is listed: its pod has no finalizer, or may not lose it", uid)
		} else if isNew && slices.Contains(succeeded, uid) != (pod.Status.Phase == corev1.PodSucceeded) {
			t.Errorf("%s, %s, is in the wrong list: %v, %v", uid, pod.Status.Phase, succeeded, failed)
		}
	}
	// A UID in both lists is a failure.
	left := map[types.UID]bool{"": true}
	counts := func(list, now []types.UID, before int32) int32 {
		sum := int64(before)
		for _, uid := range list {
			switch {
			case left[uid]:
			case hasFinalizer(s.pod(uid)):
				if !slices.Contains(now, uid) {
					t.Errorf("%s has left its list, and its pod has the finalizer", uid)
				}
			default:
				sum++
			}
			left[uid] = true
		}
		return int32(min(sum, math.MaxInt32))
	}
	Same(t, "failed", counted.Status.Failed, counts(wasFailed, failed, s.job.Status.Failed))
	if want := counts(wasSucceeded, succeeded, s.job.Status.Succeeded); !s.indexed {
		Same(t, "succeeded", counted.Status.Succeeded, want)
	}
}

// stripHolds: a pod loses its finalizer only when it is recorded or needs no record, and each
// pod that counts is recorded at once, if nothing holds it back.
func (s stated) stripHolds(t rapid.TB, counted counting.Counted) {
	t.Helper()
	spec := &s.job.Spec
	fails := IsTrue(s.job, batchv1.JobFailureTarget)
	all := fails || IsTrue(s.job, batchv1.JobSuccessCriteriaMet) || s.job.DeletionTimestamp != nil
	succeeded, failed := listsOf(counted.Status)
	completed, _ := indexset.ParseDamaged(counted.Status.CompletedIndexes, math.MaxInt32)
	policy := failurepolicy.FromAPI(spec.PodFailurePolicy)
	for _, pod := range counted.Strip {
		counts := s.countable(pod) || fails && !IsTrue(s.job, batchv1.JobSuccessCriteriaMet)
		switch recorded := slices.Contains(slices.Concat(succeeded, failed), pod.UID); {
		case !all && !s.countable(pod):
			t.Errorf("%s is in Strip, and does not count", pod.UID)
		case recorded, s.invalid(pod), !counts:
		case s.indexed && pod.Status.Phase == corev1.PodSucceeded:
			if !completed.Contains(names.IndexOf(pod)) {
				t.Errorf("%s is in Strip, and its index is not in %s", pod.UID, completed)
			}
		case pod.Status.Phase != corev1.PodSucceeded && !policy.Match(pod).Counts(): // an ignored failure
		default:
			t.Errorf("%s is in Strip, and is not recorded", pod.UID)
		}
	}
	// "A failed pod is not counted while it waits for its replacement under a backoff limit per
	// index, or while it matches a FailJob rule and the status has no FailureTarget."
	for _, pod := range s.owned {
		waits := spec.BackoffLimitPerIndex != nil || policy.Match(pod).Action == batchv1.PodFailurePolicyActionFailJob
		if hasFinalizer(pod) && !counted.Full && (all || s.countable(pod) && !waits) && !slices.Contains(counted.Strip, pod) {
			t.Errorf("%s counts, and is not in Strip", pod.UID)
		}
	}
}

// restartHolds: "A controller may stop between any two steps and start again with step 1."
func restartHolds(t rapid.TB, s stated, counted counting.Counted, gone uint64) {
	t.Helper()
	Same(t, "settled with none", counted.Settle(), counted.Status)
	if counted.Full {
		return // the next step also records other pods
	}
	stored := s.job.DeepCopy()
	stored.Status = *counted.Status.DeepCopy()
	again := counting.Count(stored, s.owned, names)
	Same(t, "status, once it is stored", again.Status, counted.Status)
	Same(t, "Strip, once the status is stored", again.Strip, counted.Strip)

	var uids []types.UID
	left := slices.Clone(s.owned)
	for i, pod := range s.owned {
		if slices.Contains(counted.Strip, pod) && gone>>(i%64)&1 == 1 {
			uids = append(uids, pod.UID)
			left[i] = pod.DeepCopy()
			left[i].Finalizers = nil
		}
	}
	Same(t, "status, once finalizers are removed", counted.Settle(uids...), counting.Count(stored, left, names).Status)
}

// merged applies the changes of a Transition to copies of its Job and pods.
func merged(tr counting.Transition, job *batchv1.Job, pods []*corev1.Pod, finalizers []string) (*batchv1.Job, []*corev1.Pod) {
	after := slices.Clone(pods)
	for i, pod := range pods {
		if slices.ContainsFunc(tr.Pods, func(p counting.PodPatch) bool { return p.Pod == pod }) {
			after[i] = pod.DeepCopy()
			after[i].Finalizers = finalizers
		}
	}
	for _, patch := range [][]byte{tr.Status, tr.Job} {
		if patch != nil {
			job = Patched(job, patch)
		}
	}
	return job, after
}

// transitionsHold: "request the transition again: it does not repeat what is done." "Counters
// never decrease, so counts of deleted pods are kept." "It removes the finalizers first, whatever
// the state of the pods".
func transitionsHold(t rapid.TB, job *batchv1.Job, pods []*corev1.Pod) {
	t.Helper()
	enter := counting.EnterTracking(job, pods, names)
	tracked, after := merged(enter, job, pods, []string{batchv1.JobTrackingFinalizer})
	Same(t, "entered twice", counting.EnterTracking(tracked, after, names), counting.Transition{})
	if tracked.Status.Failed < job.Status.Failed || !state(job, nil).indexed && tracked.Status.Succeeded < job.Status.Succeeded {
		t.Errorf("a counter decreases: %s", enter.Status)
	}
	ended := IsTrue(job, batchv1.JobComplete, batchv1.JobFailed) || job.Status.UncountedTerminatedPods != nil
	leave := counting.LeaveTracking(job, pods, names)
	for _, pod := range pods {
		enters, leaves := slices.Contains(patched(enter), podUID(pod)), slices.Contains(patched(leave), podUID(pod))
		if pod == nil || pod.UID == "" || slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p != pod && podUID(p) == pod.UID }) {
			continue
		}
		Same(t, string(pod.UID)+" gets the finalizer", enters, !ended && !hasFinalizer(pod) && !terminated(pod) && pod.DeletionTimestamp == nil)
		Same(t, string(pod.UID)+" loses the finalizer", leaves, hasFinalizer(pod))
	}
	legacy, after := merged(leave, job, pods, nil)
	Same(t, "left twice", counting.LeaveTracking(legacy, after, names), counting.Transition{})
}

func podUID(pod *corev1.Pod) types.UID {
	if pod == nil {
		return ""
	}
	return pod.UID
}

// trackingHolds checks everything that the package says of a Job and pods.
func trackingHolds(t rapid.TB, job *batchv1.Job, pods []*corev1.Pod, gone uint64) {
	t.Helper()
	var inputs Inputs
	inputs.AddView(job, pods)
	countHolds(t, job, pods, gone)
	transitionsHold(t, job, pods)
	Same(t, "the inputs", inputs.Changed(), "")
}

func drawTracked(t *rapid.T) (*batchv1.Job, []*corev1.Pod) {
	job := DrawJob(t)
	if OneIn(t, 5, "annotated") {
		job.Annotations = map[string]string{batchv1.JobTrackingFinalizer: ""}
	}
	var pods []*corev1.Pod
	owners := []Edit{func(*corev1.Pod) {}, func(*corev1.Pod) {}, func(*corev1.Pod) {}, Ownerless, ControlledBy("other"), ControlledBy("job-uid")}
	for _, uid := range []string{"a", "b", "c", "d"}[:rapid.IntRange(0, 4).Draw(t, "pods")] {
		pod := DrawPod(t, uid)
		rapid.SampledFrom(owners).Draw(t, "owner")(pod)
		pods = append(pods, pod)
	}
	if len(pods) > 0 && OneIn(t, 5, "a pod twice") {
		pods = append(pods, pods[0].DeepCopy())
	}
	return job, pods
}

func TestRandom_tracking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, pods := drawTracked(t)
		trackingHolds(t, job, pods, rapid.Uint64().Draw(t, "gone"))
	})
}

// FuzzTracking decodes a Job and pods from any JSON, so it reaches objects that no API server
// would store.
func FuzzTracking(f *testing.F) {
	f.Fuzz(func(t *testing.T, jobText, podsText string, gone uint64) {
		var job batchv1.Job
		var pods []*corev1.Pod
		if json.Unmarshal([]byte(jobText), &job) == nil && json.Unmarshal([]byte(podsText), &pods) == nil {
			trackingHolds(t, &job, pods, gone)
		}
	})
}

func FuzzCount_stoppedAtAnyPoint(f *testing.F) {
	f.Fuzz(fuzztest.Target(rapid.MakeFuzz(countIsStopped)))
}
