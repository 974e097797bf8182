package explanations

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
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
)

// explained returns the explanation of the decision on job and its pods when the Job is created.
func explained(job *batchv1.Job, pods ...*corev1.Pod) explain.Explanation {
	return explain.Of(podtest.Must(decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: job.CreationTimestamp.Time})))
}

// named returns the n-th pod of job, with that name and UID.
func named(name string, job *batchv1.Job, n int, phase corev1.PodPhase) *corev1.Pod {
	pod := decidetest.PodIn(job, n, phase)
	pod.Name, pod.UID = name, types.UID(name)
	return pod
}

// The explanation of an index says how its last failed pod failed.
func TestExplanation_fault(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1\ncompletionMode: Indexed\nbackoffLimitPerIndex: 3")
	exit := func(name string, code int32, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: job.CreationTimestamp}}}
	}
	restarted := func(main corev1.ContainerStatus, times int32) []corev1.ContainerStatus {
		main.RestartCount, main.LastTerminationState = times, exit("main", 1, "Error").State
		return []corev1.ContainerStatus{main}
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
		{"container main, exit code 137 (SIGKILL), OOMKilled", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exit("main", 137, "OOMKilled")}
		}},
		{"container init, exit code 1", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{exit("init", 1, "Error")}
		}},
		{"container main, exit code 3, 1 restart", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = restarted(exit("main", 3, "Error"), 1)
		}},
		{"container main, exit code 1, 1 restart", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = restarted(exit("main", 0, ""), 1)
		}},
		{"container main, exit code 137 (SIGKILL)", func(p *corev1.Pod) {
			p.DeletionTimestamp = &job.CreationTimestamp
			p.Status.ContainerStatuses = restarted(exit("main", 137, "Error"), 0)
		}},
		{"Evicted", func(p *corev1.Pod) { p.Status.Reason = "Evicted" }},
		{"Evicted: The node was low on resource: memory", func(p *corev1.Pod) {
			p.Status.Reason, p.Status.Message = "Evicted", "The node was low on\nresource: memory.\n"
		}},
		{`container main, exit code 128, StartError: exec: "foo": not found`, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exit("main", 128, "StartError")}
			p.Status.ContainerStatuses[0].State.Terminated.Message = `exec: "foo": not found`
		}},
		{"disrupted", func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{disrupted} }},
		{"Evicted, container main, exit code 143 (SIGTERM), disrupted by EvictionByEvictionAPI", func(p *corev1.Pod) {
			p.Status.Reason = "Evicted"
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exit("main", 143, "Error")}
			p.Status.Conditions = []corev1.PodCondition{disrupted}
			p.Status.Conditions[0].Reason = "EvictionByEvictionAPI"
		}},
	} {
		pod := decidetest.PodIn(job, 1, corev1.PodFailed)
		pod.Status.ContainerStatuses = nil
		test.change(pod)
		r := explained(job, pod).Index(0)
		if r.LastFailure.Fault != test.want || r.LastFailure.Pod != pod.Name || r.Failures != 1 {
			t.Errorf("got %q of pod %q and %d failures, want %q of %q and 1", r.LastFailure.Fault, r.LastFailure.Pod, r.Failures, test.want, pod.Name)
		}
	}
}

