package main

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/jobfate/jobfate/inflight"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/validation"
)

// The controller of the document runs a Job of one pod to its end.
func TestController(t *testing.T) {
	const name = "example.com/jobs"
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job", UID: "job-uid"}}
	manager := name
	job.Spec.ManagedBy = &manager
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job = validation.PrepareCreate(job)

	client := fake.NewClientset(job)
	client.PrependReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		pod := a.(ktesting.CreateAction).GetObject().(*corev1.Pod)
		pod.Name, pod.UID = pod.GenerateName+"pod", types.UID("pod-uid")
		return false, nil, nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := &controller{client: client, name: name,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())}
	ended := make(chan error, 1)
	go func() { ended <- c.run(ctx, 2) }()

	for {
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Status.Phase == "" {
				pod.Status.Phase = corev1.PodSucceeded
				if _, err := client.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		now, err := client.BatchV1().Jobs("default").Get(ctx, "job", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if jobstatus.OutcomeOf(now).Phase == jobstatus.Complete {
			if len(pods.Items) != 1 || now.Status.Succeeded != 1 {
				t.Errorf("got %d pods and succeeded %d, want 1 and 1", len(pods.Items), now.Status.Succeeded)
			}
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the Job does not end: %+v", now.Status)
		case <-time.After(20 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}

// moving is a cache of pods in which a deletion is observed just after the pods of a
// Job have been listed.
type moving struct {
	cache.Indexer
	deleted func()
}

func (m *moving) ByIndex(index, value string) ([]any, error) {
	found, err := m.Indexer.ByIndex(index, value)
	if m.deleted != nil && len(found) > 0 {
		m.deleted()
	}
	return found, err
}

// A pod that was counted and deleted is not counted again when its deletion is
// observed in the middle of a look that still lists it.
func TestDeletionObservedDuringALook(t *testing.T) {
	two, one := int32(2), int32(1)
	manager := "example.com/jobs"
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job", UID: "job-uid"}}
	job.Spec.ManagedBy, job.Spec.Completions, job.Spec.Parallelism = &manager, &two, &one
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job = validation.PrepareCreate(job)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "job-1", UID: "pod-1", Labels: job.Spec.Template.Labels,
		Finalizers:      []string{batchv1.JobTrackingFinalizer},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}}
	pod.Status.Phase = corev1.PodSucceeded

	client := fake.NewClientset(job, pod)
	pods := &moving{Indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"job": jobOfPod})}
	c := &controller{
		client: client, name: manager, pods: pods, jobs: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	defer c.queue.ShutDown()
	if err := pods.Add(pod); err != nil {
		t.Fatal(err)
	}
	succeeded := func() int32 {
		t.Helper()
		now, err := client.BatchV1().Jobs("default").Get(t.Context(), "job", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.jobs.Add(now); err != nil {
			t.Fatal(err)
		}
		return now.Status.Succeeded
	}
	for look, want := range []int32{0, 1, 1} {
		if got := succeeded(); got != want {
			t.Fatalf("before look %d: %d succeeded, want %d", look, got, want)
		}
		if _, err := c.look(t.Context(), "default/job"); err != nil {
			t.Fatalf("look %d: %v", look, err)
		}
		pods.deleted = func() {
			if err := pods.Delete(pod); err != nil {
				t.Error(err)
			}
			c.podChanged(pod, true)
		}
	}
	if got := succeeded(); got != 1 {
		t.Errorf("%d succeeded, want 1: the pod was counted again", got)
	}
}

// A kind of one's own gets pods, and a Job that failed by a rule another try.
func TestPieces(t *testing.T) {
	suite := &Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "suite", UID: "suite-uid"}}
	suite.APIVersion, suite.Kind = "example.com/v1", "Suite"
	suite.Spec.Job.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	d, err := decide(suite, nil, &inflight.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Create) != 1 || d.Create[0].Pod().OwnerReferences[0].Kind != "Suite" {
		t.Errorf("got %v to create, want a pod of the Suite", d.Create)
	}
	job := &batchv1.Job{Status: batchv1.JobStatus{Active: 1, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "PodFailurePolicy_NodeTrouble"},
	}}}
	if !retry(job) || freed(job, 3) != 2 {
		t.Errorf("got retry %t and freed %d, want true and 2", retry(job), freed(job, 3))
	}
}
