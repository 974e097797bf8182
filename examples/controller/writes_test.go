package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate"
)

var (
	pods       = schema.GroupResource{Resource: "pods"}
	errTimeout = apierrors.NewTimeoutError("too slow", 1)
	errQuota   = apierrors.NewForbidden(pods, "pod", errors.New("the quota is used up"))
)

func TestLost(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{apierrors.NewConflict(pods, "pod", nil), false},
		{apierrors.NewNotFound(pods, "pod"), false},
		{apierrors.NewInvalid(schema.GroupKind{}, "pod", nil), false},
		{apierrors.NewTooManyRequests("later", 1), false},
		{errQuota, false},
		{fmt.Errorf("wrapped: %w", errQuota), false},
		{fmt.Errorf("not sent: %w", syscall.ECONNREFUSED), false},
		{errTimeout, true},
		{apierrors.NewInternalError(errors.New("no")), true},
		{apierrors.NewServiceUnavailable("not now"), true},
		{&apierrors.StatusError{}, true},
		{io.ErrUnexpectedEOF, true},
		{syscall.ECONNRESET, true},
		{context.DeadlineExceeded, true},
		{context.Canceled, false}, // the writes that have begun are never cancelled
	} {
		if got := lost(tc.err); got != tc.want {
			t.Errorf("lost(%v) = %t, want %t", tc.err, got, tc.want)
		}
	}
}

// "in growing batches: 1, 2, 4 and so on, and no further once one has failed"
func TestSlowly(t *testing.T) {
	never := 1 << 20
	for _, tc := range []struct{ n, fails, want int }{
		{0, never, 0}, {1, never, 1}, {500, never, 500},
		{500, 0, 1}, {500, 1, 3}, {500, 2, 3}, {500, 3, 7}, {500, 6, 7}, {500, 30, 31}, {5, 4, 5},
		{500, 400, 447}, // 127 in growing batches, then 64 at once
	} {
		errs := slowly(tc.n, func(i int) error {
			if i >= tc.fails {
				return errQuota
			}
			return nil
		})
		if len(errs) != tc.want {
			t.Errorf("of %d, the first to fail being %d: tried %d, want %d", tc.n, tc.fails, len(errs), tc.want)
		}
		for i, err := range errs {
			if (err != nil) != (i >= tc.fails) {
				t.Errorf("%d: got %v", i, err)
			}
		}
	}
}

func TestTogether(t *testing.T) {
	var now, most, all atomic.Int32
	together(100, func(int) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		all.Add(1)
		now.Add(-1)
	})
	if all.Load() != 100 || most.Load() > atATime {
		t.Errorf("did %d, %d at the same time, want 100, at most %d", all.Load(), most.Load(), atATime)
	}
}

func creations(n int) []jobfate.Creation {
	d, err := jobfate.Decide(jobfate.Snapshot{Now: noon, Job: newJob(func(job *batchv1.Job) {
		pods := int32(n)
		job.Spec.Completions, job.Spec.Parallelism = &pods, &pods
	})}, jobfate.ManagedBy(manager))
	if err != nil {
		panic(err)
	}
	return d.Create
}

// A creation whose answer is lost is sent again under the same name: there is
// never a second pod, and what became of the first is known.
func TestCreateAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		times      int
		carriedOut bool
		then       error // what later tries meet
		inFlight   int
		known      bool // the UID of the pod
		pods       int
	}{
		"at once":                             {inFlight: 1, known: true, pods: 1},
		"lost and not carried out":            {times: 1, inFlight: 1, known: true, pods: 1},
		"lost and carried out":                {times: 1, carriedOut: true, inFlight: 1, known: true, pods: 1},
		"never answered":                      {times: creationTries, inFlight: 1},
		"lost, and then the quota is used up": {times: 1, carriedOut: true, then: errQuota, inFlight: 1, pods: 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if tc.then != nil {
				b.fail("create", "pods", creationTries, false, tc.then)
			}
			b.fail("create", "pods", tc.times, tc.carriedOut, errTimeout)
			m := &memory{}
			done, err := b.createPods(t.Context(), newJob(), creations(1), m)
			if len(m.created) != tc.inFlight {
				t.Fatalf("in flight: got %d, want %d", len(m.created), tc.inFlight)
			}
			wait := doubt
			if tc.known {
				wait = miss
			}
			if (err == nil) != tc.known || (done.NotCreated == 0) != tc.known || m.nextAsk(noon) != wait {
				t.Errorf("got %+v, %v, asking in %v; the pod is known: want %t", done, err, m.nextAsk(noon), tc.known)
			}
			list, err := b.server.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != tc.pods {
				t.Errorf("pods: got %d, %v, want %d", len(list.Items), err, tc.pods)
			}
		})
	}
}

