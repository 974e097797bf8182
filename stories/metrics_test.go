package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// Creations are counted by their results. Of eight creations in batches of 1, 2, 4 and 1, the
// third fails, so the second batch is the last.
func TestMetrics_creationsThatFail(t *testing.T) {
	w := newWorld(t, "completions: 8\nparallelism: 8")
	w.fault = fault{at: 3, kind: refuse}
	w.sync()
	if w.made != 2 || w.Job().Status.Active != 2 {
		t.Fatalf("%d pods made, %d active; want 2, 2\n%s", w.made, w.Job().Status.Active, strings.Join(w.log, "\n"))
	}
	want := []string{
		`job_pods_creation_total{reason="new",status="failed"} 1`, // five were not tried
		`job_pods_creation_total{reason="new",status="succeeded"} 2`,
	}
	if got := w.counted(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// If the plan has no creations, none is counted, whatever Undone says.
func TestMetrics_noCreations(t *testing.T) {
	w := newWorld(t, "completions: 1")
	w.runAll()
	none := jobfate.Undone{Creations: 2}
	running := mustDecide(t, w.snapshot()).Revise(none)
	w.End("pod-1", 1)
	w.settle()
	for name, d := range map[string]jobfate.Decision{"running": running, "backing off": mustDecide(t, w.snapshot()).Revise(none)} {
		if len(d.Metrics) != 0 {
			t.Errorf("%s: got %v, want no metric", name, d.Metrics)
		}
	}
}

// The replacement policy decides as what a pod counts that replaces a failed one. Without it the failure policy
// decides, as in the defaults of the API server: with a failure policy, only failed pods are replaced. Without the
// feature, every pod counts as new.
func TestMetrics_reason(t *testing.T) {
	failed := batchv1.Failed
	for _, test := range []struct {
		replacement *batchv1.PodReplacementPolicy
		failure     *batchv1.PodFailurePolicy
		opts        []jobfate.Option
		want        string
	}{
		{&failed, nil, nil, "recreate_failed"},
		{&failed, nil, []jobfate.Option{jobfate.WithoutReplacementPolicy()}, "new"},
		{nil, &batchv1.PodFailurePolicy{}, nil, "recreate_failed"},
		{nil, nil, nil, "recreate_terminating_or_failed"},
	} {
		job := specJob(t, "completions: 1")
		job.Spec.PodReplacementPolicy, job.Spec.PodFailurePolicy = test.replacement, test.failure
		job.Status = batchv1.JobStatus{StartTime: &job.CreationTimestamp, Failed: 1}
		d := mustDecide(t, jobfate.Snapshot{Job: job, Now: job.CreationTimestamp.Time}, test.opts...)
		if want := `job_pods_creation_total{reason="` + test.want + `",status="succeeded"} +1`; len(d.Metrics) != 1 || metricText(d.Metrics[0]) != want {
			t.Errorf("got %v, want %s", d.Metrics, want)
		}
	}
}

// A terminating pod without the finalizer is not counted as failed. A pod that is created at
// the same time nevertheless counts as a replacement.
func TestMetrics_reasonBesideATerminatingPod(t *testing.T) {
	job := specJob(t, "completions: 2\nparallelism: 2\npodReplacementPolicy: TerminatingOrFailed")
	pod := without(podIn(job, 1, corev1.PodRunning))
	for terminating, want := range map[bool]string{
		false: `job_pods_creation_total{reason="new",status="succeeded"} +1`,
		true:  `job_pods_creation_total{reason="recreate_terminating_or_failed",status="succeeded"} +2`,
	} {
		pod := pod.DeepCopy()
		if terminating {
			pod.DeletionTimestamp = &job.CreationTimestamp
		}
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time, Backoff: backoff.Record{Job: job.UID}})
		if len(d.Metrics) != 1 || metricText(d.Metrics[0]) != want {
			t.Errorf("terminating %t: metrics %v, want %s", terminating, d.Metrics, want)
		}
	}
}

// If a status is delayed, the metrics of successful and failed creations are not delayed.
func TestMetrics_whileTheStatusIsDelayed(t *testing.T) {
	job := specJob(t, "completions: 5\nparallelism: 5")
	job.Status = batchv1.JobStatus{StartTime: &job.CreationTimestamp}
	now := job.CreationTimestamp.Time
	s := jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, corev1.PodSucceeded)}, Now: now, LastStatus: now}
	d := mustDecide(t, s, jobfate.Throttle(tracking.Throttle{Every: time.Minute, Share: 1}))
	if d.Status != nil || len(d.Strip) != 0 || d.Requeue == 0 {
		t.Fatalf("status %v, %d to strip, requeue %s: the status is not delayed", d.Status, len(d.Strip), d.Requeue)
	}
	if d.Idle() {
		t.Error("a decision that creates pods is idle")
	}
	for _, test := range []struct {
		name string
		d    jobfate.Decision
		want []string
	}{
		{"all created", d, []string{`job_pods_creation_total{reason="new",status="succeeded"} +4`}},
		{"one not", d.Revise(jobfate.Undone{Creations: 1}), []string{
			`job_pods_creation_total{reason="new",status="succeeded"} +3`, `job_pods_creation_total{reason="new",status="failed"} +1`,
		}},
	} {
		var got []string
		for _, m := range test.d.Metrics {
			got = append(got, metricText(m))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// metricText returns a metric as name{label="value"} with its increment.
func metricText(m jobfate.Metric) string {
	var labels []string
	for name, value := range m.Labels {
		labels = append(labels, fmt.Sprintf("%s=%q", name, value))
	}
	slices.Sort(labels)
	return fmt.Sprintf("%s{%s} %+d", m.Name, strings.Join(labels, ","), m.Add)
}

// The events of whole stories, with the texts of the Job controller.
func TestEvents(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		happens    func(*world)
		want       []string
	}{
		{"too many succeeded", "completions: 1", func(w *world) {
			w.settle()
			w.End("pod-1", 0)
			twin := w.Pods()[0].DeepCopy()
			twin.Name = ""
			w.End(w.Add(twin).UID, 0)
		}, []string{
			"Normal SuccessfulCreate: Created pod: job-1",
			"Warning TooManySucceededPods: Too many succeeded pods running after completion count reached",
			"Normal Completed: Job completed",
		}},
		{"refused", "completions: 1", func(w *world) {
			w.fault = fault{at: 1, kind: refuse}
			w.settle()
			w.edit("parallelism: 0")
			w.fault = fault{at: w.writes + 2, kind: refuse}
		}, []string{
			"Warning FailedCreate: Error creating: refused",
			"Normal SuccessfulCreate: Created pod: job-1",
			"Warning FailedDelete: Error deleting: refused",
			"Normal SuccessfulDelete: Deleted pod: job-1",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.spec)
			test.happens(w)
			w.settle()
			w.pass()
			if !slices.Equal(w.events, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(w.events, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}