// If an index has several pods, the explanation is about the active one that stays, before a terminating one, and about
// the first of those in the same state, whatever the order of the pods. None of them is a failure.
func TestExplanation_podsOfAnIndex(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1\ncompletionMode: Indexed\npodReplacementPolicy: Failed")
	suspended := job.DeepCopy()
	*suspended.Spec.Suspend = true
	const goes = corev1.PodPhase("terminating")
	const runs, waits = corev1.PodRunning, corev1.PodPending
	for _, test := range []struct {
		job        *batchv1.Job
		pods       []corev1.PodPhase // of a, b, c
		unobserved int               // creations, so that no pod is deleted
		code       explain.Code
		want       string
	}{
		{job, []corev1.PodPhase{runs, waits, waits}, 0, explain.IndexActive, "active, pod a"},
		{job, []corev1.PodPhase{waits, runs, waits}, 0, explain.IndexActive, "active, pod b"},
		{job, []corev1.PodPhase{waits, waits, runs}, 0, explain.IndexActive, "active, pod c"},
		{job, []corev1.PodPhase{runs, runs}, 1, explain.IndexActive, "active, pod a"},
		{job, []corev1.PodPhase{goes, runs}, 0, explain.IndexActive, "active, pod b"},
		{job, []corev1.PodPhase{runs, goes}, 0, explain.IndexActive, "active, pod a"},
		{job, []corev1.PodPhase{goes, goes}, 0, explain.IndexTerminating, "waiting for pod a to terminate"},
		{suspended, []corev1.PodPhase{runs, runs, runs}, 0, explain.IndexRemoving,
			"deleting pod a, because another pod of the index is active"},
	} {
		in := decide.Snapshot{Job: test.job, Now: job.CreationTimestamp.Time, InFlight: decide.InFlight{Creations: test.unobserved}}
		for i, phase := range test.pods {
			pod := named(string(rune('a'+i)), job, 1, phase)
			if phase == goes {
				pod.Status.Phase, pod.DeletionTimestamp = runs, &job.CreationTimestamp
			}
			in.Pods = append(in.Pods, pod)
		}
		for range 2 {
			if r := explain.Of(podtest.Must(decide.Job(in))).Index(0); r.Code != test.code || r.Text != test.want ||
				r.LastFailure.Pod != "" {
				t.Errorf("%v: got %s: %s, and the failure %+v, want %s: %s and none",
					test.pods, r.Code, r.Text, r.LastFailure, test.code, test.want)
			}
			slices.Reverse(in.Pods)
		}
	}
}

// LastFailure is about the failed pod that finished last, whatever the order of the pods.
func TestExplanation_LastFailure(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 5\npodFailurePolicy: {rules: [{action: Count, onExitCodes: {operator: In, values: [7]}}]}")
	pod := func(n int, exit int32, after time.Duration) *corev1.Pod {
		pod := named(fmt.Sprintf("job-p%d", n), job, 1, corev1.PodFailed)
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
		{"no failed pod", []*corev1.Pod{decidetest.PodIn(job, 1, corev1.PodSucceeded)}, ": , rule false"},
		{"between others", []*corev1.Pod{decidetest.PodIn(job, 4, corev1.PodSucceeded), pod(1, 1, 0), decidetest.PodIn(job, 5, corev1.PodRunning)}, "job-p1: container main, exit code 1, rule false"},
		{"the last", []*corev1.Pod{pod(1, 1, time.Second), pod(2, 7, time.Minute), pod(3, 2, 0)}, "job-p2: container main, exit code 7, rule true"},
		{"the first of two that failed at the same time", []*corev1.Pod{pod(1, 1, 0), pod(2, 2, 0)}, "job-p1: container main, exit code 1, rule false"},
	} {
		for range 2 {
			d := podtest.Must(decide.Job(decide.Snapshot{Job: job, Pods: test.pods, Now: job.CreationTimestamp.Add(time.Hour)}))
			f := explain.Of(d).LastFailure()
			podtest.Same(t, test.reason, fmt.Sprintf("%s: %s, rule %t", f.Pod, f.Fault, f.Match.Matched()), test.want)
			slices.Reverse(test.pods)
		}
	}
	podtest.Same(t, "the zero Explanation", (explain.Explanation{}).LastFailure(), explain.Failure{})
}

// A pod beyond completions does not count, so it is not the last failure.
func TestExplanation_LastFailure_beyondCompletions(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 3\nparallelism: 3\ncompletionMode: Indexed")
	within, beyond := decidetest.PodIn(job, 1, corev1.PodFailed), decidetest.PodIn(job, 3, corev1.PodFailed)
	beyond.Status.ContainerStatuses[0].State.Terminated.FinishedAt = metav1.NewTime(job.CreationTimestamp.Add(time.Minute))
	*job.Spec.Completions, *job.Spec.Parallelism = 2, 2
	d := podtest.Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{within, beyond}, Now: job.CreationTimestamp.Add(time.Hour)}))
	podtest.Same(t, "the pod; the other is beyond completions", explain.Of(d).LastFailure().Pod, within.Name)
}

