package jobfate_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
)

// The explanation of an index says how its last failed pod failed.
func TestExplanation_fault(t *testing.T) {
	job := specJob(t, "completions: 1\ncompletionMode: Indexed\nbackoffLimitPerIndex: 3")
	exit := func(name string, code int32, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: job.CreationTimestamp}}}
	}
	disrupted := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}
	for _, test := range []struct {
		want   string
		change func(*corev1.Pod)
	}{
		{"the pod gives no reason", func(*corev1.Pod) {}},
		{"the pod gives no reason", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exit("main", 0, ""), {Name: "run"}}
		}},
		{"the pod gives no reason", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse},
			}
		}},
		{"deleted", func(p *corev1.Pod) { p.DeletionTimestamp = &job.CreationTimestamp }},
		{"container b, exit code 3", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exit("a", 0, ""), exit("b", 3, "Error"), exit("c", 4, "")}
		}},
		{"container main, exit code 137, OOMKilled", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exit("main", 137, "OOMKilled")}
		}},
		{"container init, exit code 1", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{exit("init", 1, "Error")}
		}},
		{"Evicted", func(p *corev1.Pod) { p.Status.Reason = "Evicted" }},
		{"disrupted", func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{disrupted} }},
		{"Evicted, container main, exit code 143, disrupted by EvictionByEvictionAPI", func(p *corev1.Pod) {
			p.Status.Reason = "Evicted"
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exit("main", 143, "Error")}
			p.Status.Conditions = []corev1.PodCondition{disrupted}
			p.Status.Conditions[0].Reason = "EvictionByEvictionAPI"
		}},
	} {
		pod := podIn(job, 1, corev1.PodFailed)
		pod.Status.ContainerStatuses = nil
		test.change(pod)
		r := explain.Of(mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time})).Index(0)
		if r.Fault != test.want || r.FailedPod != pod.Name || r.Failures != 1 {
			t.Errorf("got %q of pod %q and %d failures, want %q of %q and 1", r.Fault, r.FailedPod, r.Failures, test.want, pod.Name)
		}
	}
}

// If an index has several active pods, the explanation is about the one that stays, whatever
// the order of the pods.
func TestExplanation_duplicatePods(t *testing.T) {
	job := specJob(t, "completions: 1\ncompletionMode: Indexed")
	pod := func(n int, phase corev1.PodPhase) *corev1.Pod {
		pod := podIn(job, 1, phase)
		pod.Name, pod.UID = fmt.Sprintf("job-p%d", n), types.UID(fmt.Sprintf("uid-%d", n))
		return pod
	}
	for stays, phases := range map[string][]corev1.PodPhase{
		"job-p1": {corev1.PodRunning, corev1.PodPending, corev1.PodPending},
		"job-p2": {corev1.PodPending, corev1.PodRunning, corev1.PodPending},
		"job-p3": {corev1.PodPending, corev1.PodPending, corev1.PodRunning},
	} {
		pods := []*corev1.Pod{pod(1, phases[0]), pod(2, phases[1]), pod(3, phases[2])}
		for range 2 {
			r := explain.Of(mustDecide(t, jobfate.Snapshot{Job: job, Pods: pods, Now: job.CreationTimestamp.Time})).Index(0)
			if want := "active, pod " + stays; r.Code != explain.IndexActive || r.Text != want {
				t.Errorf("got %s: %s, want %s", r.Code, r.Text, want)
			}
			slices.Reverse(pods)
		}
	}
}

// If all active pods of an index are deleted, the explanation is about the first.
func TestExplanation_duplicatePodsThatGo(t *testing.T) {
	job := specJob(t, "completions: 1\ncompletionMode: Indexed\nsuspend: true")
	pods := []*corev1.Pod{podIn(job, 1, corev1.PodRunning), podIn(job, 1, corev1.PodRunning), podIn(job, 1, corev1.PodRunning)}
	for i, pod := range pods {
		pod.Name, pod.UID = fmt.Sprintf("job-p%d", i), types.UID(fmt.Sprintf("uid-%d", i))
	}
	for range 2 {
		r := explain.Of(mustDecide(t, jobfate.Snapshot{Job: job, Pods: pods, Now: job.CreationTimestamp.Time})).Index(0)
		if r.Code != explain.IndexRemoving || r.Pod != "job-p0" {
			t.Errorf("got %s of pod %s, want %s of job-p0", r.Code, r.Pod, explain.IndexRemoving)
		}
		slices.Reverse(pods)
	}
}

// LastFailure is about the failed pod that finished last, whatever the order of the pods.
func TestExplanation_LastFailure(t *testing.T) {
	job := specJob(t, "completions: 5\npodFailurePolicy: {rules: [{action: Count, onExitCodes: {operator: In, values: [7]}}]}")
	pod := func(n int, exit int32, after time.Duration) *corev1.Pod {
		pod := podIn(job, 1, corev1.PodFailed)
		pod.Name, pod.UID = fmt.Sprintf("job-p%d", n), types.UID(fmt.Sprintf("uid-%d", n))
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: exit, FinishedAt: metav1.NewTime(job.CreationTimestamp.Add(after))}}}}
		return pod
	}
	for _, test := range []struct {
		reason string
		pods   []*corev1.Pod
		want   string
	}{
		{"no pod", nil, ": , rule false"},
		{"no failed pod", []*corev1.Pod{podIn(job, 1, corev1.PodSucceeded)}, ": , rule false"},
		{"between others", []*corev1.Pod{podIn(job, 4, corev1.PodSucceeded), pod(1, 1, 0), podIn(job, 5, corev1.PodRunning)}, "job-p1: container main, exit code 1, rule false"},
		{"the last", []*corev1.Pod{pod(1, 1, time.Second), pod(2, 7, time.Minute), pod(3, 2, 0)}, "job-p2: container main, exit code 7, rule true"},
		{"the first of two that failed at the same time", []*corev1.Pod{pod(1, 1, 0), pod(2, 2, 0)}, "job-p1: container main, exit code 1, rule false"},
	} {
		for range 2 {
			d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: test.pods, Now: job.CreationTimestamp.Add(time.Hour)})
			f := explain.Of(d).LastFailure()
			if got := fmt.Sprintf("%s: %s, rule %t", f.Pod, f.Fault, f.Match.Matched()); got != test.want {
				t.Errorf("%s: got %s, want %s", test.reason, got, test.want)
			}
			slices.Reverse(test.pods)
		}
	}
	if f := (explain.Explanation{}).LastFailure(); f.Pod != "" {
		t.Errorf("the zero Explanation: got %v, want none", f)
	}
}

// A pod beyond completions does not count, so it is not the last failure.
func TestExplanation_LastFailure_beyondCompletions(t *testing.T) {
	job := specJob(t, "completions: 3\nparallelism: 3\ncompletionMode: Indexed")
	within, beyond := podIn(job, 1, corev1.PodFailed), podIn(job, 3, corev1.PodFailed)
	beyond.Status.ContainerStatuses[0].State.Terminated.FinishedAt = metav1.NewTime(job.CreationTimestamp.Add(time.Minute))
	*job.Spec.Completions, *job.Spec.Parallelism = 2, 2
	d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{within, beyond}, Now: job.CreationTimestamp.Add(time.Hour)})
	if got := explain.Of(d).LastFailure().Pod; got != within.Name {
		t.Errorf("got pod %q, want %q: the other is beyond completions", got, within.Name)
	}
}
