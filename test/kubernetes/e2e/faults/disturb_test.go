package faults

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
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
	compareDisturbed(t, side, small(), func(over <-chan struct{}) {
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
			compareDisturbed(t, side, small(), func(over <-chan struct{}) { <-over })
		})
	}
}

// The API server is killed and restarted.
func TestServerIsRestarted(t *testing.T) {
	random := newRand(t)
	_, side := throughProxy(t, "restarted", "--qps=100", "--burst=100")
	restarts := 0
	compareDisturbed(t, side, small(), func(over <-chan struct{}) {
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
