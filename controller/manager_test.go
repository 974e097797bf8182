package controller

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// After a restart a controller lists one pod for the barrier. It makes no other live read, neither
// for existing Jobs nor for a new one.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		stop := c.start(t)
		for i := range 20 {
			c.create(t, fmt.Sprintf("job-%d", i))
		}
		time.Sleep(5 * time.Second)
		stop()
		Same(t, "pods", len(kube.List[*corev1.Pod](c.Server, "default")), 20)
		// The barrier is newer than the last change of a Job or a pod.
		Must(c.client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{}))
		clear(c.asked)
		c.first = ""
		stop = c.start(t)
		c.create(t, "new")
		c.work()
		stop()
		for _, job := range kube.List[*batchv1.Job](c.Server, "default") {
			if job.Status.Succeeded != 1 || job.Status.CompletionTime == nil {
				t.Errorf("Job %s: %+v, want it complete", job.Name, job.Status)
			}
		}
		if c.asked["list pods"] != 1 || c.asked["get jobs"]+c.asked["list jobs"]+c.asked["get pods"] > 0 {
			t.Errorf("requested %v, want one list of pods and no other read", c.asked)
		}
		Same(t, "the first request: the barrier is read before the caches are filled", c.first, "list pods 1")
		c.noErrors(t)
	})
}

// A Job that is deleted during its sync causes no error in the log.
func TestDeletedDuringASync(t *testing.T) {
	for _, resource := range []string{"pods", "jobs"} {
		for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
			t.Run(resource+" "+string(policy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t)
					stop := c.start(t)
					var deleted atomic.Bool
					c.beforeEach(func(r *kube.Request) {
						if r.Verb != "watch" && r.Resource.Resource == resource && deleted.CompareAndSwap(false, true) {
							if err := c.client.BatchV1().Jobs("default").Delete(t.Context(), "job", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
								t.Error(err)
							}
						}
					})
					c.create(t, "job")
					for range 5 {
						time.Sleep(5 * time.Second)
						kube.Collector{Server: c.Server}.Run()
					}
					stop()
					Same(t, "deleted", deleted.Load(), true)
					Same(t, "Jobs that are left", len(kube.List[*batchv1.Job](c.Server, "default")), 0)
					for _, pod := range kube.List[*corev1.Pod](c.Server, "default") {
						if policy != metav1.DeletePropagationOrphan || len(pod.Finalizers) > 0 {
							t.Errorf("pod %s is left, with finalizers %v", pod.Name, pod.Finalizers)
						}
					}
					c.noErrors(t)
				})
			})
		}
	}
}

// A new Job gets its pod while many orphans are still being freed.
func TestOrphansDoNotHoldUpJobs(t *testing.T) {
	const many = 300 // 15 seconds' worth of writes
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		for i := range many {
			pod := newPod(newJob(), fmt.Sprintf("left-%d", i), "")
			pod.Spec = MinimalPodSpec()
			Must(c.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}))
		}
		stop := c.start(t)
		time.Sleep(4 * time.Second)
		c.create(t, "new")
		time.Sleep(time.Second)
		freed, made := 0, false
		for _, pod := range kube.List[*corev1.Pod](c.Server, "default") {
			made = made || strings.HasPrefix(pod.Name, "new-")
			if strings.HasPrefix(pod.Name, "left-") && len(pod.Finalizers) == 0 {
				freed++
			}
		}
		if !made || freed == 0 || freed == many {
			t.Errorf("a second after its creation: the Job has a pod: %t; freed %d orphans; want true, and some", made, freed)
		}
		time.Sleep(20 * time.Second)
		for _, pod := range kube.List[*corev1.Pod](c.Server, "default") {
			if strings.HasPrefix(pod.Name, "left-") && len(pod.Finalizers) > 0 {
				t.Fatalf("pod %s is not freed", pod.Name)
			}
		}
		stop()
		c.noErrors(t)
	})
}

func answer(code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

// The controller retries until it has read the barrier. If it watches a single namespace, it reads
// the barrier there, and checks that it may list the Jobs. Without the permission to get the namespace, it assumes that
// it exists.
func TestBarrier_isRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		s := transport(func(r *http.Request) (*http.Response, error) {
			if tries++; tries < 3 {
				return nil, errCut
			}
			if r.URL.RequestURI() == "/api/v1/namespaces/here" {
				return answer(403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`), nil
			}
			want := "/api/v1/namespaces/here/pods?limit=1"
			if tries == 5 {
				want = "/apis/batch/v1/namespaces/here/jobs?limit=1"
			}
			Same(t, "request", r.URL.RequestURI(), want)
			return answer(200, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"}}`), nil
		}).sender(t)
		w := newWatcherOf(t, s.api(), "here")
		if err := w.open(t.Context(), w.namespaces[0]); err != nil || w.namespaces[0].barrier != "7" || tries != 5 {
			t.Errorf("got %v and barrier %q after %d requests, want 7 after 5", err, w.namespaces[0].barrier, tries)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		tries = 0
		Same(t, "without a barrier: an error", w.begin(stopped) != nil, true)
	})
}

func newWatcherOf(t *testing.T, client kubernetes.Interface, namespaces ...string) *watcher {
	t.Helper()
	o := Must(Options{Namespaces: namespaces}.complete())
	return Must(newWatcher(o, jobsOf(client)))
}

// The first list of an informer must be consistent.
func TestConsistent(t *testing.T) {
	for version, want := range map[string]string{"0": "", "": "", "5": "5"} {
		options := metav1.ListOptions{ResourceVersion: version}
		consistent(&options)
		Same(t, "version "+version, options.ResourceVersion, want)
	}
}

// A Job that starts 100 pods at once still gets the event that says why a failed pod is not
// replaced: the events of creations do not use up client-go's limit for the object.
func TestEventsOfAMissingPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var explained atomic.Int32 // client-go sends events in its own goroutine
		c.Intercept(func(r *kube.Request) kube.Verdict {
			// In virtual time, events of the same moment have the same name, and the server
			// stores only the first. So the test checks what is sent.
			if r.Resource.Resource == "events" && bytes.Contains(r.Body, []byte("BackingOff")) {
				explained.Add(1)
			}
			return kube.Verdict{}
		})
		stop := c.start(t)
		c.createWith(t, "default", batchv1.JobSpec{Parallelism: new(int32(100)), Completions: new(int32(100)), BackoffLimit: new(int32(6))}, "job")
		time.Sleep(10 * time.Second)
		pods := kube.List[*corev1.Pod](c.Server, "default")
		kubelet := kube.Kubelet{Server: c.Server}
		for _, pod := range pods {
			kubelet.Start("default", pod.Name)
			kubelet.End("default", pod.Name, 1)
			break
		}
		time.Sleep(5 * time.Second)
		stop()
		Same(t, "pods, and events that say why there are no more", []int32{int32(len(pods)), explained.Load()}, []int32{100, 1})
	})
}
