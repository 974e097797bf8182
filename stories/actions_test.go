package stories

import (
	"fmt"
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
	"github.com/jobfate/jobfate/explain"
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
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-1", Controller: ptrTo(true), BlockOwnerDeletion: ptrTo(true)}},
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
	job.Spec.ManualSelector, job.Spec.Selector = ptrTo(true), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	job.Spec.Template.Labels = map[string]string{"app": "x"}
	pod := mustDecide(t, jobfate.Snapshot{Job: job, Now: jobtest.Noon()}).Create[0].Pod()
	if diff := cmp.Diff(map[string]string{"app": "x"}, pod.Labels); diff != "" {
		t.Errorf("the labels (-want +got):\n%s", diff)
	}
	if len(pod.Annotations) != 0 || len(pod.Spec.Containers[0].Env) != 0 || pod.Spec.Hostname != "" {
		t.Errorf("annotations %v, environment %v, hostname %q; want none", pod.Annotations, pod.Spec.Containers[0].Env, pod.Spec.Hostname)
	}
}

// KEP-3850: "x+1". The replacement has the failure counts of the pod that it replaces. Ignored
// failures have their own count.
func TestActions_failureCountsOfReplacements(t *testing.T) {
	w := newWorld(t, "completions: 1\ncompletionMode: Indexed\nbackoffLimitPerIndex: 3\npodFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [9]}}]}")
	for _, step := range []struct {
		code int32
		want string // failures and ignored failures
	}{{1, "1 "}, {9, "1 1"}, {9, "1 2"}, {1, "2 2"}, {1, "3 2"}} {
		w.runAll()
		before := w.Pod(w.ofIndex(0))
		w.exitIndexes(step.code, 0)
		w.settle()
		w.advance(10 * time.Minute)
		d := mustDecide(t, w.snapshot())
		if len(d.Create) != 1 {
			t.Fatalf("after exit code %d: %s", step.code, explain.Of(d).Job().Text)
		}
		a := d.Create[0].Pod().Annotations
		if got := a[batchv1.JobIndexFailureCountAnnotation] + " " + a[batchv1.JobIndexIgnoredFailureCountAnnotation]; got != step.want || d.Create[0].Replaces.UID != before.UID {
			t.Errorf("after exit code %d the counts are %q, for %s; want %q for %s", step.code, got, d.Create[0].Replaces.Name, step.want, before.Name)
		}
		w.settle()
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
	made := 0
	pod := func(phase corev1.PodPhase, change func(*corev1.Pod)) *corev1.Pod {
		made++
		pod := podIn(job, made, corev1.PodRunning)
		pod.Status.Phase, pod.CreationTimestamp, pod.Status.Conditions = phase, atMinute(0), nil
		change(pod)
		return pod
	}
	ready := func(minute int, restarts, sidecar int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			*pod = *cluster.ReadyPod(pod, corev1.ConditionTrue, atMinute(minute).Time)
			pod.Status.ContainerStatuses[0].RestartCount = restarts
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 99}, {Name: "side", RestartCount: sidecar}}
		}
	}
	as := func(*corev1.Pod) {}
	order := []*corev1.Pod{
		pod(corev1.PodRunning, func(pod *corev1.Pod) { pod.Spec.NodeName = ""; ready(1, 0, 0)(pod) }), // without a node
		pod(corev1.PodPending, as),
		pod(corev1.PodUnknown, as),
		pod(corev1.PodRunning, as), // not ready
		pod(corev1.PodRunning, func(pod *corev1.Pod) {
			ready(1, 0, 0)(pod)
			pod.Status.Conditions[0].LastTransitionTime = metav1.Time{}
		}), // ready since an unknown time
		pod(corev1.PodRunning, ready(9, 0, 0)), // ready for the shortest time
		pod(corev1.PodRunning, ready(5, 7, 0)), // restarted
		pod(corev1.PodRunning, ready(5, 0, 7)), // its sidecar was restarted
		pod(corev1.PodRunning, func(pod *corev1.Pod) { ready(5, 0, 0)(pod); pod.CreationTimestamp = metav1.Time{} }),
		pod(corev1.PodRunning, func(pod *corev1.Pod) { ready(5, 0, 0)(pod); pod.CreationTimestamp = atMinute(3) }), // younger
		pod(corev1.PodRunning, ready(5, 0, 0)),
		pod(corev1.PodRunning, ready(5, 0, 0)), // the UID decides
	}
	for parallelism := range len(order) {
		job.Spec.Parallelism = ptrTo(int32(parallelism))
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

// In an Indexed Job, pods without a valid index and all but one of the pods of an index are
// deleted, whether or not there are surplus pods.
func TestActions_misplacedPods(t *testing.T) {
	job := specJob(t, "completions: 3\nparallelism: 3\ncompletionMode: Indexed")
	pod := func(n int, index string, change func(*corev1.Pod)) *corev1.Pod {
		pod := podIn(job, 1, corev1.PodRunning)
		pod.Name, pod.UID = fmt.Sprintf("job-%d", n), types.UID(fmt.Sprintf("pod-%d", n))
		pod.Annotations[batchv1.JobCompletionIndexAnnotation], pod.Labels[batchv1.JobCompletionIndexAnnotation] = index, index
		change(pod)
		return pod
	}
	as := func(*corev1.Pod) {}
	pending := func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending }
	for _, test := range []struct {
		name string
		pods []*corev1.Pod
		want map[types.UID]string
	}{
		{"all in place", []*corev1.Pod{pod(1, "0", as), pod(2, "1", as), pod(3, "2", as)}, map[types.UID]string{}},
		{"a duplicate", []*corev1.Pod{pod(1, "0", as), pod(2, "0", pending)}, map[types.UID]string{"pod-2": jobfate.CauseDuplicate}},
		{"three of one index", []*corev1.Pod{pod(1, "1", pending), pod(2, "1", as), pod(3, "1", pending)},
			map[types.UID]string{"pod-1": jobfate.CauseDuplicate, "pod-3": jobfate.CauseDuplicate}},
		{"beyond", []*corev1.Pod{pod(1, "0", as), pod(2, "3", as), pod(3, "2147483648", as)},
			map[types.UID]string{"pod-2": jobfate.CauseBeyond, "pod-3": jobfate.CauseBeyond}},
		{"no index", []*corev1.Pod{pod(1, "", as), pod(2, "0", func(pod *corev1.Pod) { pod.Annotations = nil })},
			map[types.UID]string{"pod-1": jobfate.CauseNoIndex, "pod-2": jobfate.CauseNoIndex}},
		{"misplaced and surplus pods", []*corev1.Pod{pod(1, "0", as), pod(2, "1", as), pod(3, "2", pending), pod(4, "x", as)},
			map[types.UID]string{"pod-3": jobfate.CauseTooMany, "pod-4": jobfate.CauseNoIndex}},
	} {
		job := job.DeepCopy()
		if test.name == "misplaced and surplus pods" {
			job.Spec.Parallelism = ptrTo[int32](2)
		}
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: test.pods, Now: job.CreationTimestamp.Time})
		got := map[types.UID]string{}
		for _, del := range d.Delete {
			got[del.Pod.UID] = del.Cause
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
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
