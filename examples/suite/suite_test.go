package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/controller/live"
	"github.com/jobfate/jobfate/examples/internal/trial"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// cluster serves suites.
type cluster struct{ *trial.Cluster }

// create creates the sample.
func (c cluster) create(change func(*Spec)) *Suite {
	c.Helper()
	suite := program.Manifests(c.T)["Suite nightly"].(*Suite)
	suite.Namespace = "default"
	if change != nil {
		change(&suite.Spec)
	}
	NoError(c, c.User.Create(c.Context(), suite))
	return suite
}

// wantAfter compares the status of a suite after a time has passed.
func (c cluster) wantAfter(pause time.Duration, suite *Suite, want string) {
	c.Helper()
	c.ReadAfter(pause, suite)
	job := suite.Status.Job
	got := fmt.Sprintf("%d active, %d passed, %d failed pods", job.Active, job.Succeeded, job.Failed)
	for _, condition := range job.Conditions {
		got += fmt.Sprintf(", %s/%s", condition.Type, condition.Reason)
	}
	Same(c, "the status", got, want)
}

// A suite runs its shards two at a time and retries a failed one, across a restart of the
// controller.
func TestSuitePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{program.Serve(t, live.Fail(1).After(10*time.Second).ForIndex(1).Times(1), live.Succeed().After(10*time.Second))}
		stop := c.Start()
		suite := c.create(nil)
		c.wantAfter(5*time.Second, suite, "2 active, 0 passed, 0 failed pods")
		c.WantFinalizers(finalizer)
		stop()
		// Both pods end while there is no controller.
		c.wantAfter(time.Minute, suite, "2 active, 0 passed, 0 failed pods")
		stop = c.Start()
		defer func() { stop() }()
		c.wantAfter(5*time.Minute, suite, "0 active, 5 passed, 1 failed pods, SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached")
		c.WantFinalizers("")
	})
}

// If a shard has no retries left, the suite fails after the other shards have ended.
func TestSuiteFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{program.Serve(t, live.Fail(1).ForIndex(1), live.Succeed().After(time.Second))}
		defer c.Start()()
		suite := c.create(func(s *Spec) { s.Parallel = nil })
		c.wantAfter(5*time.Minute, suite, "0 active, 4 passed, 2 failed pods, FailureTarget/FailedIndexes, Failed/FailedIndexes")
		if got := suite.Status.Job; got.FailedIndexes == nil || *got.FailedIndexes != "1" || got.CompletedIndexes != "0,2-4" {
			t.Errorf("got %+v, want index 1 failed and the others completed", got)
		}
	})
}

// A paused suite has no pods. When it is resumed, completed shards stay completed.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{program.Serve(t, live.Succeed().After(time.Minute))}
		defer c.Start()()
		suite := c.create(nil)
		pause := func(paused bool) {
			c.ReadAfter(0, suite)
			suite.Spec.Paused = paused
			NoError(t, c.User.Update(t.Context(), suite))
		}
		time.Sleep(90 * time.Second) // the first two shards have passed
		pause(true)
		c.wantAfter(5*time.Second, suite, "0 active, 2 passed, 0 failed pods, Suspended/JobSuspended")
		pause(false)
		c.wantAfter(5*time.Minute, suite, "0 active, 5 passed, 0 failed pods, Suspended/JobResumed, SuccessCriteriaMet/CompletionsReached, Complete/CompletionsReached")
	})
}

// The pods of a deleted suite are deleted too.
func TestDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{program.Serve(t, live.Run())}
		defer c.Start()()
		suite := c.create(nil)
		c.wantAfter(5*time.Second, suite, "2 active, 0 passed, 0 failed pods")
		NoError(t, c.User.Delete(t.Context(), suite))
		time.Sleep(time.Minute)
		if left := kube.List[*corev1.Pod](c.Server, "default"); len(left) > 0 {
			t.Errorf("%d pods are left, want none", len(left))
		}
	})
}
