package main

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/controller/live"
	"github.com/jobfate/jobfate/examples/internal/trial"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

var program = trial.Program{
	Name: "jobgroup", Kind: groupVersion.WithKind("JobGroup"), NewScheme: newScheme, Register: register, NewManager: newManager,
}

func TestDeployment(t *testing.T) { program.CheckDeployment(t) }

func TestPermissions(t *testing.T) { program.CheckPermissions(t) }

// serve returns an API server that has the sample restart-job with two Jobs, of which one fails once.
func serve(t *testing.T) (*trial.Cluster, *JobGroup) {
	t.Helper()
	c := program.Serve(t,
		live.Fail(3).After(time.Minute).ForJob("restart-job-simulations-1").Times(1), // the rule ExitCode3
		live.Succeed().After(time.Hour),
	)
	group := readSample(t, "restart-job")
	group.Namespace = "default"
	group.Spec.Jobs[0].Replicas = 2
	NoError(t, c.User.Create(t.Context(), group))
	return c, group
}

// A status that was lost after a restart is reported. Once the Jobs of later attempts are deleted, the group goes on.
func TestManagerReportsALostStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sample := serve(t)
		defer c.Start()()
		c.ReadAfter(90*time.Second, sample) // the Job is of attempt 1
		sample.Status = Status{}
		NoError(t, c.User.Status().Update(t.Context(), sample))
		c.ReadAfter(time.Minute, sample)
		const want = `a Job of member "restart-job-simulations-1" is of attempt 1, and the state has attempt 0: the state is old; ` +
			"delete the Jobs of later attempts to go on"
		if got := sample.Status; got.Phase != "OldState" || got.Message != want {
			t.Errorf("a lost status: got %+v, want the phase OldState and the message %s", got, want)
		}
		if !slices.ContainsFunc(kube.List[*corev1.Event](c.Server, "default"), func(e *corev1.Event) bool {
			return e.InvolvedObject.Kind == "JobGroup" && e.Reason == "OldState" && e.Message == want
		}) {
			t.Error("there is no event about the lost status")
		}
		later := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "restart-job-simulations-1"}}
		NoError(t, c.User.Delete(t.Context(), later, client.PropagationPolicy(metav1.DeletePropagationBackground)))
		c.ReadAfter(10*time.Minute, sample)
		if got := sample.Status; got.Phase != "Running" || got.Message != "" {
			t.Errorf("without the Job: got %+v, want the group running, and no message", got)
		}
		c.ReadAfter(2*time.Hour, sample)
		Same(t, "the phase in the end", sample.Status.Phase, "Complete")
	})
}

// One process runs groups and their Jobs, across a restart of the process. A rule of the group
// restarts a Job because of the rule name in its reason, and the group succeeds.
func TestManagerRunsGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, group := serve(t)
		stop := c.Start()
		defer func() { stop() }()
		time.Sleep(30 * time.Second)
		stop()
		time.Sleep(5 * time.Minute) // a pod fails while there is no controller
		stop = c.Start()
		c.ReadAfter(time.Minute, group)
		if got := group.Status; got.Phase != "Running" || got.Restarts != 1 {
			t.Errorf("after a failure: got %+v, want it running after a restart", got)
		}
		c.ReadAfter(2*time.Hour, group)
		if got := group.Status; got.Phase != "Complete" || got.Restarts != 1 || got.Succeeded != "0,1" || got.Message != "all members have succeeded" {
			t.Errorf("in the end: got %+v, want it complete after a restart", got)
		}
		for _, job := range kube.List[*batchv1.Job](c.Server, "default") {
			if job.Status.Succeeded != 1 || job.Status.Failed != 0 {
				t.Errorf("the Job %s: got %+v, want one pod succeeded", job.Name, job.Status)
			}
		}
		c.WantFinalizers("")
	})
}
