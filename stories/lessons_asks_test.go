package stories

import (
	"regexp"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobstatus"
)

// "Which rule failed it?" The match has the rule, its name, the pod, the container and the
// exit code. The message is that of the Job controller.
func whichRule(t *testing.T) {
	w := newWorld(t, `
completions: 8
parallelism: 8
completionMode: Indexed
backoffLimitPerIndex: 1
podFailurePolicy:
  rules:
  - {name: Evicted, action: Ignore, onPodConditions: [{type: DisruptionTarget}]}
  - {name: ExitCode42, action: FailIndex, onExitCodes: {operator: In, values: [42]}}
  - {name: ExitCode43, action: FailJob, onExitCodes: {operator: In, values: [43]}}`)
	w.runAll()
	w.exitIndexes(42, 7)
	d := mustDecide(t, w.snapshot(), w.opts...)
	got := explain.Of(d).Index(7)
	if m := got.LastFailure.Match; m.Rule != 1 || m.Name != "ExitCode42" || m.Container != "main" || m.ExitCode != 42 || m.Pod.Name != "job-7-8" || got.Pod != "job-7-8" {
		t.Errorf("the match is %+v", m)
	}
	if want := "index 7: failed: its pod matched FailIndex rule 1 (ExitCode42) on container main, exit code 42"; got.String() != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.exitIndexes(43, 3)
	d = mustDecide(t, w.snapshot(), w.opts...)
	c := d.Status.Conditions[0]
	if want := "Container main for pod ns/job-3-4 failed with exit code 43 matching FailJob rule at index 2"; c.Message != want || c.Reason != "PodFailurePolicy_ExitCode43" {
		t.Errorf("the condition is %s: %q, want PodFailurePolicy_ExitCode43: %q", c.Reason, c.Message, want)
	}
	spec := failurepolicy.FromAPI(w.Job().Spec.PodFailurePolicy, "Evicted", "ExitCode42", "ExitCode43")
	if rule, ok := spec.Find(c.Reason, c.Message); !ok || rule != 2 {
		t.Errorf("the reason names rule %d (%t), want 2", rule, ok)
	}
}

// "Match more than exit codes and conditions": a framework provides a Matcher.
func matchers(t *testing.T) {
	job := specJob(t, "completions: 1")
	pod := podIn(job, 1, corev1.PodFailed)
	pod.Status.Reason = "NodeLost"
	outOfMemory := regexp.MustCompile("CUDA out of memory$")
	policy := &failurepolicy.Spec{Rules: []failurepolicy.Rule{
		{Name: "OutOfMemory", Action: batchv1.PodFailurePolicyActionFailJob, Matcher: func(pod *corev1.Pod) (string, bool) {
			main := pod.Status.ContainerStatuses[0]
			return "the termination message of container " + main.Name, outOfMemory.MatchString(main.State.Terminated.Message)
		}},
		{Name: "Node", Action: batchv1.PodFailurePolicyActionIgnore, Matcher: func(pod *corev1.Pod) (string, bool) {
			return "reason NodeLost", pod.Status.Reason == "NodeLost"
		}},
	}}
	s := jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time}
	opts := []jobfate.Option{jobfate.FailurePolicy(policy), jobfate.GranularReasons()}
	if d := mustDecide(t, s, opts...); len(d.Status.UncountedTerminatedPods.Failed) != 0 || len(d.Strip) != 1 {
		t.Errorf("a lost node: %s recorded, %d to strip; want none, 1", toJSON(d.Status.UncountedTerminatedPods), len(d.Strip))
	}
	pod.Status.ContainerStatuses[0].State.Terminated.Message = "step 3: CUDA out of memory"
	d := mustDecide(t, s, opts...)
	if c := d.Status.Conditions[0]; c.Reason != "PodFailurePolicy_OutOfMemory" || c.Message != "Pod ns/job-1 failed with the termination message of container main matching FailJob rule at index 0" {
		t.Errorf("out of memory: %s: %q", c.Reason, c.Message)
	}
}

