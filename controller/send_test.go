package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ktesting "k8s.io/client-go/testing"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/machine"
)

// many sets the parallelism and the completions of a Job.
func many(n int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Spec.Completions, job.Spec.Parallelism = &n, &n }
}

// Each verb is sent as the right request, and the client's answer is returned.
func TestSend(t *testing.T) {
	job := newJob()
	pod := newPod(job, "pod", "5")
	for _, tc := range []struct {
		r    machine.Request
		want string
	}{
		{machine.Request{Verb: machine.GetJob, Name: "job"}, "get jobs"},
		{machine.Request{Verb: machine.ListPods}, "list pods"},
		{machine.Request{Verb: machine.GetPod, Name: "pod"}, "get pods"},
		{machine.Request{Verb: machine.CreatePod, Pod: newPod(job, "new", "")}, "create pods"},
		{machine.Request{Verb: machine.PatchPod, Name: "pod", Patch: []byte(`{}`)}, "patch pods"},
		{machine.Request{Verb: machine.DeletePod, Name: "pod"}, "delete pods"},
		{machine.Request{Verb: machine.PatchStatus, Name: "job", Patch: []byte(`{"status":{"active":1}}`)}, "patch jobs/status"},
	} {
		b := newFixture(t, job, pod)
		tc.r.Namespace = "default"
		object, err := b.send(t.Context(), tc.r)
		if err != nil || (object == nil) != (tc.r.Verb == machine.DeletePod) {
			t.Errorf("%s: got %v, %v", tc.r.Verb, object, err)
		}
		a := b.server.Actions()[0]
		if got := strings.TrimSuffix(a.GetVerb()+" "+a.GetResource().Resource+"/"+a.GetSubresource(), "/"); got != tc.want || a.GetNamespace() != "default" {
			t.Errorf("%s: sent %q to namespace %q, want %q", tc.r.Verb, got, a.GetNamespace(), tc.want)
		}
		tc.r.Name = "another"
		if _, err := b.send(t.Context(), tc.r); tc.r.Pod == nil && tc.r.Verb != machine.ListPods && !apierrors.IsNotFound(err) {
			t.Errorf("%s of a missing object: got %v, want not found", tc.r.Verb, err)
		}
	}
	_, err := newFixture(t).send(t.Context(), machine.Request{Verb: 99})
	Same(t, "an unknown verb is an error", err != nil, true)
}

// script is a machine with given batches of requests.
type script struct {
	batches [][]machine.Request
	errs    []error
}

func (s *script) Next() (batch []machine.Request) {
	if len(s.batches) > 0 {
		batch, s.batches = s.batches[0], s.batches[1:]
	}
	return batch
}

func (s *script) Answer(_ machine.Request, _ runtime.Object, err error) error {
	s.errs = append(s.errs, err)
	return nil
}

func reads(n int) []machine.Request {
	return slices.Repeat([]machine.Request{{Verb: machine.GetPod, Name: "pod"}}, n)
}

// transport answers HTTP requests in place of an API server.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func (t transport) sender(tt *testing.T) sender {
	tt.Helper()
	config := &rest.Config{Host: "http://server", Transport: impatient{t}, QPS: -1}
	return sender{jobsOf(Must(kubernetes.NewForConfig(config)))}
}

var errCut = errors.New("the connection was cut")

// The requests of a batch are sent concurrently, up to a limit. The next batch is sent when all are
// answered.
func TestDrive_concurrentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, all atomic.Int32
		s := transport(func(*http.Request) (*http.Response, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			all.Add(1)
			now.Add(-1)
			return nil, errCut
		}).sender(t)
		m := &script{batches: [][]machine.Request{reads(10), reads(1)}}
		began := time.Now()
		if !s.drive(t.Context(), m, 4) || all.Load() != 11 || most.Load() != 4 || time.Since(began) != 4*time.Second {
			t.Errorf("sent %d in %v, %d at the same time, want 11, 4s, 4", all.Load(), time.Since(began), most.Load())
		}
		for _, err := range m.errs {
			Same(t, "the unchanged error", errors.Is(err, errCut), true)
		}
		Same(t, "answers", len(m.errs), 11)
	})
}

// When the controller stops, a request in flight is finished within its own timeout, and no other
// is sent.
func TestDrive_stops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	sent := 0
	s := transport(func(r *http.Request) (*http.Response, error) {
		sent++
		stop()
		if deadline, ok := r.Context().Deadline(); !ok || time.Until(deadline) > requestTimeout {
			t.Errorf("the request has until %v, want a deadline", deadline)
		}
		Same(t, "the error of the request that had begun", r.Context().Err(), nil)
		return nil, errCut
	}).sender(t)
	if m := (&script{batches: [][]machine.Request{reads(3)}}); s.drive(ctx, m, 1) || sent != 1 || len(m.errs) != 0 {
		t.Errorf("sent %d, answered %d, or the sync is complete; want 1, 0, and an incomplete sync", sent, len(m.errs))
	}
	job := newJob()
	b := newSynced(t, job)
	Same(t, "the delay", Must(b.Reconcile(ctx, theJob)).RequeueAfter, 0)
	Same(t, "writes", b.writes(), nil)
	Same(t, "events", b.sent(), nil)
}

// If another pod has the generated name, the creation is retried under a new one, without an
// event.
func TestNameIsTaken(t *testing.T) {
	job := newJob()
	b := newSynced(t, job)
	b.fail("create", "pods", 1, apierrors.NewAlreadyExists(pods, "job-12345"))
	b.reconcile(t)
	Same(t, "writes", b.writes(), []string{"create pods", "create pods", "patch jobs/status"})
	if got := b.sent(); len(got) != 1 || !strings.HasPrefix(got[0], "Normal SuccessfulCreate ") {
		t.Errorf("events: got %q, want that of the pod", got)
	}
}

// A sync that creates many pods sends a limited number of events for them. It always sends the
// event of a failure.
func TestEventsPerSync(t *testing.T) {
	job := newJob(many(2*eventsPerSync + 20))
	b := newSynced(t, job)
	created := 0
	b.server.PrependReactor("create", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		if created++; created == 2*eventsPerSync {
			return true, nil, errQuota
		}
		return false, nil, nil
	})
	if _, err := b.Reconcile(t.Context(), theJob); !apierrors.IsForbidden(err) {
		t.Fatalf("got %v, want %v", err, errQuota)
	}
	sent := map[string]int{}
	for _, e := range b.sent() {
		sent[strings.Fields(e)[1]]++
	}
	Same(t, "sent SuccessfulCreate, FailedCreate", []int{sent["SuccessfulCreate"], sent["FailedCreate"]}, []int{eventsPerSync, 1})
}

// The number of requests in flight is what the rate limit admits in a fifth of a second.
func TestInFlight(t *testing.T) {
	for qps, want := range map[float32]int{-1: 64, 1: 16, 20: 16, 200: 40, 1000: 64} {
		Same(t, fmt.Sprintf("requests in flight at %v a second", qps), inFlight(qps), want)
	}
}
