package stories

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/tracking"
)

// A created pod is complete: it has its owner reference, its index and its finalizer.
func TestActions_createdPod(t *testing.T) {
	job := specJob(t, `
completions: 2
completionMode: Indexed
backoffLimitPerIndex: 1
template:
  metadata:
    labels: {app: x}
    annotations: {note: z}
    finalizers: [example.com/own]
  spec:
    restartPolicy: Never
    initContainers: [{name: init}]
    containers: [{name: main}, {name: knows, env: [{name: OTHER}, {name: JOB_COMPLETION_INDEX, value: own}]}, {name: other, env: [{name: OTHER}]}]`)
	d := mustDecide(t, jobfate.Snapshot{Job: job, Now: jobtest.Noon()})
	got := d.Create[0]
	fromLabel := []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		FieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']",
	}}}}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "job-0-",
			Namespace:    "ns",
			Labels: map[string]string{
				"app": "x", "batch.kubernetes.io/controller-uid": "job-1", "batch.kubernetes.io/job-name": "job",
				"controller-uid": "job-1", "job-name": "job", "batch.kubernetes.io/job-completion-index": "0",
			},
			Annotations: map[string]string{
				"note": "z", "batch.kubernetes.io/job-completion-index": "0", "batch.kubernetes.io/job-index-failure-count": "0",
			},
			Finalizers:      []string{"example.com/own", "batch.kubernetes.io/job-tracking"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-1", Controller: new(true), BlockOwnerDeletion: new(true)}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:  corev1.RestartPolicyNever,
			Hostname:       "job-0",
			InitContainers: []corev1.Container{{Name: "init", Env: fromLabel}},
			Containers: []corev1.Container{
				{Name: "main", Env: fromLabel},
				{Name: "knows", Env: []corev1.EnvVar{{Name: "OTHER"}, {Name: "JOB_COMPLETION_INDEX", Value: "own"}}},
				{Name: "other", Env: append([]corev1.EnvVar{{Name: "OTHER"}}, fromLabel...)},
			},
		},
	}
	if diff := cmp.Diff(want, got.Pod()); diff != "" || got.Index != 0 || got.Replaces != nil {
		t.Errorf("index %d, replaces %v, the pod (-want +got):\n%s", got.Index, got.Replaces, diff)
	}
	// If the template has the finalizer already, it is not added twice.
	job.Spec.Template.Finalizers = []string{batchv1.JobTrackingFinalizer}
	d = mustDecide(t, jobfate.Snapshot{Job: job, Now: jobtest.Noon()})
	if f := d.Create[0].Pod().Finalizers; len(f) != 1 {
		t.Errorf("the finalizers are %v", f)
	}
}

// A pod of a NonIndexed Job has no index. If a Job has its own selector, its pods have only
// the labels of the template.
func TestActions_createdPodOfAPlainJob(t *testing.T) {
	job := specJob(t, "completions: 1\ntemplate: {metadata: {labels: {app: x}}, spec: {restartPolicy: Never, containers: [{name: main}]}}")
	job.Spec.ManualSelector, job.Spec.Selector = new(true), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	job.Spec.Template.Labels = map[string]string{"app": "x"}
	pod := mustDecide(t, jobfate.Snapshot{Job: job, Now: jobtest.Noon()}).Create[0].Pod()
	if diff := cmp.Diff(map[string]string{"app": "x"}, pod.Labels); diff != "" {
		t.Errorf("the labels (-want +got):\n%s", diff)
	}
	if len(pod.Annotations) != 0 || len(pod.Spec.Containers[0].Env) != 0 || pod.Spec.Hostname != "" {
		t.Errorf("annotations %v, environment %v, hostname %q; want none", pod.Annotations, pod.Spec.Containers[0].Env, pod.Spec.Hostname)
	}
}

// Generated names: the API server keeps 58 characters of the prefix. The dash is omitted if
// the API server would reject the name with it.
func TestActions_names(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, test := range []struct{ name, mode, want string }{
		{"job", "NonIndexed", "job-"},
		{"job", "Indexed", "job-0-"},
		{long, "NonIndexed", long + "-"},
		{long, "Indexed", strings.Repeat("x", 55) + "-0-"},
		{"Upper", "NonIndexed", "Upper"},
		{"with.dot", "Indexed", "with.dot-0-"},
	} {
		job := specJob(t, "completions: 1\ncompletionMode: "+test.mode)
		job.Name = test.name
		d := mustDecide(t, jobfate.Snapshot{Job: job, Now: jobtest.Noon()})
		if got := d.Create[0].Pod().GenerateName; got != test.want {
			t.Errorf("%s of %s: %q, want %q", test.mode, test.name, got, test.want)
		}
	}
}

// If the deletion of a pod must not count, the controller removes its finalizer first.
func TestActions_deletions(t *testing.T) {
	job := specJob(t, "completions: 2\nparallelism: 0")
	pods := []*corev1.Pod{podIn(job, 1, corev1.PodRunning), without(podIn(job, 2, corev1.PodRunning))}
	d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: pods, Now: job.CreationTimestamp.Time})
	if len(d.Delete) != 2 {
		t.Fatalf("%d to delete, want 2", len(d.Delete))
	}
	for _, del := range d.Delete {
		if del.StripFirst != builtin.HasFinalizer(del.Pod) {
			t.Errorf("%s: StripFirst = %t", del.Pod.Name, del.StripFirst)
		}
	}
	// If one of the deletions fails, that pod is still active.
	if r := d.Revise(jobfate.Undone{Deletions: []types.UID{pods[0].UID}}); r.Status.Active != 1 || *r.Status.Terminating != 1 || len(r.Delete) != 2 {
		t.Errorf("revised: %d active, %d terminating, %d listed; want 1, 1, 2", r.Status.Active, *r.Status.Terminating, len(r.Delete))
	}
	unknown := d.Revise(jobfate.Undone{Deletions: []types.UID{"unknown"}})
	if r := unknown.Revise(jobfate.Undone{}); r.Status.Active != 0 || *r.Status.Terminating != 2 {
		t.Errorf("revised back: %d active, %d terminating; want 0, 2", r.Status.Active, *r.Status.Terminating)
	}
}

