//go:build ignore

// This file adapts the module controller to the API of Kubernetes' package pkg/controller/job, so
// that the integration tests of that package test it. It is compiled together with the files of
// that module: see the package suites.
package controller

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	schedulinginformers "k8s.io/client-go/informers/scheduling/v1beta1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	kubemetrics "k8s.io/kubernetes/pkg/controller/job/metrics"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
)

// The variables that tests set before they start a controller.
var (
	SyncJobBatchPeriod          = time.Second
	DefaultJobPodFailureBackOff = 10 * time.Second
	MaxJobPodFailureBackOff     = 10 * time.Minute
	MaxUncountedPods            = 500
	MaxPodCreateDeletePerSync   = 500
)

// Controller replaces the built-in controller.
type Controller struct {
	*controller
	client kubernetes.Interface
}

// NewController returns a controller that uses the test's informer of Jobs and its own cache of
// pods. It ignores the last two informers, of Workloads and PodGroups.
func NewController(_ context.Context, client kubernetes.Interface, _ coreinformers.PodInformer,
	ofJobs batchinformers.JobInformer,
	_ schedulinginformers.WorkloadInformer, _ schedulinginformers.PodGroupInformer) (*Controller, error) {
	o, err := Options{ReplaceBuiltIn: true, Decide: []decide.Option{
		decide.FillFreeSlots(), decide.MaxUncounted(MaxUncountedPods), decide.MaxChanges(MaxPodCreateDeletePerSync),
		decide.Backoff(backoff.Policy{Base: DefaultJobPodFailureBackOff, Cap: MaxJobPodFailureBackOff}),
	}, DecideFor: func(*batchv1.Job) []decide.Option { return gates() }}.complete()
	if err != nil {
		return nil, err
	}
	o.BatchPeriod = SyncJobBatchPeriod // which may be 0
	c, err := newController(o, jobs{clients{Interface: managedClient{client},
		limit: flowcontrol.NewFakeAlwaysRateLimiter()}})
	if err != nil {
		return nil, err
	}
	watch := c.namespaces[0]
	watch.jobs = running{managedJobs{ofJobs.Informer()}}
	watch.store.jobs = watch.jobs.GetIndexer()
	c.metrics = metricsOfKubernetes()
	_, err = watch.jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		// The module controller does not have this metric.
		if job := obj.(*batchv1.Job); !c.me.Manages(job) {
			kubemetrics.JobByExternalControllerTotal.WithLabelValues(*job.Spec.ManagedBy).Inc()
		}
	}})
	return &Controller{c, client}, err
}

// running is an informer that the test has started.
type running struct{ cache.SharedIndexInformer }

func (running) RunWithContext(context.Context) {}

// metricsOfKubernetes returns metrics that increment those of Kubernetes, which the tests read.
func metricsOfKubernetes() *metrics {
	kubemetrics.Register()
	return &metrics{
		counters: map[string]*prometheus.CounterVec{
			syncsTotal:                                     kubemetrics.JobSyncNum.CounterVec,
			"jobs_finished_total":                          kubemetrics.JobFinishedNum.CounterVec,
			"job_pods_finished_total":                      kubemetrics.JobPodsFinished.CounterVec,
			"job_finished_indexes_total":                   kubemetrics.JobFinishedIndexesTotal.CounterVec,
			"job_pods_creation_total":                      kubemetrics.JobPodsCreationTotal.CounterVec,
			"pod_failures_handled_by_failure_policy_total": kubemetrics.PodFailuresHandledByFailurePolicy.CounterVec,
			trackedTotal:                                   kubemetrics.TerminatedPodsTrackingFinalizerTotal.CounterVec,
		},
		duration: kubemetrics.JobSyncDurationSeconds.HistogramVec,
	}
}

// Run runs the controller until the context ends.
func (c *Controller) Run(ctx context.Context, workers int) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.client.CoreV1().Events("")})
	c.log = klog.FromContext(ctx)
	c.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "job-controller"})
	free := orphans{c.controller}
	var group errgroup.Group
	group.Go(func() error {
		return runner[reconcile.Request](ctx, "job", c.controller, c.retries, workers,
			source[reconcile.Request]{c.watcher, c.jobChanged, c.podChanged})
	})
	group.Go(func() error {
		return runner[orphanKey](ctx, "orphans", free, newRetries[orphanKey](), 1,
			source[orphanKey]{c.watcher, free.jobChanged, free.podChanged})
	})
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		panic(err)
	}
}

// runner runs the controller that add would add to a manager.
func runner[T comparable](ctx context.Context, name string, does reconcile.TypedReconciler[T],
	retries *retries[T], workers int, watch source[T]) error {
	several := true // a test may create several controllers with the same name
	runs, err := ctrlcontroller.NewTypedUnmanaged(name, ctrlcontroller.TypedOptions[T]{
		Reconciler: does, RateLimiter: retries, MaxConcurrentReconciles: workers, SkipNameValidation: &several,
		Logger: klog.FromContext(ctx),
	})
	if err != nil {
		return err
	}
	return errors.Join(runs.Watch(watch), runs.Start(ctx))
}
