package sync

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
)

// Handwritten trials, and outcomes as text.

var (
	finished, index, failures = fixture.Exit, fixture.Index, fixture.Failures
	ignored, isReady          = fixture.Ignored, fixture.Ready
	text, isTrue              = podtest.ToJSON, fixture.IsTrue
)

func at(seconds int) metav1.Time { return *fixture.At(seconds) }

// newTrial returns a trial at noon, with a Job that started a minute ago and has nothing to do.
func newTrial(change ...func(*trial)) *trial {
	labels := map[string]string{batchv1.ControllerUidLabel: jobtest.JobUID}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: jobtest.Namespace, Name: jobtest.JobName, UID: jobtest.JobUID, ResourceVersion: "7"},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(0)), Completions: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       podtest.MinimalPodSpec(),
			},
		},
		Status: batchv1.JobStatus{StartTime: new(at(-60)), Ready: new(int32(0)), Terminating: new(int32(0))},
	}
	c := &trial{}
	c.snapshot.Job, c.snapshot.Now = apiserver.Default(job), jobtest.Noon()
	for _, f := range change {
		f(c)
	}
	return c
}

func size(parallelism, completions int32) func(*trial) {
	return onJob(func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = &parallelism, &completions })
}

func onJob(f func(*batchv1.Job)) func(*trial) {
	return func(c *trial) { f(c.snapshot.Job) }
}

func byIndex(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.IndexedCompletion) }

func limitPerIndex(n int32) func(*trial) {
	return onJob(func(j *batchv1.Job) { byIndex(j); j.Spec.BackoffLimitPerIndex = &n })
}

// rule adds a rule on the exit code 1 to the pod failure policy.
func rule(action batchv1.PodFailurePolicyAction) func(*trial) {
	return onJob(func(j *batchv1.Job) {
		if j.Spec.PodFailurePolicy == nil {
			j.Spec.PodReplacementPolicy = new(batchv1.Failed)
		}
		podtest.ExitRule(action, 1)(j)
	})
}

// pod adds a pod with the finalizer to the current Job; change the Job before. A failed pod has exit
// code 1.
func pod(name string, phase corev1.PodPhase, change ...func(*corev1.Pod)) func(*trial) {
	return func(c *trial) {
		p := fixture.Pod(c.snapshot.Job, name, phase)
		if phase == corev1.PodFailed {
			finished(1, 0)(p)
		}
		for _, f := range change {
			f(p)
		}
		c.snapshot.Pods = append(c.snapshot.Pods, p)
	}
}

func orphaned(p *corev1.Pod) { p.OwnerReferences = nil }

// formatOutcome formats an outcome as lines. If the API server rejects a status, the text says so and ends
// there.
func formatOutcome(c *trial, o outcome) string {
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, c := range slices.Concat(o.Claims, o.Deletions, o.Creations, o.Strips) {
		text := string(c.Kind) + " " + c.Pod
		if c.Object != nil {
			for _, key := range countKeys {
				if n := c.Object.Annotations[key]; n != "" {
					text += " " + strings.TrimPrefix(key, "batch.kubernetes.io/job-index-") + "=" + n
				}
			}
		}
		if c.Err != "" {
			text += " fails"
		}
		line("%s", text)
	}
	old := c.snapshot.Job
	for _, call := range o.Statuses {
		line("status %s", formatStatus(call.Status))
		next := old.DeepCopy()
		next.Status = *call.Status
		if errs := apiserver.AcceptStatus(old, next); len(errs) > 0 {
			line("refused: %s: %s %s", errs[0].Field, errs[0].Type, errs[0].Detail)
			return strings.Join(lines, "\n")
		}
		if call.Err != "" {
			line("not stored")
		}
		old = next
	}
	for _, e := range o.Events {
		if e.Type == panicEvent {
			line("panic  %s", e.Message)
		} else {
			line("%s %s", strings.ToLower(e.Type), e.Reason)
		}
	}
	if o.Requeue != 0 {
		line("requeue after %s", o.Requeue)
	}
	if o.Action != "" {
		line("count the sync as %s", o.Action)
	}
	if o.Backoff.Failures != 0 {
		line("remember %d failures", o.Backoff.Failures)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Metrics)) {
		line("%s +%v", name, o.Metrics[name])
	}
	if len(lines) == 0 {
		return "nothing"
	}
	return strings.Join(lines, "\n")
}

func formatStatus(st *batchv1.JobStatus) string {
	text := ""
	add := func(format string, args ...any) { text += fmt.Sprintf(format, args...) + " " }
	seconds := func(t *metav1.Time) string { return fmt.Sprintf("%+.0fs", t.Sub(jobtest.Noon()).Seconds()) }
	add("active=%d ready=%d terminating=%d succeeded=%d failed=%d", st.Active, *st.Ready, *st.Terminating, st.Succeeded, st.Failed)
	if st.CompletedIndexes != "" {
		add("completed=%s", st.CompletedIndexes)
	}
	if st.FailedIndexes != nil && *st.FailedIndexes != "" {
		add("failedIndexes=%s", *st.FailedIndexes)
	}
	if u := st.UncountedTerminatedPods; len(u.Succeeded)+len(u.Failed) > 0 {
		add("uncounted=%v%v", u.Succeeded, u.Failed)
	}
	if st.StartTime != nil {
		add("start=%s", seconds(st.StartTime))
	}
	if st.CompletionTime != nil {
		add("completion=%s", seconds(st.CompletionTime))
	}
	for _, c := range st.Conditions {
		add("%s=%s", c.Type, c.Status)
	}
	return strings.TrimSpace(text)
}
