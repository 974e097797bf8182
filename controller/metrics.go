package controller

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/tracking"
)

// metrics holds the metrics of the built-in Job controller, under the same names, so that
// dashboards and alerts work for both.
type metrics struct {
	keys     tracking.Keys
	counters map[string]*prometheus.CounterVec
	duration *prometheus.HistogramVec
}

const (
	subsystem    = "job_controller"
	syncsTotal   = "job_syncs_total"
	trackedTotal = "terminated_pods_tracking_finalizer_total"
)

// counters lists the counters that a machine.Result can increment, syncsTotal and trackedTotal.
var counters = []struct {
	name, help string
	labels     []string
}{
	{syncsTotal, "Syncs of all Jobs", []string{"completion_mode", "result", "action"}},
	{"jobs_finished_total", "Jobs that have ended", []string{"completion_mode", "result", "reason"}},
	{"job_pods_finished_total", "Pods that have ended and have been counted", []string{"completion_mode", "result"}},
	{"job_finished_indexes_total", "Indexes that have succeeded or failed for good",
		[]string{"status", "backoffLimit"}},
	{"job_pods_creation_total", "Attempts to create a pod, and whether it replaces another",
		[]string{"reason", "status"}},
	{"pod_failures_handled_by_failure_policy_total",
		"Failed pods that a rule of the pod failure policy has matched", []string{"action"}},
	{trackedTotal, "Ended pods that have gained or lost the tracking finalizer", []string{"event"}},
}

// newMetrics registers the metrics, unless another controller of the process has done so.
func newMetrics(registry prometheus.Registerer, keys tracking.Keys) (*metrics, error) {
	m := &metrics{
		keys:     keys,
		counters: make(map[string]*prometheus.CounterVec, len(counters)),
	}
	var err error
	m.duration, err = register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: subsystem,
		Name:      "job_sync_duration_seconds",
		Help:      "How long a sync took",
		Buckets:   prometheus.ExponentialBuckets(0.004, 2, 15),
	}, []string{"completion_mode", "result", "action"}))
	for _, c := range counters {
		if err != nil {
			break
		}
		m.counters[c.name], err = register(registry,
			prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: c.name, Help: c.help},
				c.labels))
	}
	return m, err
}

func register[C prometheus.Collector](registry prometheus.Registerer, collector C) (C, error) {
	err := registry.Register(collector)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if earlier, ok := already.ExistingCollector.(C); ok {
			return earlier, nil
		}
	}
	return collector, err
}

// add applies the increments of a result.
func (m *metrics) add(list []decide.Metric) {
	for _, metric := range list {
		vec := m.counters[metric.Name]
		if vec == nil {
			continue // a newer library may have more metrics
		}
		if counter, err := vec.GetMetricWith(metric.Labels); err == nil {
			counter.Add(float64(metric.Add))
		}
	}
}

// synced counts a sync. A sync without an action does not count: the Job has ended, or its
// last status write is not observed yet.
func (m *metrics) synced(job *batchv1.Job, action string, took time.Duration, err error) {
	switch {
	case action == "" && err == nil:
		return
	case action == "":
		action = "reconciling" // it failed before a decision was made
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

// finalizerChanged counts a terminated pod that gains or loses the finalizer.
func (m *metrics) finalizerChanged(before, after *corev1.Pod) {
	switch was, is := m.keys.Gauge(before), m.keys.Gauge(after); {
	case is && !was:
		m.counters[trackedTotal].WithLabelValues("add").Inc()
	case was && !is:
		m.counters[trackedTotal].WithLabelValues("delete").Inc()
	}
}