// "Other delays": base, cap, factor.
func otherDelays(t *testing.T) {
	policy := backoff.Policy{Base: time.Second, Cap: 5 * time.Second, Factor: 3}
	w := newWorld(t, "completions: 1\nbackoffLimit: 9", jobfate.Backoff(policy))
	w.rules.Backoff = policy
	for _, want := range []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 5 * time.Second} {
		w.runAll()
		w.End(w.alive()[0].UID, 1)
		w.settle()
		if w.last.Requeue != want {
			t.Errorf("after %d failures: %s, want %s", w.snapshot().Backoff.Failures, w.last.Requeue, want)
		}
		w.wait()
	}
	// A delay shorter than the batch period is extended to it.
	for _, test := range []struct{ period, want time.Duration }{{time.Second, time.Second}, {0, 10 * time.Millisecond}, {30 * time.Second, 30 * time.Second}} {
		w := newWorld(t, "completions: 1", jobfate.Backoff(backoff.Policy{Base: 10 * time.Millisecond}), jobfate.BatchPeriod(test.period))
		w.settle()
		w.End("pod-1", 1)
		w.settle()
		if w.last.Requeue != test.want {
			t.Errorf("batch period %s: %s, want %s", test.period, w.last.Requeue, test.want)
		}
	}
}

// "Retry chosen or failed indexes": the set of unfinished indexes for the next
// run.
func unfinishedIndexes(t *testing.T) {
	w := newWorld(t, "completions: 6\nparallelism: 6\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0\nmaxFailedIndexes: 1")
	w.runAll()
	w.exitIndexes(0, 0, 3)
	w.exitIndexes(1, 1, 4)
	w.settle()
	w.pass()
	sets := jobstatus.Indexes(w.Job())
	if jobstatus.OutcomeOf(w.Job()).Phase != jobstatus.Failed || sets.Failed.String() != "1,4" || sets.Unfinished.String() != "2,5" {
		t.Errorf("%s, failed %s, unfinished %s; want Failed, 1,4 and 2,5", jobstatus.OutcomeOf(w.Job()).Phase, sets.Failed, sets.Unfinished)
	}
}

// A decided Job is not terminal yet.
func decidedVersusTerminal(t *testing.T) {
	w := newWorld(t, "completions: 2\nparallelism: 2\nbackoffLimit: 0")
	w.runAll()
	w.End("pod-1", 1)
	w.settle()
	if o := jobstatus.OutcomeOf(w.Job()); !o.Decided() || o.Terminal() || explain.Of(w.last).Job().Code != explain.JobEnding {
		t.Errorf("with a pod that terminates: %+v, %s", o, explain.Of(w.last).Job().Code)
	}
	w.End("pod-2", 143)
	w.settle()
	if o := jobstatus.OutcomeOf(w.Job()); !o.Decided() || !o.Terminal() || explain.Of(w.last).Job().Code != explain.JobFinished {
		t.Errorf("at the end: %+v, %s", o, explain.Of(w.last).Job().Code)
	}
}

// "Hold quota until pods are gone": the number of pods that a Job still holds, and the number
// of finished indexes.
func podsHeld(t *testing.T) {
	w := newWorld(t, "completions: 5\nparallelism: 4\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0")
	w.runAll()
	w.exitIndexes(0, 0)
	w.exitIndexes(1, 1)
	w.Delete(w.ofIndex(2), 30)
	w.settle()
	// Index 3 runs and index 4 has taken a free slot. Index 2 terminates and has failed.
	if held, finished := jobstatus.PodsHeld(w.Job()), jobstatus.IndexesFinished(w.Job()); held != 3 || finished != 3 {
		t.Errorf("%d pods held, %d indexes finished; want 3, 3", held, finished)
	}
	w.exitIndexes(143, 2)
	w.settle()
	if held := jobstatus.PodsHeld(w.Job()); held != 2 {
		t.Errorf("%d pods held, want 2", held)
	}
}

// Programs read conditions wrongly, for example only conditions[0].
func outcome(t *testing.T) {
	w := newWorld(t, "completions: 1\nsuspend: true")
	phase := func() jobstatus.Phase { return jobstatus.OutcomeOf(w.Job()).Phase }
	got := []jobstatus.Phase{phase()}
	w.settle()
	got = append(got, phase())
	w.edit("suspend: false")
	w.settle()
	got = append(got, phase())
	w.End("pod-1", 0)
	w.settle()
	got = append(got, phase())
	want := []jobstatus.Phase{jobstatus.Running, jobstatus.Suspended, jobstatus.Running, jobstatus.Complete}
	if !slices.Equal(got, want) {
		t.Errorf("the phases are %v, want %v", got, want)
	}
	if c := w.Job().Status.Conditions[0]; c.Type != batchv1.JobSuspended {
		t.Errorf("conditions[0] is %s, so reading it alone would not fail this test", c.Type)
	}
}