// Nothing is in flight of a creation that was refused, and of the others only
// what was tried.
func TestCreateRefused(t *testing.T) {
	b := newBench(t)
	b.fail("create", "pods", 1, false, errQuota)
	m := &memory{}
	done, err := b.createPods(t.Context(), newJob(), creations(5), m)
	if !apierrors.IsForbidden(err) || done.NotCreated != 5 || done.Untried != 4 || len(m.created) != 0 {
		t.Errorf("got %+v, %v, %d in flight, want none of 5 created, 4 of them untried", done, err, len(m.created))
	}
	wantList(t, "events", b.told(), []string{`Warning FailedCreate Error creating: pods "pod" is forbidden: the quota is used up`})
}

// A name that happens to be taken is not taken for the pod.
func TestCreateMeetsAnotherPod(t *testing.T) {
	b := newBench(t)
	b.fail("create", "pods", 1, true, errTimeout)
	other := newJob(func(job *batchv1.Job) { job.UID = "other" })
	if _, err := b.createPod(t.Context(), other, creations(1)[0].Pod()); err == nil || lost(err) {
		t.Errorf("got %v, want that the name is taken", err)
	}
}

func TestPodName(t *testing.T) {
	long := "a-name-of-a-job-that-is-far-too-long-for-the-name-of-a-pod-in-any-cluster-"
	for _, prefix := range []string{"job-", long} {
		got := podName(prefix)
		if len(got) > 63 || got[:len(got)-5] != prefix[:len(got)-5] || got == podName(prefix) {
			t.Errorf("podName(%q) = %q", prefix, got)
		}
	}
}

// "A pod that is gone already counts as deleted."
func TestDelete(t *testing.T) {
	job := newJob()
	there, gone, stays := newPod(job, "there", "5"), newPod(job, "gone", "5"), newPod(job, "stays", "5")
	b := newBench(t, there)
	m := &memory{}
	left, err := b.deletePods(t.Context(), job, []jobfate.Deletion{{Pod: there, StripFirst: true}, {Pod: gone}}, m)
	if err != nil || len(left) != 0 || len(m.deleted) != 2 || len(m.stripped) != 1 {
		t.Errorf("got %v left, %v, %d deleted, %d stripped, want none left, 2 and 1", left, err, len(m.deleted), len(m.stripped))
	}
	b.fail("delete", "pods", 1, false, errQuota)
	if left, err = b.deletePods(t.Context(), job, []jobfate.Deletion{{Pod: stays}}, m); err == nil || len(left) != 1 || left[0] != stays.UID {
		t.Errorf("got %v left, %v, want the pod that stays, and an error", left, err)
	}
}

// "Before the first adoption, make sure with a live read that the Job still
// exists and is not being deleted."
func TestAdoptOnlyForAJobThatIsThere(t *testing.T) {
	now := metav1.NewTime(noon)
	for name, onServer := range map[string]*batchv1.Job{
		"gone":          newJob(func(job *batchv1.Job) { job.Name = "another" }),
		"made again":    newJob(func(job *batchv1.Job) { job.UID = "another" }),
		"being deleted": newJob(func(job *batchv1.Job) { job.DeletionTimestamp = &now }),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, onServer)
			b.show(t, newJob(), newPod(newJob(), "alone", "5", orphaned, stripped))
			if _, err := b.turn(t.Context(), nameOf(newJob())); !errors.Is(err, errLeaving) {
				t.Errorf("got %v, want %v", err, errLeaving)
			}
			wantList(t, "writes", b.writes(), nil)
		})
	}
}

