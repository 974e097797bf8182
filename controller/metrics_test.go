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
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// expect expects a counter with these labels to have a value.
func (m *metrics) expect(t *testing.T, want int, name string, labels ...string) {
	t.Helper()
	Same(t, fmt.Sprint(name, labels), testutil.ToFloat64(m.counters[name].WithLabelValues(labels...)), float64(want))
}

func TestMetrics(t *testing.T) {
	m := Must(newMetrics(prometheus.NewRegistry(), tracking.Keys{}))
	finished := func(reason string) decide.Metric {
		return decide.Metric{Name: "jobs_finished_total", Add: 1, Labels: map[string]string{"completion_mode": "Indexed", "result": "failed", "reason": reason}}
	}
	m.add([]decide.Metric{finished("PodFailurePolicy"), finished("PodFailurePolicy"), {Name: "of_a_newer_library", Add: 1}})
	m.expect(t, 2, "jobs_finished_total", "Indexed", "failed", "PodFailurePolicy")
	m.synced(newJob(), "tracking", time.Second, errors.New("no"))
	m.synced(newJob(), "", time.Second, nil) // there was nothing to decide
	m.synced(newJob(), "", time.Second, errors.New("before anything was decided"))
	Same(t, "series of job_sync_duration_seconds", testutil.CollectAndCount(m.duration), 2)
	m.expect(t, 1, syncsTotal, "NonIndexed", "error", "reconciling") // which failed early
	m.expect(t, 1, syncsTotal, "NonIndexed", "error", "tracking")
	job := newJob()
	runs, done, freed := newPod(job, "pod", "1"), newPod(job, "pod", "2", Succeeded), newPod(job, "pod", "3", Succeeded, Released)
	m.finalizerChanged(nil, runs)
	m.finalizerChanged(runs, done)
	m.finalizerChanged(done, freed)
	m.finalizerChanged(freed, nil)
	for _, event := range []string{"add", "delete"} {
		m.expect(t, 1, trackedTotal, event)
	}
}

// Every metric of a decision is registered, with its labels.
func TestMetricsOfDecisions(t *testing.T) {
	job := newJob(started, Indexed(1), ExitRule(batchv1.PodFailurePolicyActionFailJob, 3))
	seen := map[string]bool{syncsTotal: true, trackedTotal: true} // they are no part of a decision
	for what, pods := range map[string][]*corev1.Pod{
		"no pod yet": nil,
		"failed":     {newPod(job, "pod", "5", Exit(3, After(0)), Index("0"))},
		"succeeded":  {newPod(job, "pod", "5", Succeeded, Index("0"))},
	} {
		d := Must(decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: Noon()}, decide.ManagedBy(managedBy)))
		metrics := slices.Concat(d.Metrics, d.Settle("pod-uid").Metrics)
		if len(metrics) == 0 {
			t.Errorf("%s: no metrics", what)
		}
		m := Must(newMetrics(prometheus.NewRegistry(), tracking.Keys{}))
		m.add(metrics)
		for _, metric := range metrics {
			seen[metric.Name] = true
			counter := Must(m.counters[metric.Name].GetMetricWith(metric.Labels))
			Same(t, metric.Name, testutil.ToFloat64(counter), float64(metric.Add))
		}
	}
	for _, c := range counters {
		Same(t, "a decision has the metric "+c.name, seen[c.name], true)
	}
}
