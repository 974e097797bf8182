package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/compare"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// A share of the writes and reads fails, with all kinds of faults at the same time. The watches are
// cut repeatedly.
func TestRequestsFail(t *testing.T) {
	t.Parallel()
	random := newRand(t)
	p, side := throughProxy(t, "disturbed")
	faults := map[string]proxy.Fault{
		"conflict": proxy.Conflict, "too many requests": proxy.TooMany, "internal error": proxy.Internal,
		"drop": proxy.Drop, "lose reply": proxy.LoseReply, "time out": proxy.TimeOut, "delay": proxy.Delay(time.Second),
	}
	rules := map[string][]*proxy.Handle{}
	for name, fault := range faults {
		// The shares add up to a tenth. Failed syncs are retried with growing delays, so a
		// larger share would only take longer.
		rules[name] = disturbWrites(p, random.Uint64(), 0.015, fault)
	}
	for _, call := range []proxy.Call{{Verb: "get"}, {Verb: "list"}} {
		rules["reads"] = append(rules["reads"], p.Add(proxy.Rule{Call: call, Probability: 0.1, Seed: random.Uint64(), Do: proxy.Internal}))
	}
	watches := 0
	compareDisturbed(t, side, small(), compare.Ends, func(over <-chan struct{}) {
		// An informer waits longer after each cut, up to half a minute.
		for range 6 {
			if !pause(random, 3*time.Second, over) {
				return
			}
			watches += p.CutWatches()
		}
	})
	for name, rules := range rules {
		hits := 0
		for _, rule := range rules {
			hits += p.Hits(rule)
		}
		t.Logf("%s: %d requests", name, hits)
		if hits == 0 && name != "reads" {
			t.Errorf("%s: disturbed no request", name)
		}
	}
	t.Logf("watches cut: %d", watches)
	if watches == 0 {
		t.Error("no watch was cut")
	}
}

// The events of Jobs and pods reach the controller some seconds late, with different delays.
func TestEventsAreLate(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]map[string]time.Duration{
		"pods": {"pods": 4 * time.Second, "jobs": time.Second},
		"jobs": {"pods": time.Second, "jobs": 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := world.Proxy(t, api)
			for resource, by := range late {
				p.Lag(resource, by)
			}
			side := startThrough(t, p, "late-"+name)
			compareDisturbed(t, side, small(), compare.Ends, func(over <-chan struct{}) { <-over })
		})
	}
}

// The API server is killed and restarted.
func TestServerIsRestarted(t *testing.T) {
	random := newRand(t)
	_, side := throughProxy(t, "restarted", "--qps=100", "--burst=100")
	restarts := 0
	compareDisturbed(t, side, small(), compare.Ends, func(over <-chan struct{}) {
		for restarts < 3 && pause(random, 2*time.Second, over) {
			serverRestarts.Lock()
			err := api.Restart(t.Context())
			serverRestarts.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			restarts++
		}
	})
	t.Logf("the server was restarted %d times", restarts)
	if restarts == 0 {
		t.Error("the server was not restarted")
	}
}

// pause waits for a random time, and reports whether the scenarios are still running.
func pause(random *rand.Rand, most time.Duration, over <-chan struct{}) bool {
	select {
	case <-over:
		return false
	case <-time.After(time.Duration(random.Int64N(int64(most)))):
		return true
	}
}

// disturbWrites adds rules that make a share of the writes fail.
func disturbWrites(p *proxy.Proxy, seed uint64, share float64, do proxy.Fault) (rules []*proxy.Handle) {
	for i, verb := range []string{"create", "patch", "update", "delete"} {
		rules = append(rules, p.Add(proxy.Rule{Call: proxy.Call{Verb: verb}, Probability: share, Seed: seed + uint64(i), Do: do}))
	}
	return rules
}

// throughProxy starts jobfate's controller behind a new proxy. It runs Jobs that name it.
func throughProxy(t *testing.T, name string, args ...string) (*proxy.Proxy, world.Side) {
	t.Helper()
	p := world.Proxy(t, api)
	return p, startThrough(t, p, name, args...)
}

// startThrough starts a controller behind a proxy.
func startThrough(t *testing.T, p *proxy.Proxy, name string, args ...string) world.Side {
	t.Helper()
	side := world.Start(t, api, server.Options{Name: name, Via: p.Config, QPS: qps, Burst: qps, Args: args})
	t.Cleanup(func() {
		side.Kill()
		if n := p.Answers(proxy.Call{Verb: "patch", Resource: "jobs/status"}, http.StatusUnprocessableEntity); n > 0 {
			t.Errorf("the API server has rejected %d statuses", n)
		}
	})
	return side
}