// A pod that the selector no longer matches is released.
func TestActions_release(t *testing.T) {
	job := specJob(t, "completions: 1")
	pod := podIn(job, 1, corev1.PodRunning)
	pod.Labels = map[string]string{"other": "label"}
	d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time})
	if len(d.Claim) != 1 || d.Claim[0].Relation != tracking.Releasable || len(d.Create) != 1 {
		t.Fatalf("claims %v, %d to create; want a release, 1", d.Claim, len(d.Create))
	}
}

// Surplus pods are deleted in a fixed order: first those whose deletion loses the least.
func TestActions_whichPodsGoFirst(t *testing.T) {
	job := specJob(t, "completions: 20\nparallelism: 20\ntemplate: {spec: {restartPolicy: Never, initContainers: [{name: init}, {name: side, restartPolicy: Always}], containers: [{name: main}]}}")
	var order []*corev1.Pod
	pod := func(phase corev1.PodPhase, change func(*corev1.Pod)) {
		pod := podIn(job, 50-len(order), corev1.PodRunning) // the UIDs say the opposite
		pod.Status.Phase, pod.CreationTimestamp, pod.Status.Conditions = phase, atMinute(0), nil
		change(pod)
		order = append(order, pod)
	}
	twin := func() {
		pod := order[len(order)-1].DeepCopy()
		pod.UID += "-twin"
		order = append(order, pod)
	}
	ready := func(minute int, restarts, sidecar int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			*pod = *cluster.ReadyPod(pod, corev1.ConditionTrue, atMinute(minute).Time)
			pod.Status.ContainerStatuses[0].RestartCount = restarts
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 99}, {Name: "side", RestartCount: sidecar}}
		}
	}
	as := func(*corev1.Pod) {}
	pod(corev1.PodRunning, func(pod *corev1.Pod) { pod.Spec.NodeName = ""; ready(1, 0, 0)(pod) }) // without a node
	pod(corev1.PodPending, as)
	pod(corev1.PodUnknown, as)
	pod(corev1.PodRunning, as) // not ready
	pod(corev1.PodRunning, func(pod *corev1.Pod) {
		ready(1, 0, 0)(pod)
		pod.Status.Conditions[0].LastTransitionTime = metav1.Time{}
	}) // ready since an unknown time
	pod(corev1.PodRunning, ready(9, 0, 0)) // ready for the shortest time
	pod(corev1.PodRunning, ready(5, 7, 0)) // restarted
	pod(corev1.PodRunning, ready(5, 0, 7)) // its sidecar was restarted
	pod(corev1.PodRunning, func(pod *corev1.Pod) { ready(5, 0, 0)(pod); pod.CreationTimestamp = metav1.Time{} })
	twin()                                                                                                     // the UID decides
	pod(corev1.PodRunning, func(pod *corev1.Pod) { ready(5, 0, 0)(pod); pod.CreationTimestamp = atMinute(3) }) // younger
	pod(corev1.PodRunning, ready(5, 0, 0))
	twin()
	pod(corev1.PodRunning, func(pod *corev1.Pod) {
		ready(1, 0, 0)(pod)
		scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: atMinute(9)}
		pod.Status.Conditions = slices.Insert(pod.Status.Conditions, 0, scheduled)
	}) // only the Ready condition has the time
	for parallelism := range len(order) {
		job.Spec.Parallelism = new(int32(parallelism))
		pods := slices.Clone(order)
		slices.Reverse(pods)
		var want []types.UID
		for _, pod := range order[:len(order)-parallelism] {
			want = append(want, pod.UID)
		}
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: pods, Now: atMinute(30).Time})
		if got := uidsOf(d.Delete); !slices.Equal(got, want) {
			t.Errorf("parallelism %d: %v are deleted, want %v", parallelism, got, want)
		}
	}
}

// Counters stay within their range.
func TestActions_countersSaturate(t *testing.T) {
	const most = 1<<31 - 1
	job := specJob(t, "completions: 5\nparallelism: 5\nbackoffLimit: 2147483647")
	job.Status = batchv1.JobStatus{StartTime: &job.CreationTimestamp, Failed: most - 1, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a", "b", "c"}}}
	d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, corev1.PodFailed)}, Now: job.CreationTimestamp.Time})
	if d.Status.Failed != most {
		t.Errorf("failed is %d, want %d", d.Status.Failed, most)
	}
	if s := decidetest.Settle(d, d.Strip...); s.Status.Failed != most {
		t.Errorf("settled: failed is %d, want %d", s.Status.Failed, most)
	}
}

// atMinute is a time before the noon of the tests.
func atMinute(minute int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 11, minute, 0, 0, time.UTC))
}

func uidsOf(deletions []jobfate.Deletion) (uids []types.UID) {
	for _, d := range deletions {
		uids = append(uids, d.Pod.UID)
	}
	return uids
}
