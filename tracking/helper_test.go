package tracking_test

import (
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/tracking"
)

var noon = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)

// after returns the time so many seconds after noon.
func after(seconds int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))
}

func ptrTo[T any](v T) *T { return &v }

// The rules of the pod failure policy in these tests, by exit code.
const (
	exitPlain = 1 + iota // no rule
	exitCount
	exitIgnore
	exitFailIndex
	exitFailJob
)

var actionOf = map[int32]batchv1.PodFailurePolicyAction{
	exitCount:     batchv1.PodFailurePolicyActionCount,
	exitIgnore:    batchv1.PodFailurePolicyActionIgnore,
	exitFailIndex: batchv1.PodFailurePolicyActionFailIndex,
	exitFailJob:   batchv1.PodFailurePolicyActionFailJob,
}

// policy has one rule for each exit code in actionOf.
func policy() *failurepolicy.Policy {
	spec := &failurepolicy.Spec{}
	for code := int32(exitCount); code <= exitFailJob; code++ {
		spec.Rules = append(spec.Rules, failurepolicy.Rule{
			Action: actionOf[code],
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code},
			},
		})
	}
	return failurepolicy.Compile(spec)
}

// edit changes a pod that is being made.
type edit func(*corev1.Pod)

// newPod returns a running pod of the Job "job" that carries the finalizer.
func newPod(uid string, edits ...edit) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "pod-" + uid, UID: types.UID(uid), ResourceVersion: "7",
			Labels:            map[string]string{"app": "job"},
			Finalizers:        []string{batchv1.JobTrackingFinalizer},
			OwnerReferences:   []metav1.OwnerReference{tracking.Controller{}.Reference(newJob())},
			CreationTimestamp: after(-60),
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, e := range edits {
		e(pod)
	}
	return pod
}

func phase(p corev1.PodPhase) edit { return func(pod *corev1.Pod) { pod.Status.Phase = p } }

// exit ends the only container of a pod. The pod has succeeded when the code is 0.
func exit(code int32, finished metav1.Time) edit {
	return func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		if code == 0 {
			pod.Status.Phase = corev1.PodSucceeded
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name:  "main",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: finished}},
		}}
	}
}

var (
	succeeded = exit(0, after(0))
	failed    = exit(exitPlain, after(0))
)

func deleted(pod *corev1.Pod)  { pod.DeletionTimestamp = ptrTo(after(-1)) }
func released(pod *corev1.Pod) { pod.Finalizers = nil }
func ownerless(pod *corev1.Pod) {
	pod.OwnerReferences = nil
}

func label(key, value string) edit {
	return func(pod *corev1.Pod) { pod.Labels[key] = value }
}

func annotation(key, value string) edit {
	return func(pod *corev1.Pod) {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[key] = value
	}
}

func index(text string) edit { return annotation(batchv1.JobCompletionIndexAnnotation, text) }
func failures(text string) edit {
	return annotation(batchv1.JobIndexFailureCountAnnotation, text)
}

// newJob returns the Job that newPod's pods belong to.
func newJob() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "job-uid"},
		Spec: batchv1.JobSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "job"}},
		},
	}
}

func condition(t batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
	return batchv1.JobCondition{Type: t, Status: status}
}

// lists makes the uncounted lists.
func lists(succeeded, failed []types.UID) *batchv1.UncountedTerminatedPods {
	return &batchv1.UncountedTerminatedPods{Succeeded: succeeded, Failed: failed}
}

func uids(names ...types.UID) []types.UID { return names }

func uidsOf(pods []*corev1.Pod) []types.UID {
	var out []types.UID
	for _, pod := range pods {
		out = append(out, pod.UID)
	}
	return out
}

// take makes the census of pods.
func take(lens tracking.Lens, pods ...*corev1.Pod) *tracking.Census {
	c := tracking.NewCensus(lens, len(pods))
	for _, pod := range pods {
		c.Add(pod, false)
	}
	return c
}

// same fails the test when got is not want.
func same(t interface {
	Helper()
	Errorf(string, ...any)
}, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: got %v, want %v (-want +got):\n%s", what, got, want, diff)
	}
}
