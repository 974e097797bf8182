package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/tracking"
)

func TestMetrics(t *testing.T) {
	m, err := newMetrics(prometheus.NewRegistry(), tracking.Keys{})
	must(t, err)
	finished := func(reason string) jobfate.Metric {
		return jobfate.Metric{Name: "jobs_finished_total", Add: 1, Labels: map[string]string{"completion_mode": "Indexed", "result": "failed", "reason": reason}}
	}
	m.add([]jobfate.Metric{finished("PodFailurePolicy"), finished("PodFailurePolicy"), {Name: "of_a_newer_library", Add: 1}})
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
	m, err := newMetrics(prometheus.NewRegistry(), tracking.Keys{})
	must(t, err)
	job := newJob(started)
	d, err := jobfate.Decide(jobfate.Snapshot{Job: job, Now: noon}, jobfate.ManagedBy(managedBy))
	must(t, err)
	if len(d.Metrics) == 0 {
		t.Fatal("the decision to create a pod has no metrics")
	}
	m.add(d.Metrics)
	for _, metric := range d.Metrics {
		counter, err := m.counters[metric.Name].GetMetricWith(metric.Labels)
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", metric.Name, err))
		}
		if got := testutil.ToFloat64(counter); got != float64(metric.Add) {
			t.Errorf("%s: got %v, want %d", metric.Name, got, metric.Add)
		}
	}
}
