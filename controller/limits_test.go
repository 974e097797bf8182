package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/machine"
)

// counted is a limit that counts the requests that wait for it.
type counted struct {
	flowcontrol.RateLimiter
	n int
}

func (c *counted) Wait(ctx context.Context) error { c.n++; return ctx.Err() }

// Writes wait for the limit, and reads do not. After a stop neither is sent.
func TestAdmit(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for verb := machine.GetJob; verb <= machine.PatchStatus; verb++ {
		limit := &counted{}
		s := sender{jobs{clients{limit: limit}}}
		write := verb >= machine.CreatePod
		if err := s.admit(t.Context(), verb); err != nil || (limit.n == 1) != write {
			t.Errorf("verb %d: got %v, and %d requests wait; a write is %t", verb, err, limit.n, write)
		}
		Same(t, fmt.Sprintf("verb %d: refused after a stop", verb), s.admit(stopped, verb) != nil, true)
	}
}

// The writes of a controller have one limit. One that waits for it longer than a request may take is sent in the
// end, so there is no live read as after a timeout.
func TestLimit(t *testing.T) {
	for name, add := range map[string]func(manager.Manager, Options) error{
		"Jobs": Add, "a kind": func(m manager.Manager, o Options) error { return AddKind(m, sweeps, o) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c, users := newSweepCluster(t)
			for i := range 8 {
				createSweep(t, users, fmt.Sprint("sweep-", i), 1)
				c.create(t, fmt.Sprint("job-", i))
			}
			var mu sync.Mutex
			var writes []time.Time
			var reads []string
			c.beforeEach(func(r *kube.Request) {
				mu.Lock()
				defer mu.Unlock()
				switch r.Verb {
				case "list", "watch":
				case "get":
					reads = append(reads, r.Resource.Resource+" "+r.Name)
				default:
					writes = append(writes, time.Now())
				}
			})
			mgr := c.manager(t, users.Scheme())
			NoError(t, add(mgr, Options{QPS: 0.125, Burst: 1, Workers: 8}))
			stop := run(t, mgr)
			time.Sleep(time.Hour)
			stop()
			mu.Lock()
			defer mu.Unlock()
			for i := 1; i < len(writes); i++ {
				if after := writes[i].Sub(writes[i-1]); after < 8*time.Second {
					t.Errorf("%s: write %d comes %s after the one before, want 8s", name, i, after)
				}
			}
			if len(reads) > 0 || len(writes) < 24 { // a creation, its event and a status for each
				t.Errorf("%s: %d writes and live reads of %q, want at least 24, and none", name, len(writes), reads)
			}
			c.noErrors(t)
		})
	}
}

// If the API server asks to wait, the sync is retried after that time, and not the second after a first failure, without
// a live read. If it is overloaded and asks for longer than a request may take, the request is refused at once.
// client-go itself waits only after the codes 429 and 5xx, and no longer than its timeout.
func TestRetryAfter(t *testing.T) {
	busy := apierrors.NewForbidden(batchv1.Resource("jobs"), "job", errors.New("a webhook is busy"))
	busy.ErrStatus.Details.RetryAfterSeconds = 20
	for _, tc := range []struct {
		err   error
		again string
	}{
		{apierrors.NewTooManyRequests("overload", 5), "patch 6s"},
		{apierrors.NewTooManyRequests("overload", 30), "patch 31s"},
		{busy, "patch 21s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			var sent []string
			began, refused := time.Now(), false
			c.Intercept(func(r *kube.Request) kube.Verdict {
				if r.UserAgent != agent || r.Resource.Resource != "jobs" || r.Name != "job" {
					return kube.Verdict{}
				}
				sent = append(sent, fmt.Sprint(r.Verb, " ", time.Since(began)))
				if refused {
					return kube.Verdict{}
				}
				refused = true
				return kube.Verdict{Err: tc.err}
			})
			stop := c.start(t)
			// The only write for a suspended Job is that of its status, so no change of a pod starts a sync.
			c.createWith(t, "default", batchv1.JobSpec{Suspend: new(true)}, "job")
			time.Sleep(2 * time.Minute)
			stop()
			Same(t, tc.err.Error(), sent, []string{"patch 1s", tc.again})
		})
	}
}

// Such an answer need not be a Status. The request is not sent again, and its error has the text and the time.
func TestRetryAfter_asText(t *testing.T) {
	sent := 0
	s := transport(func(*http.Request) (*http.Response, error) {
		sent++
		r := answer(http.StatusTooManyRequests, "Too many requests.\n")
		r.Header = http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Retry-After": {"32"}}
		return r, nil
	}).sender(t)
	_, err := s.send(t.Context(), machine.Request{Verb: machine.PatchStatus, Namespace: "default", Name: "job"})
	if wait, _ := apierrors.SuggestsClientDelay(err); wait != 32 || !apierrors.IsTooManyRequests(err) || sent != 1 {
		t.Errorf("got %v and %d s after %d requests, want 429 and 32 s after 1", err, wait, sent)
	}
}

// While the Jobs of a namespace may not be listed, those of other namespaces run, and the process is not ready.
func TestNamespaces_jobsForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		for _, name := range []string{"a", "b"} {
			c.createNamespace(t, name)
		}
		c.createWith(t, "a", batchv1.JobSpec{}, "job")
		c.Intercept(func(r *kube.Request) kube.Verdict {
			if r.UserAgent == agent && r.Resource.Resource == "jobs" && r.Namespace == "b" {
				return kube.Verdict{Err: apierrors.NewForbidden(batchv1.Resource("jobs"), "", nil)}
			}
			return kube.Verdict{}
		})
		mgr := &checked{Manager: c.manager(t, nil)}
		NoError(t, Add(mgr, Options{Namespaces: []string{"a", "b"}}))
		stop := run(t, mgr)
		time.Sleep(time.Minute)
		Same(t, "pods in a", len(kube.List[*corev1.Pod](c.Server, "a")), 1)
		wantError(t, mgr.ready(nil), "the namespace b does not exist, or its")
		stop()
	})
}
