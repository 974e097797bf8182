//go:build ignore

// This file gives the controller of examples/controller the shape of Kubernetes' package
// pkg/controller/job, so that the integration tests of that package test it. It is
// compiled together with the files of examples/controller: see the package suites.
package controller

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	schedulinginformers "k8s.io/client-go/informers/scheduling/v1alpha2"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	kubemetrics "k8s.io/kubernetes/pkg/controller/job/metrics"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
)

// What the tests change before they start a controller.
var (
	SyncJobBatchPeriod          = time.Second
	DefaultJobPodFailureBackOff = 10 * time.Second
	MaxJobPodFailureBackOff     = 10 * time.Minute
	MaxUncountedPods            = 500
	MaxPodCreateDeletePerSync   = 500
)

// Controller is a controller that stands for the built-in one.
type Controller struct {
	*controller
	client kubernetes.Interface
	watch  *watch
}

// NewController returns a controller that uses the informers of the test. The last two
// are of Workloads and PodGroups, which it does not know.
func NewController(_ context.Context, client kubernetes.Interface, pods coreinformers.PodInformer, jobs batchinformers.JobInformer,
	_ schedulinginformers.WorkloadInformer, _ schedulinginformers.PodGroupInformer) (*Controller, error) {
	batchPeriod = SyncJobBatchPeriod
	w := &watch{
		client: client, jobs: managedJobs{jobs.Informer()}, pods: pods.Informer(),
		factory: informers.NewSharedInformerFactory(client, 0), // the test starts its own
	}
	w.store = &store{jobs: w.jobs.GetIndexer(), pods: w.pods.GetIndexer()}
	c := newController(batchv1.JobControllerName, w.store, sender{managedClient{client}, client})
	c.options = append(c.options,
		jobfate.Backoff(backoff.Policy{Base: DefaultJobPodFailureBackOff, Cap: MaxJobPodFailureBackOff}),
		jobfate.MaxUncounted(MaxUncountedPods), jobfate.MaxChanges(MaxPodCreateDeletePerSync))
	c.options = append(c.options, gates...)
	c.metrics = metricsOfKubernetes()
	_, err := w.jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		// A controller beside the built-in one has no such metric.
		if job := obj.(*batchv1.Job); !c.me.Manages(job) {
			kubemetrics.JobByExternalControllerTotal.WithLabelValues(*job.Spec.ManagedBy).Inc()
		}
	}})
	return &Controller{c, client, w}, errors.Join(err, w.pods.AddIndexers(cache.Indexers{byController: controllerIndex}))
}

// metricsOfKubernetes counts in the metrics that the tests read.
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
			gaugedTotal:                                    kubemetrics.TerminatedPodsTrackingFinalizerTotal.CounterVec,
		},
		duration: kubemetrics.JobSyncDurationSeconds.HistogramVec,
	}
}

// Run runs the controller until the context ends.
func (c *Controller) Run(ctx context.Context, workers int) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.client.CoreV1().Events("")})
	c.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "job-controller"})
	free := orphans{c.controller}
	var running errgroup.Group
	running.Go(func() error {
		return runner[reconcile.Request](ctx, "job", c.controller, c.retries, workers, source[reconcile.Request]{c.watch, c.jobChanged, c.podChanged})
	})
	running.Go(func() error {
		return runner[orphaned](ctx, "orphans", free, newRetries[orphaned](), 1, source[orphaned]{c.watch, free.jobChanged, free.podChanged})
	})
	if err := running.Wait(); err != nil && ctx.Err() == nil {
		panic(err)
	}
}

// runner runs what add of the example adds to a manager.
func runner[T comparable](ctx context.Context, name string, does reconcile.TypedReconciler[T], retries *retries[T], workers int, watch source[T]) error {
	several := true // controllers of one name, one after the other
	runs, err := ctrlcontroller.NewTypedUnmanaged(name, ctrlcontroller.TypedOptions[T]{
		Reconciler: does, RateLimiter: retries, MaxConcurrentReconciles: workers, SkipNameValidation: &several, Logger: klog.FromContext(ctx),
	})
	if err != nil {
		return err
	}
	return errors.Join(runs.Watch(watch), runs.Start(ctx))
}