const (
	// leaseNamespace is the namespace of the lease that the manifests allow.
	leaseNamespace = "jobfate"
	// leaseName is the lease of the name server.ManagedBy.
	leaseName = "jobfate.dev-controller"
	// takeover is the longest time until another replica leads. A lease that is not released
	// expires after 15 s.
	takeover = time.Minute
)

// One of two replicas leads, and the other takes over between two writes of the leader. The
// manifests allow one lease, so the tests do not run in parallel.
func TestLeadersChange(t *testing.T) {
	t.Parallel()
	random := newRand(t)
	t.Run("killed and stopped", func(t *testing.T) {
		r := startReplicas(t)
		compareDisturbed(t, world.Jobfate(r.controllers[0]), small(), compare.Ends, func(over <-chan struct{}) {
			r.changes(t, random, over, kill, (*server.Controller).Stop)
		})
	})
	// A leader is frozen until the other replica leads, and then continues without knowing
	// that. Both may create the same pods, so more pods may fail. Each is counted.
	t.Run("frozen", func(t *testing.T) {
		same := func(a, b script.State) string { return gocmp.Diff(outcomeOf(a), outcomeOf(b)) }
		r := startReplicas(t)
		compareDisturbed(t, world.Jobfate(r.controllers[0]), small(), same, func(over <-chan struct{}) { r.changes(t, random, over, (*server.Controller).Freeze) })
	})
}

func kill(c *server.Controller) error {
	c.Kill()
	return nil
}

// outcome is the part of a final state that does not depend on the number of created pods.
type outcome struct {
	Conditions               []string
	Completed, FailedIndexes string
}

func outcomeOf(s script.State) (o outcome) {
	if s.Job == nil {
		return o
	}
	o = outcome{Conditions: script.Conditions(s.Job), Completed: s.Job.Status.CompletedIndexes}
	if failed := s.Job.Status.FailedIndexes; failed != nil {
		o.FailedIndexes = *failed
	}
	return o
}

// replicas are two controllers for the same Jobs, the leader first.
type replicas struct {
	controllers [2]*server.Controller
	proxies     [2]*proxy.Proxy
	holder      string // the holder of the lease
}

func startReplicas(t *testing.T) *replicas {
	holder, err := heldBy(t.Context())
	world.Must(t, err)
	r := &replicas{holder: holder}
	for i := range r.controllers {
		p, side := throughProxy(t, fmt.Sprintf("replica-%d", i),
			"--qps=60", "--burst=60", // so low that the Jobs last for all leader changes
			"--managed-by="+server.ManagedBy, "--leader-elect=true", "--leader-elect-namespace="+leaseNamespace)
		r.controllers[i], r.proxies[i] = side.Controller, p
		if i == 0 {
			world.Must(t, r.awaitLeader(t.Context()))
		}
	}
	return r
}

// heldBy returns the holder of the lease, which may be a replica of an earlier test.
func heldBy(ctx context.Context) (string, error) {
	lease, err := api.Client.CoordinationV1().Leases(leaseNamespace).Get(ctx, leaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, nil
}

// changes ends one leader after another in the given way.
func (r *replicas) changes(t *testing.T, random *rand.Rand, over <-chan struct{}, ends ...func(*server.Controller) error) {
	for n, end := range ends {
		if err := r.change(t.Context(), random.Uint64(), end, over); err != nil {
			t.Errorf("change %d of the leader: %v", n+1, err)
			return
		}
	}
}

// change ends the leader at one of its writes, waits until the other replica leads, and
// restarts the first.
func (r *replicas) change(ctx context.Context, seed uint64, end func(*server.Controller) error, over <-chan struct{}) error {
	leader := r.controllers[0]
	ended := make(chan error, 1)
	rules := disturbWrites(r.proxies[0], seed, 1./writesOfLife, proxy.After(sync.OnceFunc(func() {
		go func() { ended <- end(leader) }() // a leader that stops first waits for this write
	})))
	select {
	case err := <-ended:
		if err != nil {
			return err
		}
	case <-over:
		return errors.New("all Jobs ended before the change")
	}
	r.proxies[0].Remove(rules...)
	if err := r.awaitLeader(ctx); err != nil {
		return err
	}
	r.controllers[0], r.controllers[1] = r.controllers[1], r.controllers[0]
	r.proxies[0], r.proxies[1] = r.proxies[1], r.proxies[0]
	// A thawed leader ends when it finds that it has lost the lease.
	if err := leader.Thaw(); err == nil {
		select {
		case <-leader.Done():
		case <-time.After(takeover):
			return errors.New("the old leader has not ended")
		}
	}
	leader.Kill()
	return leader.Start()
}

// awaitLeader waits until another process holds the lease.
func (r *replicas) awaitLeader(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, takeover, true, func(ctx context.Context) (bool, error) {
		holder, err := heldBy(ctx)
		if holder == "" || holder == r.holder {
			return false, err
		}
		r.holder = holder
		return true, nil
	})
}
