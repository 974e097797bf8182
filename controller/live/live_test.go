package live_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/jobfate/jobfate/controller/live"
	"github.com/jobfate/jobfate/controller/live/kubelet"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// world is an in-process API server in virtual time, and a client of it.
type world struct {
	*testing.T
	*kube.Server
	client kubernetes.Interface
}

func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := kube.New(kube.Options{})
		test(t, &world{t, s, Must(kubernetes.NewForConfig(s.Config()))})
	})
}

func (w *world) start(options ...live.Option) *live.Cluster {
	w.Helper()
	return live.Start(w.T, w.Config(), options...)
}

func (w *world) create(name string, change func(*batchv1.JobSpec)) *batchv1.Job {
	w.Helper()
	job := PlainJob(name)
	if change != nil {
		change(&job.Spec)
	}
	return Must(w.client.BatchV1().Jobs("default").Create(w.Context(), job, metav1.CreateOptions{}))
}

func (w *world) pods() []*corev1.Pod { return kube.List[*corev1.Pod](w.Server, "default") }

func notRunning(pod *corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning }

func indexed(n int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		s.CompletionMode, s.Completions, s.Parallelism = new(batchv1.IndexedCompletion), &n, &n
	}
}

func (w *world) wantOutcome(job *batchv1.Job, want string) {
	w.Helper()
	o := jobstatus.OutcomeOf(job)
	got := fmt.Sprintf("%s/%s, %d succeeded, %d failed", o.Phase, o.Reason, job.Status.Succeeded, job.Status.Failed)
	Same(w, job.Name, got, want)
}

// A Job fails after its retries, with the backoff delays of Kubernetes.
func TestFailsAfterBackoff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.start(live.Pods(live.Fail(1)))
		start := time.Now()
		w.create("job", func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(2)) })
		w.wantOutcome(c.Ended("default", "job", time.Hour), "Failed/BackoffLimitExceeded, 0 succeeded, 3 failed")
		if took := time.Since(start); took < 30*time.Second || took > 40*time.Second {
			t.Errorf("it took %v, want little more than the backoff delays of 10 s and 20 s", took)
		}
	})
}

// After the number of pods in Times, a rule for one index no longer applies, and the next
// rule decides.
func TestRule_Times(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.start(live.Pods(live.Fail(137).ForIndex(3).Times(2), live.Succeed().After(2*time.Second)))
		w.create("job", indexed(5))
		w.create("other", indexed(5))
		for _, name := range []string{"job", "other"} {
			w.wantOutcome(c.Ended("default", name, time.Hour), "Complete/CompletionsReached, 5 succeeded, 2 failed")
		}
	})
}

// Pods run until the test ends them, and the pods of a suspended Job are deleted.
func TestStepByStep(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.start(live.Pods(live.Run()))
		w.create("job", indexed(2))
		time.Sleep(5 * time.Second)
		pods := w.pods()
		if len(pods) != 2 || slices.ContainsFunc(pods, notRunning) {
			t.Fatalf("there are %d pods, want 2 running pods", len(pods))
		}
		suspend := func(text string) {
			Must(w.client.BatchV1().Jobs("default").Patch(t.Context(), "job", "application/merge-patch+json", []byte(text), metav1.PatchOptions{}))
		}
		suspend(`{"spec": {"suspend": true}}`)
		time.Sleep(5 * time.Second)
		if left := w.pods(); len(left) > 0 {
			t.Fatalf("the suspended Job has the pods %v", left)
		}
		suspend(`{"spec": {"suspend": false}}`)
		time.Sleep(5 * time.Second)
		c.Become(kubelet.Succeed(), w.pods()...)
		w.wantOutcome(c.Ended("default", "job", time.Minute), "Complete/CompletionsReached, 2 succeeded, 0 failed")
	})
}

// The options Namespace, ManagedBy and BatchPeriod have their effects.
func TestOptions(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.start(live.Namespace("default"), live.ManagedBy("example.com/jobs"), live.BatchPeriod(time.Minute))
		w.create("plain", nil)
		start := time.Now()
		w.create("managed", func(s *batchv1.JobSpec) { s.ManagedBy = new("example.com/jobs") })
		w.wantOutcome(c.Ended("default", "managed", time.Hour), "Complete/CompletionsReached, 1 succeeded, 0 failed")
		if took := time.Since(start); took < time.Minute {
			t.Errorf("the Job has ended after %v, want the batch period", took)
		}
		if plain, _ := kube.Get[*batchv1.Job](w.Server, "default", "plain"); plain.Status.StartTime != nil {
			t.Errorf("the Job without a manager has started: %+v", plain.Status)
		}
	})
}

// Without a Job controller, pods still run and garbage is still collected.
func TestPodsOnly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start(live.PodsOnly(), live.Pods(live.Run()))
		job := w.create("job", nil)
		for name, owners := range map[string][]metav1.OwnerReference{
			"owned": {*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}, "bare": nil,
		} {
			Must(w.client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}, Spec: job.Spec.Template.Spec,
			}, metav1.CreateOptions{}))
		}
		time.Sleep(time.Minute)
		if job, _ := kube.Get[*batchv1.Job](w.Server, "default", "job"); job.Status.StartTime != nil || len(w.pods()) != 2 || slices.ContainsFunc(w.pods(), notRunning) {
			t.Errorf("got the status %+v and %d pods, want no status, and both pods running", job.Status, len(w.pods()))
		}
		NoError(t, w.client.BatchV1().Jobs("default").Delete(t.Context(), "job", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
		time.Sleep(time.Minute)
		if left := w.pods(); len(left) != 1 || left[0].Name != "bare" {
			t.Errorf("%d pods are left, want the one without an owner", len(left))
		}
	})
}

// failing is a testing.TB whose failure does not fail the real test.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// Ended fails the test if the Job does not end in time, and describes the Job and its pods.
func TestEndedTimesOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		failure := &failing{TB: t}
		c := live.Start(failure, w.Config(), live.Pods(live.Run()))
		w.create("job", nil)
		done := make(chan struct{})
		go func() { // because Fatalf ends the goroutine
			defer close(done)
			c.Ended("default", "job", time.Minute)
		}()
		<-done
		for _, part := range []string{"the Job default/job has not ended after 1m0s", "active 1, succeeded 0, failed 0", ": Running"} {
			if !strings.Contains(failure.text, part) {
				t.Errorf("got %q, want %q in it", failure.text, part)
			}
		}
	})
}
