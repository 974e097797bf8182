package faults

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/e2e/kubelet"
	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/proxy"
	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/e2e/world"
)

// Each kind of fault meets a tenth of the writes, and the watches are cut: every
// pod is counted once all the same.
func TestWritesGoWrong(t *testing.T) {
	for name, fault := range map[string]proxy.Fault{
		"conflict": proxy.Conflict, "too-many": proxy.TooMany, "internal": proxy.Internal,
		"drop": proxy.Drop, "lose-reply": proxy.LoseReply, "time-out": proxy.TimeOut,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, side := throughProxy(t, name)
			var rules []*proxy.Handle
			for _, verb := range []string{"create", "patch", "update", "delete"} {
				rules = append(rules, p.Add(proxy.Rule{Call: proxy.Call{Verb: verb}, Probability: 0.1, Seed: 1, Do: fault}))
			}
			w := world.New(t, api, side, func(p kubelet.Pod) kubelet.Life {
				if p.Index%5 == 0 && p.Attempt == 0 {
					return kubelet.Fail(1)
				}
				return kubelet.Succeed()
			})
			t.Cleanup(w.TellOfFailure)
			w.Create(batchv1.JobSpec{
				CompletionMode: new(batchv1.IndexedCompletion),
				Completions:    new(int32(20)),
				Parallelism:    new(int32(20)),
			})
			w.When("some pods have ended", func(s observe.State) bool { return s.Job != nil && s.Job.Status.Failed > 0 })
			p.CutWatches()
			w.Until(observe.Want{Succeeded: 20, Failed: 4, Completed: "0-19",
				Conditions: []string{"SuccessCriteriaMet/CompletionsReached", "Complete/CompletionsReached"}})
			w.Settle()
			hits := 0
			for _, rule := range rules {
				hits += p.Hits(rule)
			}
			if hits == 0 {
				t.Error("the proxy disturbed no write")
			}
			t.Logf("%d writes were disturbed; calls of the controller:\n%s", hits, p.Counts())
		})
	}
}

// throughProxy starts a controller of jobfate for Jobs that name it, with a proxy
// between it and the server.
func throughProxy(t *testing.T, name string) (*proxy.Proxy, world.Side) {
	t.Helper()
	p, err := proxy.Start(api.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	managedBy := "jobfate.dev/" + name
	c, err := api.Jobfate(t.Context(), server.Options{Name: name, Via: p.Config, Args: []string{"--managed-by=" + managedBy}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return p, world.Side{Controller: c, ManagedBy: &managedBy}
}