// A pod is adopted in the turn in which it is counted as active, and one that the
// selector no longer matches is released.
func TestClaim(t *testing.T) {
	job := newJob()
	alone := newPod(job, "alone", "5", orphaned, stripped)
	leaves := newPod(job, "leaves", "5", func(pod *corev1.Pod) { pod.Labels = nil })
	b := newBench(t, job, alone, leaves)
	b.show(t, job, alone, leaves)
	if _, err := b.turn(t.Context(), nameOf(job)); err != nil {
		t.Fatal(err)
	}
	wantList(t, "writes", b.writes(), []string{"patch pods", "patch pods", "patch jobs/status"})
	for name, owned := range map[string]bool{"alone": true, "leaves": false} {
		pod, err := b.server.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || metav1.IsControlledBy(pod, job) != owned || (len(pod.Finalizers) > 0) != owned {
			t.Errorf("pod %s: owners %v, finalizers %v, %v, want it owned and tracked: %t", name, pod.OwnerReferences, pod.Finalizers, err, owned)
		}
	}
}

// Whether a status was stored is in doubt when its answer was lost; a refusal
// changes nothing.
func TestStoreStatusInDoubt(t *testing.T) {
	for _, tc := range []struct {
		err  error
		sure bool
	}{{nil, true}, {apierrors.NewConflict(pods, "job", nil), true}, {errTimeout, false}} {
		b := newBench(t, newJob())
		if tc.err != nil {
			b.fail("patch", "jobs", 1, false, tc.err)
		}
		m := &memory{sure: true}
		if _, err := b.storeStatus(t.Context(), newJob(), []byte(`{"status":{"active":1}}`), m); (err == nil) != (tc.err == nil) {
			t.Errorf("got %v, want %v", err, tc.err)
		}
		if m.sure != tc.sure {
			t.Errorf("after %v the memory is sure: got %t, want %t", tc.err, m.sure, tc.sure)
		}
	}
}

// A write that has begun is finished when the controller is to stop, and no other
// begins.
func TestStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	b := newBench(t)
	err := b.write(ctx, func(ctx context.Context) error {
		stop()
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > writeTimeout {
			t.Errorf("the write has until %v, want a deadline", deadline)
		}
		return ctx.Err()
	})
	if err != nil {
		t.Errorf("the write that had begun: %v", err)
	}
	if err := b.write(ctx, func(context.Context) error { t.Error("another write began"); return nil }); err == nil {
		t.Error("the next write: want an error")
	}
	if done, err := b.createPods(ctx, newJob(), creations(3), &memory{}); err == nil || done.NotCreated != 3 {
		t.Errorf("got %+v, %v, want nothing created", done, err)
	}
	wantList(t, "events", b.told(), nil)
}

func TestStripKeepsWhatFailed(t *testing.T) {
	job := newJob()
	there, gone, stays := newPod(job, "there", "5"), newPod(job, "gone", "5"), newPod(job, "stays", "5")
	b := newBench(t, there)
	m := &memory{}
	if got, err := b.strip(t.Context(), []*corev1.Pod{there, gone}, m); err != nil || len(got) != 2 || len(m.stripped) != 2 {
		t.Errorf("got %d stripped, %v, want 2", len(got), err)
	}
	b.fail("patch", "pods", 1, false, errTimeout)
	if got, err := b.strip(t.Context(), []*corev1.Pod{stays}, m); err == nil || slices.Contains(got, stays) {
		t.Errorf("got %d stripped, %v, want none and an error", len(got), err)
	}
}

// Of very many pods only as many are told of as client-go would send.
func TestFewEvents(t *testing.T) {
	b := newBench(t)
	done, err := b.createPods(t.Context(), newJob(), creations(eventsPerTurn+10), &memory{})
	if err != nil || done.NotCreated != 0 {
		t.Fatalf("got %+v, %v, want all created", done, err)
	}
	if got := len(b.told()); got != eventsPerTurn {
		t.Errorf("got %d events, want %d", got, eventsPerTurn)
	}
}
