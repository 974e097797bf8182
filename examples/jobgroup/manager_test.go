package main

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/jobfate/jobfate/controller/live"
	"github.com/jobfate/jobfate/jobtest/kube"
)

func init() {
	ctrl.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // the default ones wait for decades in a bubble: see the package kube
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts both controllers, and returns a function that stops them.
func start(t *testing.T, s *kube.Server) (stop func()) {
	t.Helper()
	mgr, err := newManager(s.Config(), ctrl.Options{
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)}, // one is started after the other
	})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	return func() {
		cancel()
		must(t, <-ended)
	}
}

// serve returns an API server that has the sample restart-job with two Jobs, of which one fails once, and a client.
func serve(t *testing.T) (*kube.Server, client.Client, *JobGroup) {
	t.Helper()
	s := kube.New(kube.Options{Kinds: []kube.Kind{{GroupVersionKind: groupVersion.WithKind("JobGroup"), Status: true}}})
	live.Start(t, s.Config(), live.PodsOnly(), live.Pods(
		live.Fail(3).After(time.Minute).ForJob("restart-job-simulations-1").Times(1), // the rule ExitCode3
		live.Succeed().After(time.Hour),
	))
	users, err := client.New(s.Config(), client.Options{Scheme: testScheme()})
	must(t, err)
	group := readSample(t, "restart-job")
	group.Namespace = "default"
	group.Spec.Jobs[0].Replicas = 2
	must(t, users.Create(t.Context(), group))
	return s, users, group
}

// A status that was lost after a restart is reported. Once the Jobs of later attempts are deleted, the group goes on.
func TestManagerReportsALostStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, users, sample := serve(t)
		defer start(t, s)()
		time.Sleep(90 * time.Second) // the Job is of attempt 1
		key := client.ObjectKeyFromObject(sample)
		must(t, users.Get(t.Context(), key, sample))
		sample.Status = Status{}
		must(t, users.Status().Update(t.Context(), sample))
		time.Sleep(time.Minute)
		must(t, users.Get(t.Context(), key, sample))
		const want = `a Job of member "restart-job-simulations-1" is of attempt 1, and the state has attempt 0: the state is old; ` +
			"delete the Jobs of later attempts to go on"
		if got := sample.Status; got.Phase != "OldState" || got.Message != want {
			t.Errorf("a lost status: got %+v, want the phase OldState and the message %s", got, want)
		}
		if !slices.ContainsFunc(kube.List[*corev1.Event](s, "default"), func(e *corev1.Event) bool {
			return e.InvolvedObject.Kind == "JobGroup" && e.Reason == "OldState" && e.Message == want
		}) {
			t.Error("there is no event about the lost status")
		}
		later := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "restart-job-simulations-1"}}
		must(t, users.Delete(t.Context(), later, client.PropagationPolicy(metav1.DeletePropagationBackground)))
		time.Sleep(10 * time.Minute)
		must(t, users.Get(t.Context(), key, sample))
		if got := sample.Status; got.Phase != "Running" || got.Message != "" {
			t.Errorf("without the Job: got %+v, want the group running, and no message", got)
		}
		time.Sleep(2 * time.Hour)
		must(t, users.Get(t.Context(), key, sample))
		if got := sample.Status; got.Phase != "Complete" {
			t.Errorf("in the end: got %+v, want it complete", got)
		}
	})
}

// One process runs groups and their Jobs, across a restart of the process. A rule of the group
// restarts a Job because of the rule name in its reason, and the group succeeds.
func TestManagerRunsGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, users, group := serve(t)
		stop := start(t, s)
		defer func() { stop() }()
		time.Sleep(30 * time.Second)
		stop()
		time.Sleep(5 * time.Minute) // a pod fails while there is no controller
		stop = start(t, s)
		time.Sleep(time.Minute)
		must(t, users.Get(t.Context(), client.ObjectKeyFromObject(group), group))
		if got := group.Status; got.Phase != "Running" || got.Restarts != 1 {
			t.Errorf("after a failure: got %+v, want it running after a restart", got)
		}
		time.Sleep(2 * time.Hour)
		must(t, users.Get(t.Context(), client.ObjectKeyFromObject(group), group))
		if got := group.Status; got.Phase != "Complete" || got.Restarts != 1 || got.Succeeded != "0,1" || got.Message != "all members have succeeded" {
			t.Errorf("in the end: got %+v, want it complete after a restart", got)
		}
		for _, job := range kube.List[*batchv1.Job](s, "default") {
			if job.Status.Succeeded != 1 || job.Status.Failed != 0 {
				t.Errorf("the Job %s: got %+v, want one pod succeeded", job.Name, job.Status)
			}
		}
		for _, pod := range kube.List[*corev1.Pod](s, "default") {
			if len(pod.Finalizers) > 0 {
				t.Errorf("the pod %s has the finalizers %v", pod.Name, pod.Finalizers)
			}
		}
	})
}
