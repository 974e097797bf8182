package real_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// busy returns a Job of 50 indexes whose pods are deleted, succeed and fail.
func busy(t testing.TB) real.Input {
	job := newJob(t, size(10, 50), indexed, perIndex(3))
	var pods []*corev1.Pod
	for i := range 50 {
		phase := []corev1.PodPhase{corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded}[i%3]
		pods = append(pods, newPod(job, fmt.Sprint("pod-", i), phase, index(i), failures(i%2), exit(int32(i%3%2), i)))
	}
	return real.Input{Job: job, Pods: pods, Now: at(100)}
}

// The output does not depend on the order of the controller's goroutines.
func TestSyncIsDeterministic(t *testing.T) {
	create := real.Input{Job: newJob(t, size(100, 200), indexed), Now: at(0)}
	create.Fail.Create = map[int]error{40: real.ErrInternal, 41: real.ErrConflict, 60: real.ErrNamespaceTerminating}
	remove := busy(t)
	remove.Fail = real.Faults{
		StripToDelete: map[string]error{"pod-6": real.ErrInternal, "pod-9": real.ErrNotFound},
		Delete:        map[string]error{"pod-3": real.ErrConflict, "pod-12": real.ErrInternal, "pod-15": real.ErrNotFound},
		Strip:         map[string]error{"pod-2": real.ErrInternal, "pod-5": real.ErrConflict, "pod-8": real.ErrNotFound},
	}
	for name, in := range map[string]real.Input{"create": create, "delete": remove} {
		want := real.Sync(in)
		if len(want.Calls) < 25 || want.Err == nil {
			t.Fatalf("%s: %d calls, error %v; too little to show an order", name, len(want.Calls), want.Err)
		}
		for range 30 {
			if diff := cmp.Diff(want, real.Sync(in), cmp.Comparer(bothFail)); diff != "" {
				t.Fatalf("%s: the same input, another output (-first +second):\n%s", name, diff)
			}
		}
	}
}

// bothFail does not compare the errors: the controller returns any error of a batch.
func bothFail(a, b error) bool { return (a == nil) == (b == nil) }

func TestSyncDoesNotChangeItsInput(t *testing.T) {
	in := busy(t)
	before, job := Each(in.Pods, (*corev1.Pod).DeepCopy), in.Job.DeepCopy()
	mustSync(t, in)
	Same(t, "the pods", in.Pods, before)
	Same(t, "the Job", in.Job, job)
}

// The controller remembers the pods that it creates and deletes.
func TestMemory(t *testing.T) {
	job := newJob(t, size(1, 3))
	surplus := []*corev1.Pod{newPod(job, "a", corev1.PodRunning), newPod(job, "b", corev1.PodPending)}
	for _, test := range []struct {
		pods                 []*corev1.Pod
		creations, deletions int
	}{{nil, 1, 0}, {surplus, 0, 1}} {
		m := mustSync(t, real.Input{Job: job, Pods: test.pods, Now: at(0)}).Memory
		if m.Creations != test.creations || m.Deletions != test.deletions {
			t.Errorf("%d pods: got %d creations, %d deletions, want %d, %d",
				len(test.pods), m.Creations, m.Deletions, test.creations, test.deletions)
		}
	}
}

// A status that the harness rejects gets the error of the API server.
func TestValidateRefusesLikeTheServer(t *testing.T) {
	job := newJob(t, size(1, 2))
	bad := job.DeepCopy()
	bad.Status.Active = -1
	errs := apiserver.AcceptStatus(job, bad)
	if len(errs) == 0 {
		t.Fatal("the server accepts a negative number of active pods")
	}
	// The controller keeps the negative count of the old status.
	bad.Status.Failed = -1
	out := real.Sync(real.Input{Job: bad, Live: job, Now: at(0), Validate: true})
	if !apierrors.IsInvalid(out.Err) {
		t.Errorf("got error %v, want Invalid", out.Err)
	}
}

// The controller skips a sync while a cache is older than one of its writes, as with its default
// feature gates.
func TestStale(t *testing.T) {
	for _, test := range []struct {
		name          string
		wrote, cached real.Versions
		stale         bool
	}{
		{"no write", real.Versions{}, real.Versions{Jobs: "1", Pods: "1"}, false},
		{"the cache of pods is older", real.Versions{Pods: "10"}, real.Versions{Jobs: "20", Pods: "9"}, true},
		{"the cache of Jobs is older", real.Versions{Jobs: "10"}, real.Versions{Jobs: "9", Pods: "20"}, true},
		{"both are as new", real.Versions{Jobs: "10", Pods: "9"}, real.Versions{Jobs: "10", Pods: "9"}, false},
	} {
		in := real.Input{Job: newJob(t, size(1, 1)), Now: at(0), Cached: test.cached}
		in.Wrote = test.wrote
		out := real.Sync(in)
		if out.Stale != test.stale || (out.Err != nil) != test.stale || (len(out.Calls) == 0) != test.stale {
			t.Errorf("%s: stale %t, %d calls, error %v; want stale %t", test.name, out.Stale, len(out.Calls), out.Err, test.stale)
		}
	}
}

// A Stopwatch runs the same controller as Sync, and leaves no state behind.
func TestStopwatch(t *testing.T) {
	in := real.Input{Job: newJob(t, size(2, 8), indexed, perIndex(1)), Now: at(0)}
	began := time.Now()
	watch := real.NewStopwatch(in, func() time.Duration { return time.Since(began) })
	want := mustSync(t, in)
	for range 2 {
		took, err := watch.Sync()
		if err != nil || took <= 0 {
			t.Errorf("Sync = %v, %v, want some time", took, err)
		}
	}
	if diff := cmp.Diff(want, mustSync(t, in)); diff != "" {
		t.Errorf("afterwards Sync does something else (-before +after):\n%s", diff)
	}
}

var (
	newJob, size, indexed, perIndex = fixture.Job, fixture.Size, fixture.Indexed, fixture.PerIndex
	newPod, index, failures, exit   = fixture.Pod, fixture.Index, fixture.Failures, fixture.Exit
)

func at(seconds int) time.Time { return fixture.At(seconds).Time }

// mustSync fails the test if the sync fails.
func mustSync(t *testing.T, in real.Input) real.Output {
	t.Helper()
	out := real.Sync(in)
	if out.Err != nil || out.Panic != nil {
		t.Fatalf("sync: error %v, panic %v", out.Err, out.Panic)
	}
	return out
}

// lastStatus returns the last status that was stored.
func lastStatus(t *testing.T, out real.Output) *batchv1.JobStatus {
	t.Helper()
	statuses := out.Statuses()
	if len(statuses) == 0 {
		t.Fatalf("no status was stored; calls: %v", out.Calls)
	}
	return statuses[len(statuses)-1]
}