// An index that never had a pod is stopped when its Job ends. Other numbers are no indexes.
func TestExplanation_stoppedUnrun(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 3\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0")
	failed := "1"
	job.Status = batchv1.JobStatus{
		StartTime: &job.CreationTimestamp, CompletedIndexes: "0", Succeeded: 1, FailedIndexes: &failed, Failed: 1,
		Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "R"}},
	}
	e := explained(job)
	for index, want := range map[int32]string{
		-1: "not an index of the Job", 0: "index 0: completed", 1: "index 1: failed", 2: "index 2: not done, because the Job is Failed",
		3: "index 3: not an index of the Job",
	} {
		podtest.Same(t, "the explanation of an index", e.Index(index).String(), want)
	}
}

// If the Job backs off as a whole, its indexes wait for that, with FillFreeSlots as well.
func TestExplanation_backsOffAsAWhole(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 2\nparallelism: 1\ncompletionMode: Indexed")
	s := decide.Snapshot{Job: job, Pods: []*corev1.Pod{decidetest.PodIn(job, 1, corev1.PodFailed)}, Now: job.CreationTimestamp.Time}
	for _, d := range []decide.Decision{podtest.Must(decide.Job(s)), podtest.Must(decide.Job(s, decide.FillFreeSlots()))} {
		if got, want := explain.Of(d).Index(1).Text, "pending: "+explain.Of(d).Job().Text; got != want || explain.Of(d).Job().Code != explain.JobBackingOff {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// If an index has several failed pods, the explanation is about the one with the most
// failures, then the one that failed last.
func TestExplanation_whichFailedPod(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1\ncompletionMode: Indexed")
	noon := job.CreationTimestamp.Time
	pod := func(name, failures string, after time.Duration) *corev1.Pod {
		pod := named(name, job, 1, corev1.PodFailed)
		pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = failures
		pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt = metav1.NewTime(noon.Add(after))
		return pod
	}
	fails, waits := new(int32(1)), new(int32(9)) // limits
	for _, test := range []struct {
		name  string
		limit *int32
		pods  []*corev1.Pod
		want  string
	}{
		{"more failures, earlier", waits, []*corev1.Pod{pod("a", "2", 0), pod("b", "1", time.Second)}, "a"},
		{"fewer failures, earlier", waits, []*corev1.Pod{pod("a", "1", 0), pod("b", "2", time.Second)}, "b"},
		{"as many, earlier", waits, []*corev1.Pod{pod("a", "1", 0), pod("b", "1", time.Second)}, "b"},
		{"as many, later", waits, []*corev1.Pod{pod("a", "1", time.Second), pod("b", "1", 0)}, "a"},
		{"without a limit per index, earlier", nil, []*corev1.Pod{pod("a", "1", 0), pod("b", "1", time.Second)}, "b"},
		{"without a limit per index, later", nil, []*corev1.Pod{pod("a", "1", time.Second), pod("b", "1", 0)}, "a"},
		{"failed for good, more failures, earlier", fails, []*corev1.Pod{pod("a", "2", 0), pod("b", "1", time.Second)}, "a"},
		{"failed for good, fewer failures, earlier", fails, []*corev1.Pod{pod("a", "1", 0), pod("b", "2", time.Second)}, "b"},
		{"failed for good, as many, earlier", fails, []*corev1.Pod{pod("a", "1", 0), pod("b", "1", time.Second)}, "b"},
	} {
		job.Spec.BackoffLimitPerIndex = test.limit
		for range 2 {
			d := podtest.Must(decide.Job(decide.Snapshot{Job: job, Pods: test.pods, Now: noon.Add(2 * time.Second)}))
			podtest.Same(t, test.name, explain.Of(d).Index(0).Pod, test.want)
			slices.Reverse(test.pods)
		}
	}
}

// An index that has failed is explained by a pod that fails it, not by the pod with the most
// failures.
func TestExplanation_failedIndex(t *testing.T) {
	job := decidetest.SpecJob(t, `completions: 1
completionMode: Indexed
backoffLimitPerIndex: 2
podFailurePolicy:
  rules:
  - {action: FailIndex, onExitCodes: {operator: In, values: [42]}}
  - {action: Ignore, onExitCodes: {operator: In, values: [43]}}`)
	pod := func(name string, code int32, failures, ignored string) *corev1.Pod {
		pod := named(name, job, 1, corev1.PodFailed)
		pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = failures
		pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = ignored
		pod.Status.ContainerStatuses[0].State.Terminated.ExitCode = code
		return pod
	}
	stripped := func(pod *corev1.Pod) *corev1.Pod {
		pod.Finalizers = nil
		return pod
	}
	const byRule = "failed: its pod matched FailIndex rule 0 on container main, exit code 42"
	for _, test := range []struct {
		name string
		pods []*corev1.Pod
		want string
	}{
		{"a rule, and another pod with more failures", []*corev1.Pod{pod("rule", 42, "0", "0"), pod("plain", 1, "1", "0")}, "rule " + byRule},
		{"a rule, and a pod that is ignored", []*corev1.Pod{pod("rule", 42, "0", "0"), pod("ignored", 43, "9", "0")}, "rule " + byRule},
		{"a rule, and a pod that the limit fails but is counted", []*corev1.Pod{pod("rule", 42, "0", "0"), stripped(pod("old", 1, "2", "0"))}, "rule " + byRule},
		{"a rule at the limit", []*corev1.Pod{pod("rule", 42, "2", "0")}, "rule " + byRule},
		{"the limit", []*corev1.Pod{pod("limit", 1, "2", "0"), pod("plain", 1, "1", "0")}, "limit failed after 3 failures, the limit is 2"},
		{"the limit, beside ignored failures", []*corev1.Pod{pod("limit", 1, "2", "4")}, "limit failed after 3 failures, the limit is 2"},
	} {
		for range 2 {
			index := explained(job, test.pods...).Index(0)
			podtest.Same(t, test.name, index.Pod+" "+index.Text, test.want)
			slices.Reverse(test.pods)
		}
	}

	// Nothing says why an index failed whose pod is gone.
	job.Status.FailedIndexes = new(string)
	*job.Status.FailedIndexes = "0"
	podtest.Same(t, "without the pod that failed the index", explained(job, pod("plain", 1, "0", "0")).Index(0).Text, "failed")
}

// The reason names what the caps leave, what is not observed, and each reason for deletions once. Its times are in UTC, whatever zone the clock shows.
func TestExplanation_reasonOfTheJob(t *testing.T) {
	cet := time.FixedZone("CET", 3600)
	for _, test := range []struct {
		spec   string
		pods   []corev1.PodPhase
		change func(*decide.Snapshot)
		opts   []decide.Option
		want   string
	}{
		{spec: "completions: 12\nparallelism: 12", opts: []decide.Option{decide.MaxChanges(4)}, want: "creating 4 pods; 8 more pods to create"},
		{spec: "completions: 2\nparallelism: 0", pods: []corev1.PodPhase{corev1.PodRunning, corev1.PodRunning}, opts: []decide.Option{decide.MaxChanges(1)},
			want: "deleting 1 of 2 active pods, because the Job needs fewer; 1 more pod to delete"},
		{spec: "completions: 5\nparallelism: 0", pods: []corev1.PodPhase{corev1.PodSucceeded, corev1.PodSucceeded, corev1.PodSucceeded},
			opts: []decide.Option{decide.MaxUncounted(1)}, want: "the Job's parallelism is 0; 2 more finalizers to remove"},
		{spec: "completions: 3\nparallelism: 3\nbackoffLimit: 0", pods: []corev1.PodPhase{corev1.PodFailed, corev1.PodRunning},
			change: func(s *decide.Snapshot) { s.InFlight.Creations = 1 },
			want: "the Job fails: BackoffLimitExceeded: Job has reached the specified backoff limit; deleting 1 pod; " +
				"the condition is set once all pods are observed and deleted"},
		{spec: "completions: 4\nparallelism: 1\ncompletionMode: Indexed", pods: slices.Repeat([]corev1.PodPhase{corev1.PodRunning}, 4),
			change: func(s *decide.Snapshot) {
				s.Pods[1].Annotations[batchv1.JobCompletionIndexAnnotation] = "0"
				s.Pods[2].Annotations[batchv1.JobCompletionIndexAnnotation] = "0"
			}, want: "deleting 3 of 4 active pods, because another pod of the index is active, or the Job needs fewer"},
		{spec: "completions: 1", pods: []corev1.PodPhase{corev1.PodFailed}, change: func(s *decide.Snapshot) { s.Now = s.Now.In(cet) },
			want: "backing off until 12:00:10Z after 1 failure"},
	} {
		job := decidetest.SpecJob(t, test.spec)
		s := decide.Snapshot{Job: job, Now: job.CreationTimestamp.Time}
		for i, phase := range test.pods {
			s.Pods = append(s.Pods, decidetest.PodIn(job, i+1, phase))
		}
		if test.change != nil {
			test.change(&s)
		}
		podtest.Same(t, "explained", explain.Of(podtest.Must(decide.Job(s, test.opts...))).Job().Text, test.want)
	}
}

// The zero explanation, and the explanation of an error, are empty.
func TestExplanation_none(t *testing.T) {
	d, err := decide.Job(decide.Snapshot{})
	if err == nil || explain.Of(d).Job().Code != "" || len(explain.Of(d).Notes()) != 0 || len(slices.Collect(explain.Of(d).Indexes())) != 0 {
		t.Errorf("an error explains %+v", explain.Of(d))
	}
	podtest.Same(t, "index 0", explain.Of(d).Index(0).Code, explain.IndexUnknown)
	podtest.Same(t, "with states of pods", explain.Of(d).With(nil).Job(), explain.Reason{})
	if e := explain.Of(d); e.Prospect() != (explain.Reason{}) || e.Waits() != nil {
		t.Errorf("the prospect is %v, and it waits for %v", e.Prospect(), e.Waits())
	}
}

// Index returns the same explanation of an index as Indexes.
func TestRandom_indexIsThatOfIndexes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := jobtest.Snapshots(jobtest.Wild()).Draw(t, "snapshot")
		d := podtest.Must(decide.Job(s))
		for r := range explain.Of(d).Indexes() {
			first, _ := r.Indexes.Min()
			last, _ := r.Indexes.Max()
			for _, index := range []int32{first, last} {
				want := r
				want.Indexes = indexset.Of(index)
				if diff := cmp.Diff(want, explain.Of(d).Index(index), cmp.Comparer(func(a, b failurepolicy.Match) bool { return a == b })); diff != "" {
					t.Fatalf("index %d (-Indexes +Index):\n%s", index, diff)
				}
			}
		}
	})
}

