// Package adopting runs the controllers of docs/adopting.md under faults, on an in-process API
// server.
package adopting

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/kube"
)

const manager = "example.com/jobs"

// client-go limits the rate of errors by the time since the last one. It sets that time when the
// process starts, 26 years ahead of the time in a synctest bubble, so the first error would block.
func init() { utilruntime.ErrorHandlers = nil }

func newJob() *batchv1.Job {
	job := PlainJob("train")
	job.Spec.Completions, job.Spec.Parallelism, job.Spec.CompletionMode = new(int32(5)), new(int32(2)), new(batchv1.IndexedCompletion)
	job.Spec.ManagedBy, job.Spec.BackoffLimitPerIndex = new(manager), new(int32(3))
	return job
}

// serve returns an API server that has a Job, and a client of it.
func serve(t *testing.T, seed uint64, job *batchv1.Job) (*kube.Server, kubernetes.Interface) {
	t.Helper()
	s := kube.New(kube.Options{Seed: seed})
	users := Must(kubernetes.NewForConfig(s.Config()))
	Must(users.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}))
	return s, users
}

// faulty rejects some requests, and loses the answers of others.
func faulty(dice *rand.Rand) func(*kube.Request) kube.Verdict {
	broken := errors.New("the connection broke")
	return func(r *kube.Request) kube.Verdict {
		writes := r.Verb == "create" || r.Verb == "patch" || r.Verb == "delete"
		switch n := dice.IntN(100); {
		case !writes && n < 92, n < 80:
			return kube.Verdict{}
		case n < 85:
			return kube.Verdict{Err: apierrors.NewInternalError(errors.New("something broke"))}
		case n < 90 && writes:
			return kube.Verdict{Err: apierrors.NewConflict(corev1.Resource("pods"), r.Name, errors.New("it has changed"))}
		case n < 95 || !writes:
			return kube.Verdict{Err: broken}
		}
		return kube.Verdict{Err: broken, Lost: true}
	}
}

// runUnderFaults lets a controller run a Job whose pods sometimes fail, while requests fail and
// the controller is restarted. It checks that no index ever has two running pods, that each pod is
// counted once, and that in the end no pod keeps the finalizer.
func runUnderFaults(t *testing.T, seed uint64, run start) {
	synctest.Test(t, func(t *testing.T) {
		dice := rand.New(rand.NewPCG(seed, 0))
		s, _ := serve(t, seed, newJob())
		failed := 0
		s.Intercept(faulty(dice))
		stop := begin(s, run)
		defer func() { stop() }()
		kubelet, gc := kube.Kubelet{Server: s}, kube.Collector{Server: s}
		for round := range 600 {
			time.Sleep(time.Duration(200+dice.IntN(1500)) * time.Millisecond)
			synctest.Wait()
			checkIndexes(t, s, round)
			for _, pod := range kube.List[*corev1.Pod](s, "default") {
				switch {
				case pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil && dice.IntN(2) == 0:
					kubelet.Start("default", pod.Name)
				case pod.Status.Phase == corev1.PodRunning && dice.IntN(3) == 0:
					code := int32(0)
					if dice.IntN(5) == 0 && failed < 2 {
						failed++
						code = 1
					}
					kubelet.End("default", pod.Name, code)
				}
			}
			gc.Run()
			if dice.IntN(40) == 0 {
				stop()
				stop = begin(s, run)
			}
			if round == 200 {
				s.Intercept(nil) // the faults stop
			}
			job, ok := kube.Get[*batchv1.Job](s, "default", "train")
			if ok && jobstatus.OutcomeOf(job).Terminal() && round > 200 {
				st := job.Status
				Same(t, "succeeded, completed, failed", fmt.Sprint(st.Succeeded, st.CompletedIndexes, st.Failed),
					fmt.Sprint(5, "0-4", failed))
				checkFinalizers(t, s, 5+failed)
				return
			}
		}
		job, _ := kube.Get[*batchv1.Job](s, "default", "train")
		t.Fatalf("the Job has not ended: %+v", job.Status)
	})
}

// A user deletes a Job without its pods. They lose their owner while the cache still shows the Job,
// and do not change again. Each still loses the finalizer.
func TestOrphans(t *testing.T) {
	for name, run := range starts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, users := serve(t, 0, newJob())
				defer begin(s, run)()
				time.Sleep(time.Minute)
				s.Intercept(func(r *kube.Request) (v kube.Verdict) {
					if r.Verb == "patch" {
						v.Err = apierrors.NewInternalError(errors.New("something broke"))
					}
					return v
				})
				err := users.BatchV1().Jobs("default").Delete(t.Context(), "train",
					metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
				for gc := (kube.Collector{Server: s}); gc.Step(); {
					synctest.Wait()
				}
				s.Intercept(nil)
				time.Sleep(time.Minute)
				_, exists := kube.Get[*batchv1.Job](s, "default", "train")
				if err != nil || exists {
					t.Fatalf("the Job exists: %v, error %v", exists, err)
				}
				checkFinalizers(t, s, 2)
			})
		})
	}
}

// checkIndexes fails the test if an index has two pods that have not ended.
func checkIndexes(t *testing.T, s *kube.Server, round int) {
	t.Helper()
	alive := map[string]string{}
	for _, pod := range kube.List[*corev1.Pod](s, "default") {
		index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
		if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		if other := alive[index]; other != "" {
			t.Fatalf("round %d: %s and %s both run index %s", round, other, pod.Name, index)
		}
		alive[index] = pod.Name
	}
}

// checkFinalizers fails the test if there are not as many pods, or one has a finalizer.
func checkFinalizers(t *testing.T, s *kube.Server, pods int) {
	t.Helper()
	all := kube.List[*corev1.Pod](s, "default")
	Same(t, "pods", len(all), pods)
	for _, pod := range all {
		for _, f := range pod.Finalizers {
			t.Errorf("pod %s keeps the finalizer %s", pod.Name, f)
		}
	}
}
