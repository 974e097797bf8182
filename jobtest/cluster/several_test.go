package cluster_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// Two Jobs in one cluster, each with its own caller, do not affect each other, and garbage
// collection deletes only the pods of the deleted Job.
func TestSeveralJobs(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "default", Name: "a"}, types.NamespacedName{Namespace: "other", Name: "a"}
	c, cache := newStage(t, 1)
	for _, name := range []types.NamespacedName{a, b} {
		job := PlainJob(name.Name)
		job.Namespace = name.Namespace
		NoError(t, c.CreateJob(job))
		if err := c.CreateJob(job); err == nil {
			t.Errorf("%s is created twice", name)
		}
	}
	callers := &cluster.Callers{New: newCaller}
	sync := func(name types.NamespacedName) {
		c.Focus(name)
		NoError(t, c.Run(callers, cache).Err)
	}
	sync(a)
	sync(b)
	if jobs := c.Jobs(); len(jobs) != 3 || jobs[1].Status.Active != 1 || jobs[2].Status.Active != 1 || jobs[0].Status.Active != 0 {
		t.Fatalf("the Jobs are %v", jobs)
	}
	for _, pod := range c.Pods() {
		if pod.Namespace == "other" {
			c.End(pod.UID, 0)
		}
	}
	for range 3 {
		sync(b)
	}
	if c.Job().Status.CompletionTime == nil || c.Focused() != b {
		t.Errorf("%s has not ended: %+v", c.Focused(), c.Job().Status)
	}
	c.Focus(a)
	if c.Job().Status.CompletionTime != nil || c.Job().Status.Active != 1 {
		t.Errorf("%s has ended with %s", a, b)
	}
	c.Focus(b)
	c.DeleteJob(metav1.DeletePropagationBackground)
	c.CollectGarbage()
	if pods := c.Pods(); len(pods) != 1 || pods[0].Namespace != a.Namespace || pods[0].DeletionTimestamp != nil {
		t.Errorf("garbage collection leaves %v", pods)
	}
	c.Focus(types.NamespacedName{Name: "never"})
	if c.Focused() != b || c.Job() != nil {
		t.Errorf("%s is in focus, with %v", c.Focused(), c.Job())
	}
}
