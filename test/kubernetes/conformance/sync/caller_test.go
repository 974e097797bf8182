package sync

import (
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
	"github.com/jobfate/jobfate/test/vectors"
)

// A caller has let a Machine sync once, whose memory contained the writes in flight of the trial. The
// requests were answered with the faults of the trial.
type caller struct {
	*trial
	decision   decide.Decision // as it was carried out
	settlement decide.Settled  // zero if the sync ends before that
	out        outcome
}

// syncOnce lets a Machine sync once.
func syncOnce(t *trial) (*caller, error) {
	s, err := caseOf(t).Sync(func(call vectors.Call) error {
		if call.Purpose == vectors.Read {
			return t.fail.Get
		}
		return t.fail.Of(real.Kind(call.Purpose), call.Name, call.Number)
	}, t.namePodsInFlight)
	if err != nil {
		return nil, err
	}
	c := &caller{trial: t, decision: s.Decision, out: outcome{Action: s.Decision.Action, Finished: s.Ended,
		Failed: s.Err != nil, Metrics: map[string]float64{}}}
	settles, gone := !s.ClaimFailed, []types.UID(nil)
	for _, call := range s.Calls {
		w := real.Call{Kind: real.Kind(call.Purpose), Pod: call.Name, Object: call.Pod, Patch: call.Patch, Err: call.Err}
		switch call.Purpose {
		case vectors.Free:
			c.out.Freed = append(c.out.Freed, call.Name)
			continue
		case vectors.Status:
			w = real.Call{Kind: real.WriteStatus, Status: call.Status, Err: call.Err}
			settles = settles && !(call.Number == 0 && s.Decision.Status != nil && call.Err != nil)
		case vectors.Strip:
			if !newCall(w).failed() {
				gone = append(gone, call.UID)
			}
		}
		c.out.add(w)
	}
	if settles {
		c.settlement = s.Decision.Settle(gone...)
	}
	if !isFinished(t.snapshot.Job) {
		c.out.Requeue = s.Requeue
	}
	c.out.Backoff = real.Record{Failures: s.Backoff.Failures, LastFailure: s.Backoff.LastFailure}
	for name, n := range vectors.CountsOf(s.Metrics) {
		c.out.Metrics[name] = float64(n)
	}
	for _, e := range s.Events {
		c.out.Events = append(c.out.Events, real.Event(e))
	}
	for _, e := range s.PodEvents {
		c.out.PodEvents = append(c.out.PodEvents, real.Event(e))
	}
	c.out.finish()
	return c, nil
}

// namePodsInFlight gives the writes that a Machine remembers the UIDs of the pods, which a case does not have. A created
// pod without one has ended, as a read by name has shown; its UID stays made up.
func (t *trial) namePodsInFlight(m *memory.Memory) {
	in := &t.snapshot.InFlight
	if len(in.Pods) == 0 {
		return
	}
	for i := range m.Created {
		m.Created[i].Stopped = true
	}
	clear(m.Deleted)
	created := 0
	for _, pod := range in.Pods {
		if pod.Deleted {
			// Deletions leaves out those because the Job ends; which ones makes no difference.
			m.Deleted[pod.UID] = memory.Deleted{Version: vectors.PendingVersion, ForEnd: len(m.Deleted) >= in.Deletions}
			continue
		}
		m.Created[created].UID, m.Created[created].Stopped = pod.UID, false
		created++
	}
}

// mustDecide fails the test if jobfate makes no decision.
func mustDecide(t rapid.TB, c *trial) *caller {
	t.Helper()
	us, err := syncOnce(c)
	if err != nil {
		t.Fatalf("jobfate makes no decision: %v\n%s", err, describe(c))
	}
	return us
}
