package cluster_test

import (
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// newStage returns a cluster with a Job of some pods, and a live cache.
func newStage(t *testing.T, pods int32) (*cluster.Cluster, *cluster.Cache) {
	t.Helper()
	job := &batchv1.Job{}
	job.Spec.Completions, job.Spec.Parallelism = new(pods), new(pods)
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy:  corev1.RestartPolicyNever,
		InitContainers: []corev1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}},
		Containers:     []corev1.Container{{Name: "main"}},
	}
	c, err := cluster.New(job, noon)
	must(t, err)
	return c, c.NewCache(true)
}

func run(t *testing.T, c *cluster.Cluster, controller cluster.Controller, cache *cluster.Cache) cluster.Outcome {
	t.Helper()
	out := c.Run(controller, cache)
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	return out
}

// A clone and its cache are independent of the original.
func TestClone(t *testing.T) {
	c, _ := newStage(t, 2)
	cache, caller := c.NewCache(false), newCaller()
	run(t, c, caller, cache)
	other := c.Clone()
	late := cache.Clone(other)
	other.End("pod-1", 0)
	late.ShowAll()
	if pods := cache.View().Pods; len(pods) != 0 {
		t.Errorf("the cache of the original shows %d pods, want none", len(pods))
	}
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
	c.Now = noon.Add(1500 * time.Millisecond)
	run(t, c, newCaller(), cache)
	c.Start("pod-1")
	status := c.Job().Status.DeepCopy()
	status.StartTime.Time = status.StartTime.Add(300 * time.Millisecond)
	controller := controllerFunc(func(client *cluster.Client) error {
		job := client.Job.DeepCopy()
		job.Status = *status
		_, err := client.UpdateStatus(job)
		return err
	})
	run(t, c, controller, cache)
	pod := c.Pod("pod-1")
	for what, at := range map[string]time.Time{"creation": pod.CreationTimestamp.Time, "pod start": pod.Status.StartTime.Time, "Job start": c.Job().Status.StartTime.Time} {
		if want := noon.Add(time.Second); !at.Equal(want) {
			t.Errorf("%s is %v, want %v", what, at, want)
		}
	}
	if s := pod.Status.InitContainerStatuses; s[0].State.Terminated == nil || s[1].State.Running == nil {
		t.Errorf("in a running pod the init containers are %+v, want the first ended and the sidecar running", s)
	}
}

type controllerFunc func(*cluster.Client) error

func (f controllerFunc) Sync(client *cluster.Client) (time.Duration, error) { return 0, f(client) }

// A status write is stored and its answer lost. It records a failure that the backoff
// record of the caller lacks. The backoff delay after that failure still applies (S12).
func TestCaller_lostAnswer(t *testing.T) {
	staged, _ := newStage(t, 1)
	for lost, c := range map[error]*cluster.Cluster{
		errors.New("timeout"): staged, apierrors.NewTimeoutError("no answer", 1): newCluster(t, 3),
	} {
		cache, caller := c.NewCache(true), newCaller()
		run(t, c, caller, cache)
		c.End("pod-1", 1)
		c.Intercept = func(r *cluster.Request) cluster.Fault {
			if r.Verb == cluster.Status {
				return cluster.Fault{Err: lost, Lost: true}
			}
			return cluster.Fault{}
		}
		if out := c.Run(caller, cache); out.Err == nil || c.Job().Status.UncountedTerminatedPods == nil {
			t.Fatalf("%v: the answer is not lost: %+v", lost, out)
		}
		c.Intercept = nil
		out := run(t, c, caller, cache)
		if len(c.Pods()) != 1 || out.After != 10*time.Second {
			t.Errorf("%v: there are %d pods, and the next sync is in %v; want 1, 10s", lost, len(c.Pods()), out.After)
		}
		if got := inside.Memory(caller.Machine).Backoff; got.Failures != 1 {
			t.Errorf("%v: the caller remembers %+v, want one failure", lost, got)
		}
	}
}

// SetStatus stores any status, valid or not.
func TestSetStatus(t *testing.T) {
	c, cache := newStage(t, 1)
	version := c.Job().ResourceVersion
	c.SetStatus(batchv1.JobStatus{Failed: -1})
	if job := cache.View().Job; job.Status.Failed != -1 || job.ResourceVersion == version {
		t.Errorf("failed is %d at version %s, want -1 at another than %s", job.Status.Failed, job.ResourceVersion, version)
	}
}

// A pod becomes ready and unready. A call that changes nothing stores no new version.
func TestReady(t *testing.T) {
	c, cache := newStage(t, 1)
	run(t, c, newCaller(), cache)
	c.Start("pod-1")
	version := c.Pod("pod-1").ResourceVersion
	c.Ready("pod-1", corev1.ConditionTrue)
	if got := c.Pod("pod-1").ResourceVersion; got != version {
		t.Errorf("a ready pod that becomes ready is at version %s, want %s", got, version)
	}
	c.Ready("pod-1", corev1.ConditionFalse)
	run(t, c, newCaller(), cache)
	if ready := *c.Job().Status.Ready; ready != 0 {
		t.Errorf("%d pods are ready, want 0", ready)
	}
}
