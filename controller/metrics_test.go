package controller

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/tracking"
)

func TestMetrics(t *testing.T) {
	m, err := newMetrics(prometheus.NewRegistry(), tracking.Keys{})
	must(t, err)
	finished := func(reason string) decide.Metric {
		return decide.Metric{Name: "jobs_finished_total", Add: 1, Labels: map[string]string{"completion_mode": "Indexed", "result": "failed", "reason": reason}}
	}
	m.add([]decide.Metric{finished("PodFailurePolicy"), finished("PodFailurePolicy"), {Name: "of_a_newer_library", Add: 1}})
	if got := testutil.ToFloat64(m.counters["jobs_finished_total"].WithLabelValues("Indexed", "failed", "PodFailurePolicy")); got != 2 {
		t.Errorf("jobs_finished_total: got %v, want 2", got)
	}
	m.synced(newJob(), "tracking", time.Second, errors.New("no"))
	m.synced(newJob(), "", time.Second, nil) // there was nothing to decide
	m.synced(newJob(), "", time.Second, errors.New("before anything was decided"))
	if got := testutil.CollectAndCount(m.duration); got != 2 {
		t.Errorf("job_sync_duration_seconds: got %d series, want 2", got)
	}
	if got := testutil.ToFloat64(m.counters[syncsTotal].WithLabelValues("NonIndexed", "error", "reconciling")); got != 1 {
		t.Errorf("%s that failed early: got %v, want 1", syncsTotal, got)
	}
	if got := testutil.ToFloat64(m.counters[syncsTotal].WithLabelValues("NonIndexed", "error", "tracking")); got != 1 {
		t.Errorf("%s: got %v, want 1", syncsTotal, got)
	}
	job := newJob()
	runs, done, freed := newPod(job, "pod", "1"), newPod(job, "pod", "2", succeeded), newPod(job, "pod", "3", succeeded, stripped)
	m.finalizerChanged(nil, runs)
	m.finalizerChanged(runs, done)
	m.finalizerChanged(done, freed)
	m.finalizerChanged(freed, nil)
	for _, event := range []string{"add", "delete"} {
		if got := testutil.ToFloat64(m.counters[trackedTotal].WithLabelValues(event)); got != 1 {
			t.Errorf("%s of %s: got %v, want 1", trackedTotal, event, got)
		}
	}
}

// Every metric of a decision is registered, with its labels.
func TestMetricsOfDecisions(t *testing.T) {
	job := newJob(started, func(job *batchv1.Job) {
		job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{3},
			},
		}}}
	})
	index0 := func(pod *corev1.Pod) { pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "0"} }
	seen := map[string]bool{syncsTotal: true, trackedTotal: true} // they are no part of a decision
	for what, pods := range map[string][]*corev1.Pod{
		"no pod yet": nil,
		"failed":     {newPod(job, "pod", "5", failedWith3, index0)},
		"succeeded":  {newPod(job, "pod", "5", succeeded, index0)},
	} {
		d, err := decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: noon}, decide.ManagedBy(managedBy))
		must(t, err)
		metrics := slices.Concat(d.Metrics, d.Settle("pod-uid").Metrics)
		if len(metrics) == 0 {
			t.Errorf("%s: no metrics", what)
		}
		metricsAreRegistered(t, metrics, seen)
	}
	for _, c := range counters {
		if !seen[c.name] {
			t.Errorf("no decision has the metric %s", c.name)
		}
	}
}

// metricsAreRegistered adds metrics to new counters, reads them and marks their names.
func metricsAreRegistered(t *testing.T, metrics []decide.Metric, seen map[string]bool) {
	t.Helper()
	m, err := newMetrics(prometheus.NewRegistry(), tracking.Keys{})
	must(t, err)
	m.add(metrics)
	for _, metric := range metrics {
		seen[metric.Name] = true
		counter, err := m.counters[metric.Name].GetMetricWith(metric.Labels)
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", metric.Name, err))
		}
		if got := testutil.ToFloat64(counter); got != float64(metric.Add) {
			t.Errorf("%s: got %v, want %d", metric.Name, got, metric.Add)
		}
	}
}
