package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

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

// cluster is an in-process API server in a synctest bubble, with scripted pods.
type cluster struct {
	*testing.T
	*kube.Server
	user client.Client
}

func newCluster(t *testing.T, rules ...live.Rule) *cluster {
	t.Helper()
	s := kube.New(kube.Options{Kinds: []kube.Kind{{GroupVersionKind: groupVersion.WithKind("Suite"), Status: true}}})
	live.Start(t, s.Config(), live.PodsOnly(), live.Pods(rules...))
	scheme, err := newScheme()
	must(t, err)
	user, err := client.New(s.Config(), client.Options{Scheme: scheme})
	must(t, err)
	return &cluster{t, s, user}
}

// start starts the controller, and returns a function that stops it.
func (c *cluster) start() (stop func()) {
	c.Helper()
	o := ctrl.Options{
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)}, // one is started after the other
	}
	mgr, err := newManager(c.Config(), o)
	must(c.T, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	return func() {
		cancel()
		must(c.T, <-ended)
	}
}

// create creates the sample.
func (c *cluster) create(change func(*Spec)) *Suite {
	c.Helper()
	text, err := os.ReadFile("deploy/samples/suite.yaml")
	must(c.T, err)
	suite := &Suite{}
	must(c.T, yaml.UnmarshalStrict(text, suite))
	suite.Namespace = "default"
	if change != nil {
		change(&suite.Spec)
	}
	must(c.T, c.user.Create(c.Context(), suite))
	return suite
}

// want compares the status of a suite.
func (c *cluster) want(suite *Suite, want string) {
	c.Helper()
	must(c.T, c.user.Get(c.Context(), client.ObjectKeyFromObject(suite), suite))
	job := suite.Status.Job
	got := fmt.Sprintf("%d active, %d passed, %d failed pods", job.Active, job.Succeeded, job.Failed)
	for _, condition := range job.Conditions {
		got += fmt.Sprintf(", %s/%s", condition.Type, condition.Reason)
	}
	if got != want {
		c.Errorf("got %s, want %s", got, want)
	}
}

// A suite runs its shards two at a time and retries a failed one, across a restart of the
// controller.
func TestSuitePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, live.Fail(1).After(10*time.Second).ForIndex(1).Times(1), live.Succeed().After(10*time.Second))
		stop := c.start()
		suite := c.create(nil)
		time.Sleep(5 * time.Second)
		c.want(suite, "2 active, 0 passed, 0 failed pods")
		for _, pod := range kube.List[*corev1.Pod](c.Server, "default") {
			if len(pod.Finalizers) != 1 || pod.Finalizers[0] != finalizer {
				t.Errorf("the pod %s has the finalizers %v, want %s", pod.Name, pod.Finalizers, finalizer)
			}
		}
		stop()
		time.Sleep(time.Minute) // both pods end while there is no controller
		c.want(suite, "2 active, 0 passed, 0 failed pods")
		stop = c.start()
		defer func() { stop() }()
		time.Sleep(5 * time.Minute)
		c.want(suite, "0 active, 5 passed, 1 failed pods, SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached")
		for _, pod := range kube.List[*corev1.Pod](c.Server, "default") {
			if len(pod.Finalizers) > 0 {
				t.Errorf("the pod %s has the finalizers %v", pod.Name, pod.Finalizers)
			}
		}
	})
}

// If a shard has no retries left, the suite fails after the other shards have ended.
func TestSuiteFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, live.Fail(1).ForIndex(1), live.Succeed().After(time.Second))
		defer c.start()()
		suite := c.create(func(s *Spec) { s.Parallel = nil })
		time.Sleep(5 * time.Minute)
		c.want(suite, "0 active, 4 passed, 2 failed pods, FailureTarget/FailedIndexes, Failed/FailedIndexes")
		if got := suite.Status.Job; got.FailedIndexes == nil || *got.FailedIndexes != "1" || got.CompletedIndexes != "0,2-4" {
			t.Errorf("got %+v, want index 1 failed and the others completed", got)
		}
	})
}

// A paused suite has no pods. When it is resumed, completed shards stay completed.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, live.Succeed().After(time.Minute))
		defer c.start()()
		suite := c.create(nil)
		pause := func(paused bool) {
			must(t, c.user.Get(t.Context(), client.ObjectKeyFromObject(suite), suite))
			suite.Spec.Paused = paused
			must(t, c.user.Update(t.Context(), suite))
		}
		time.Sleep(90 * time.Second) // the first two shards have passed
		pause(true)
		time.Sleep(5 * time.Second)
		c.want(suite, "0 active, 2 passed, 0 failed pods, Suspended/JobSuspended")
		pause(false)
		time.Sleep(5 * time.Minute)
		c.want(suite, "0 active, 5 passed, 0 failed pods, Suspended/JobResumed, SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached")
	})
}

// The pods of a deleted suite are deleted too.
func TestDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, live.Run())
		defer c.start()()
		suite := c.create(nil)
		time.Sleep(5 * time.Second)
		c.want(suite, "2 active, 0 passed, 0 failed pods")
		must(t, c.user.Delete(t.Context(), suite))
		time.Sleep(time.Minute)
		if left := kube.List[*corev1.Pod](c.Server, "default"); len(left) > 0 {
			t.Errorf("%d pods are left, want none", len(left))
		}
	})
}
