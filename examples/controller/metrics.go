package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/tracking"
)

// metrics are those of the built-in Job controller, under its names, so that
// dashboards and alerts work for both.
type metrics struct {
	counters map[string]*prometheus.CounterVec
	duration *prometheus.HistogramVec
}

const (
	subsystem   = "job_controller"
	syncsTotal  = "job_syncs_total"
	gaugedTotal = "terminated_pods_tracking_finalizer_total"
)

// counters are those that a result names, and the two above.
var counters = []struct {
	name, help string
	labels     []string
}{
	{syncsTotal, "Syncs of all Jobs", []string{"completion_mode", "result", "action"}},
	{"jobs_finished_total", "Jobs that have ended", []string{"completion_mode", "result", "reason"}},
	{"job_pods_finished_total", "Pods that have ended and have been counted", []string{"completion_mode", "result"}},
	{"job_finished_indexes_total", "Indexes that have succeeded or failed for good", []string{"status", "backoffLimit"}},
	{"job_pods_creation_total", "Pods created, or tried to, and whether they replace others", []string{"reason", "status"}},
	{"pod_failures_handled_by_failure_policy_total", "Failed pods that a rule of the pod failure policy has matched", []string{"action"}},
	{gaugedTotal, "Ended pods that have got or lost the tracking finalizer", []string{"event"}},
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		counters: make(map[string]*prometheus.CounterVec, len(counters)),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: subsystem,
			Name:      "job_sync_duration_seconds",
			Help:      "How long a sync took",
			Buckets:   prometheus.ExponentialBuckets(0.004, 2, 15),
		}, []string{"completion_mode", "result", "action"}),
	}
	registry.MustRegister(m.duration)
	for _, c := range counters {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: c.name, Help: c.help}, c.labels)
		registry.MustRegister(vec)
		m.counters[c.name] = vec
	}
	return m
}

// add adds what a result asks for.
func (m *metrics) add(list []jobfate.Metric) {
	for _, metric := range list {
		vec := m.counters[metric.Name]
		if vec == nil {
			continue // of a newer library
		}
		if counter, err := vec.GetMetricWith(metric.Labels); err == nil {
			counter.Add(float64(metric.Add))
		}
	}
}

// synced counts a sync, unless it came to nothing because the Job had ended or was
// waited for: there is no action then.
func (m *metrics) synced(job *batchv1.Job, action string, took time.Duration, err error) {
	switch {
	case action == "" && err == nil:
		return
	case action == "":
		action = "reconciling" // it failed before anything was decided
	}
	mode, result := string(batchv1.NonIndexedCompletion), "success"
	if job.Spec.CompletionMode != nil {
		mode = string(*job.Spec.CompletionMode)
	}
	if err != nil {
		result = "error"
	}
	m.counters[syncsTotal].WithLabelValues(mode, result, action).Inc()
	m.duration.WithLabelValues(mode, result, action).Observe(took.Seconds())
}

// gauged counts a terminated pod that gains or loses the finalizer.
func (m *metrics) gauged(before, after *corev1.Pod) {
	switch was, is := (tracking.Keys{}).Gauge(before), (tracking.Keys{}).Gauge(after); {
	case is && !was:
		m.counters[gaugedTotal].WithLabelValues("add").Inc()
	case was && !is:
		m.counters[gaugedTotal].WithLabelValues("delete").Inc()
	}
}
