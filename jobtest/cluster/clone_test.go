package cluster_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// newStage returns a cluster with a Job of some pods, and a live cache.
func newStage(t *testing.T, pods int32) (*cluster.Cluster, *cluster.Cache) {
	t.Helper()
	job := PlainJob("job")
	job.Spec.Completions, job.Spec.Parallelism = &pods, &pods
	job.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init"},
		{Name: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
	c := Must(cluster.New(job, Noon()))
	return c, c.NewCache(true)
}

// A clone and its cache are independent of the original.
func TestClone(t *testing.T) {
	c, _ := newStage(t, 2)
	cache, caller := c.NewCache(false), newCaller()
	NoError(t, c.Run(caller, cache).Err)
	other := c.Clone()
	late := cache.Clone(other)
	other.End("pod-1", 0)
	late.ShowAll()
	Same(t, "pods in the cache of the original", len(cache.View().Pods), 0)
	if pods := late.View().Pods; len(pods) != 2 || !cluster.HasEnded(pods[0]) {
		t.Errorf("the clone's cache shows %d pods, want 2, the first ended", len(pods))
	}
	if cluster.HasEnded(c.Pod("pod-1")) {
		t.Error("a change of the clone changes the original")
	}
	c.Vanish("pod-2")
	if c.Pod("pod-2") != nil || other.Pod("pod-2") == nil {
		t.Error("a pod vanishes from the clone and not from the original")
	}
}

// All times are stored without fractions of a second.
func TestTimes(t *testing.T) {
	c, cache := newStage(t, 1)
	c.Now = Noon().Add(1500 * time.Millisecond)
	NoError(t, c.Run(newCaller(), cache).Err)
	c.Start("pod-1")
	status := c.Job().Status.DeepCopy()
	status.StartTime.Time = status.StartTime.Add(300 * time.Millisecond)
	controller := bugs.Func(func(client *cluster.Client) (time.Duration, error) {
		job := client.Job.DeepCopy()
		job.Status = *status
		_, err := client.UpdateStatus(job)
		return 0, err
	})
	NoError(t, c.Run(controller, cache).Err)
	pod := c.Pod("pod-1")
	for what, at := range map[string]time.Time{"creation": pod.CreationTimestamp.Time, "pod start": pod.Status.StartTime.Time, "Job start": c.Job().Status.StartTime.Time} {
		if want := Noon().Add(time.Second); !at.Equal(want) {
			t.Errorf("%s is %v, want %v", what, at, want)
		}
	}
	if s := pod.Status.InitContainerStatuses; s[0].State.Terminated == nil || s[1].State.Running == nil {
		t.Errorf("in a running pod the init containers are %+v, want the first ended and the sidecar running", s)
	}
}

// A pod becomes ready and unready. A call that changes nothing stores no new version.
func TestReady(t *testing.T) {
	c, cache := newStage(t, 1)
	NoError(t, c.Run(newCaller(), cache).Err)
	c.Start("pod-1")
	version := c.Pod("pod-1").ResourceVersion
	c.Ready("pod-1", corev1.ConditionTrue)
	Same(t, "the version of a ready pod that becomes ready", c.Pod("pod-1").ResourceVersion, version)
	c.Ready("pod-1", corev1.ConditionFalse)
	NoError(t, c.Run(newCaller(), cache).Err)
	Same(t, "ready pods", *c.Job().Status.Ready, 0)
}
