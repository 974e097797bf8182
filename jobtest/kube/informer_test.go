package kube_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/jobfate/jobfate/jobtest/kube"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newJob(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "busybox:1"}},
		}}},
	}
}

// podMaker is a typical client-go controller with informers, a queue and listers. It
// creates one pod for each Job, and counts its success.
type podMaker struct {
	client kubernetes.Interface
	queue  workqueue.TypedRateLimitingInterface[string]
	jobs   cache.Indexer
	pods   informers.SharedInformerFactory
}

func (c *podMaker) sync(ctx context.Context, key string) error {
	obj, exists, err := c.jobs.GetByKey(key)
	if err != nil || !exists {
		return err
	}
	job := obj.(*batchv1.Job)
	pods, err := c.pods.Core().V1().Pods().Lister().Pods(job.Namespace).List(labels.SelectorFromSet(labels.Set{"job": job.Name}))
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: job.Name, Labels: map[string]string{"job": job.Name}}, Spec: job.Spec.Template.Spec}
		_, err := c.client.CoreV1().Pods(job.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		return err
	}
	if pods[0].Status.Phase == corev1.PodSucceeded && job.Status.Succeeded == 0 {
		next := job.DeepCopy()
		next.Status.Succeeded = 1
		_, err := c.client.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
		return err
	}
	return nil
}

// run starts the informers and a worker, which stop with the context.
func (c *podMaker) run(ctx context.Context) {
	c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	c.pods = informers.NewSharedInformerFactory(c.client, time.Hour)
	enqueue := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			c.queue.Add(key)
		}
	}
	handlers := cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue}
	jobs := c.pods.Batch().V1().Jobs().Informer()
	jobs.AddEventHandler(handlers)
	c.pods.Core().V1().Pods().Informer().AddEventHandler(handlers) // a pod has the name of its Job
	c.jobs = jobs.GetIndexer()
	c.pods.Start(ctx.Done())
	c.pods.WaitForCacheSync(ctx.Done())
	go func() {
		for {
			key, stop := c.queue.Get()
			if stop {
				return
			}
			if err := c.sync(ctx, key); err != nil {
				c.queue.AddRateLimited(key)
			} else {
				c.queue.Forget(key)
			}
			c.queue.Done(key)
		}
	}()
}

func (c *podMaker) stop(cancel func()) {
	cancel()
	c.queue.ShutDown()
	c.pods.Shutdown()
}

func TestInformersAndWorkqueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kube.New(kube.Options{})
		config := s.Config()
		config.ContentType = "application/vnd.kubernetes.protobuf"
		client := kubernetes.NewForConfigOrDie(config)
		ctx, cancel := context.WithCancel(t.Context())
		c := &podMaker{client: client}
		c.run(ctx)
		defer c.stop(cancel)

		if _, err := client.BatchV1().Jobs("default").Create(ctx, newJob("a"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		// The first status update conflicts, and the controller tries again.
		synctest.Wait()
		pod, err := client.CoreV1().Pods("default").Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			t.Fatalf("the controller created no pod: %v", err)
		}
		refused := 0
		s.Intercept(func(r *kube.Request) kube.Verdict {
			if r.Verb == "update" && r.Subresource == "status" && refused == 0 {
				refused++
				return kube.Verdict{Err: apierrors.NewConflict(r.Resource.GroupResource(), r.Name, nil)}
			}
			return kube.Verdict{}
		})
		patch := []byte(`{"status":{"phase":"Succeeded"}}`)
		if _, err := client.CoreV1().Pods("default").Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(time.Second) // until the rate limiter retries
		synctest.Wait()
		job, err := client.BatchV1().Jobs("default").Get(ctx, "a", metav1.GetOptions{})
		must(t, err)
		if job.Status.Succeeded != 1 || refused != 1 {
			t.Errorf("succeeded = %d after %d rejected status updates, want 1 after 1", job.Status.Succeeded, refused)
		}
	})
}