// A pod that has failed is not terminating any more, even if it still exists.
func TestExplanation_waitsForTheTerminating(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 3\nparallelism: 3\npodReplacementPolicy: Failed")
	noon := job.CreationTimestamp.Time
	deleted := func(n int, phase corev1.PodPhase, due time.Duration) *corev1.Pod {
		pod := decidetest.PodIn(job, n, phase)
		pod.DeletionTimestamp = &metav1.Time{Time: noon.Add(due)}
		return pod
	}
	pods := []*corev1.Pod{
		deleted(1, corev1.PodFailed, time.Hour), deleted(2, corev1.PodRunning, 20*time.Second),
		deleted(3, corev1.PodRunning, 30*time.Second), deleted(4, corev1.PodRunning, 10*time.Second),
	}
	for _, r := range explained(job, pods...).Waits() {
		if r.Code == explain.WaitTermination && r.Until.Equal(noon.Add(30*time.Second)) {
			return
		}
	}
	t.Error("the waits do not include the last of the terminating pods")
}

// A pod that can never be counted has a note.
func TestNotes_podsThatCannotBeCounted(t *testing.T) {
	const tracking, other = batchv1.JobTrackingFinalizer, "example.com/tracking"
	for _, test := range []struct {
		name      string
		indexed   bool
		completed string // of an Indexed Job
		succeeded int32
		pods      []*corev1.Pod
		want      []string
		listed    types.UID // in status.uncountedTerminatedPods
	}{
		{"counted by index", true, "0", 1, []*corev1.Pod{finished("a", "0")}, nil, ""},
		{"counted by number", false, "", 1, []*corev1.Pod{finished("a", "")}, nil, ""},
		{"listed, and not yet moved to the counter", false, "", 0, []*corev1.Pod{finished("a", "")}, nil, "a"},
		{"still to be counted", true, "", 0, []*corev1.Pod{finished("a", "0", tracking)}, nil, ""},
		{"no finalizer, Indexed", true, "0", 1, []*corev1.Pod{finished("a", "0"), finished("b", "1")},
			[]string{"1 pod succeeded without the finalizer batch.kubernetes.io/job-tracking and cannot be counted, such as b"}, ""},
		{"another finalizer", true, "", 0, []*corev1.Pod{finished("a", "0", other), finished("b", "1", other)},
			[]string{"2 pods succeeded without the finalizer batch.kubernetes.io/job-tracking and cannot be counted, such as b"}, ""},
		{"no finalizer, not Indexed", false, "", 1, []*corev1.Pod{finished("a", ""), finished("b", "")},
			[]string{"1 pod succeeded without the finalizer batch.kubernetes.io/job-tracking and cannot be counted, such as b"}, ""},
		{"failed, and counted", false, "", 0, []*corev1.Pod{in(corev1.PodFailed, finished("a", ""))}, nil, ""},
		{"failed", false, "", 0, []*corev1.Pod{in(corev1.PodFailed, finished("a", "")), in(corev1.PodFailed, finished("b", ""))},
			[]string{"1 pod failed without the finalizer batch.kubernetes.io/job-tracking and cannot be counted, such as b"}, ""},
		{"running", true, "", 0, []*corev1.Pod{in(corev1.PodRunning, finished("a", "0")), in(corev1.PodRunning, finished("b", "1", tracking))},
			[]string{"1 active pod without the finalizer batch.kubernetes.io/job-tracking cannot be counted, such as a: add the finalizer, or delete the pod, so that it is replaced"}, ""},
		{"no index", true, "", 0, []*corev1.Pod{finished("a", "", tracking), finished("b", "7", tracking)},
			[]string{"2 pods finished without an index below completions and cannot be counted, such as a"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := podtest.NewJob()
			job.Spec = batchv1.JobSpec{Completions: new(int32(3)), Parallelism: new(int32(3))}
			job.Status = batchv1.JobStatus{CompletedIndexes: test.completed, Succeeded: test.succeeded, Failed: 1}
			if test.indexed {
				job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
			}
			if test.listed != "" {
				job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{test.listed}}
			}
			notes := func(f decide.InFlight) (texts []string) {
				d := podtest.Must(decide.Job(decide.Snapshot{Job: job, Pods: test.pods, Now: jobtest.Noon(), InFlight: f}))
				for _, note := range explain.Of(d).Notes() {
					if note.Code == explain.NoteNotCounted {
						texts = append(texts, note.Text)
					}
				}
				return texts
			}
			podtest.Same(t, "notes", notes(decide.InFlight{}), test.want)
			stale := notes(decide.InFlight{Status: true})
			if strings.Contains(strings.Join(stale, "\n"), "without the finalizer") {
				t.Errorf("a Job older than the last status write has the notes %q", stale)
			}
		})
	}
}

// in returns the pod in another phase.
func in(phase corev1.PodPhase, pod *corev1.Pod) *corev1.Pod {
	pod.Status.Phase = phase
	return pod
}

// finished returns a pod of the Job that has succeeded.
func finished(name, index string, finalizers ...string) *corev1.Pod {
	pod := podtest.Pod(name, podtest.Succeeded, podtest.Unlabelled)
	pod.Name, pod.Finalizers = name, finalizers
	if index != "" {
		podtest.Index(index)(pod)
	}
	return pod
}
