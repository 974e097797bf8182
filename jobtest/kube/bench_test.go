package kube_test

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/jobfate/jobfate/jobtest/kube"
)

func newPod(job *batchv1.Job) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: job.Name + "-", Labels: job.Spec.Template.Labels, Finalizers: []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Spec: job.Spec.Template.Spec,
	}
}

// BenchmarkRequests measures requests of a clientset, from the call to the decoded
// answer.
func BenchmarkRequests(b *testing.B) {
	for _, contentType := range []string{"json", "protobuf"} {
		benchmarks := []struct {
			name string
			run  func(client kubernetes.Interface, job *batchv1.Job, i int) error
		}{
			{"get", func(client kubernetes.Interface, job *batchv1.Job, _ int) error {
				_, err := client.BatchV1().Jobs("default").Get(context.Background(), job.Name, metav1.GetOptions{})
				return err
			}},
			{"list-10", func(client kubernetes.Interface, _ *batchv1.Job, _ int) error {
				pods, err := client.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{LabelSelector: "job-name=a"})
				if err == nil && len(pods.Items) != 10 {
					err = fmt.Errorf("%d pods", len(pods.Items))
				}
				return err
			}},
			{"merge-patch-status", func(client kubernetes.Interface, job *batchv1.Job, i int) error {
				patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"active":%d}}`, job.UID, i%2)
				_, err := client.BatchV1().Jobs("default").Patch(context.Background(), job.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
				return err
			}},
			{"strategic-patch-pod", func(client kubernetes.Interface, _ *batchv1.Job, i int) error {
				patch := fmt.Appendf(nil, `{"metadata":{"labels":{"x":"%d"}}}`, i)
				_, err := client.CoreV1().Pods("default").Patch(context.Background(), "p", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
				return err
			}},
			{"update-status", func(client kubernetes.Interface, job *batchv1.Job, i int) error {
				next := *job
				next.ResourceVersion = ""
				next.Status.Active = int32(i % 2)
				_, err := client.BatchV1().Jobs("default").UpdateStatus(context.Background(), &next, metav1.UpdateOptions{})
				return err
			}},
			{"create-delete", func(client kubernetes.Interface, job *batchv1.Job, _ int) error {
				pod, err := client.CoreV1().Pods("default").Create(context.Background(), newPod(job), metav1.CreateOptions{})
				if err != nil {
					return err
				}
				return client.CoreV1().Pods("default").Delete(context.Background(), pod.Name, metav1.DeleteOptions{})
			}},
		}
		for _, bench := range benchmarks {
			b.Run(contentType+"/"+bench.name, func(b *testing.B) {
				s := kube.New(kube.Options{})
				config := s.Config()
				config.ContentType = "application/" + map[string]string{"json": "json", "protobuf": "vnd.kubernetes.protobuf"}[contentType]
				client := kubernetes.NewForConfigOrDie(config)
				job, err := client.BatchV1().Jobs("default").Create(context.Background(), newJob("a"), metav1.CreateOptions{})
				must(b, err)
				for i := range 10 {
					pod := newPod(job)
					if pod.GenerateName = ""; i == 0 {
						pod.Name = "p"
					} else {
						pod.Name = fmt.Sprint("p", i)
					}
					if _, err := client.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				for i := range b.N {
					if err := bench.run(client, job, i); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			})
		}
	}
}

// BenchmarkReconcile measures complete lives of a Job with 3 pods. It calls the Reconciler
// directly, with a cache that lags.
func BenchmarkReconcile(b *testing.B) {
	jobs, pods := batchv1.SchemeGroupVersion.WithKind("Job"), corev1.SchemeGroupVersion.WithKind("Pod")
	steps := 0
	for range b.N {
		s := kube.New(kube.Options{})
		cache := s.NewCache(scheme.Scheme)
		client, err := s.Client("bench", scheme.Scheme, cache)
		must(b, err)
		job := newJob("a")
		job.Spec.Completions = new(int32(3))
		must(b, client.Create(context.Background(), job))
		r := &jobReconciler{client}
		kubelet := kube.Kubelet{Server: s}
		for {
			steps++
			_, jobMoved := cache.Step(jobs)
			_, podMoved := cache.Step(pods)
			if _, err := r.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "a"}}); err != nil {
				continue // a conflict
			}
			if !jobMoved && !podMoved && !kubelet.Step(func(*corev1.Pod) (int32, bool) { return 0, true }) {
				break
			}
		}
		if stored, _ := kube.Get[*batchv1.Job](s, "default", "a"); stored.Status.Succeeded != 3 {
			b.Fatalf("succeeded = %d, want 3", stored.Status.Succeeded)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(steps), "µs/step")
}
