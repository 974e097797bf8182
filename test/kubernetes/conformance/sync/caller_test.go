package sync

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
	"github.com/jobfate/jobfate/test/vectors"
)

// A caller drives a Machine whose memory contains the writes in flight of the trial. It answers the
// requests with the faults of the trial.
type caller struct {
	*trial
	machine    *machine.Machine
	decision   decide.Decision // as it was carried out
	settlement decide.Settled  // zero if the sync ends before that
	out        outcome

	created, statuses int // the numbers of requests so far
	claimFailed       bool
	statusFailed      bool        // the write of the decision's status failed
	gone              []types.UID // pods that have lost their finalizer and are counted
}

// The caches show everything up to version shown. Writes in flight have the version inFlight, as in a case.
const shown, inFlight = "1000", "2000"

// syncOnce lets a Machine sync once.
func syncOnce(t *trial) (*caller, error) {
	as := caseOf(t)
	c := &caller{trial: t, machine: machine.New(as.JobfateOptions()...)}
	as.Remember(c.machine)
	c.namePodsInFlight()
	inside.Decide(c.machine, inside.DeletingFirst)
	s := &t.snapshot
	err := c.machine.Begin(machine.View{Job: vectors.Stored(s.Job), Pods: s.Pods, Now: s.Now, JobsVersion: shown, PodsVersion: shown, Barrier: shown})
	if err != nil {
		return nil, err
	}
	return c, c.finish(c.machine.Run(c.answer))
}

// namePodsInFlight gives the writes that the Machine remembers the UIDs of the pods, which a case does not have. A created
// pod without one has ended, as a read by name has shown; its UID stays made up.
func (c *caller) namePodsInFlight() {
	in, m := &c.snapshot.InFlight, inside.Memory(c.machine)
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
			m.Deleted[pod.UID] = memory.Deleted{Version: inFlight, ForEnd: len(m.Deleted) >= in.Deletions}
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

// finish puts the result of the sync into the outcome.
func (c *caller) finish(result machine.Result) error {
	if c.decision = result.Decision; c.decision.Facts() == nil {
		return result.Err // the second decision failed
	}
	if !c.claimFailed && !c.statusFailed {
		c.settlement = c.decision.Settle(c.gone...)
	}
	if !c.claimFailed && !isFinished(c.snapshot.Job) {
		c.out.Requeue = c.decision.Requeue
	}
	last := inside.Memory(c.machine).Backoff
	if c.out.Backoff = record(last.Failures, &last.LastFailure); isFinished(c.snapshot.Job) {
		c.out.Backoff = real.Record{} // the record is deleted with the Job
	}
	c.out.Action, c.out.Finished, c.out.Failed = c.decision.Action, result.Ended, result.Err != nil
	c.out.Metrics = map[string]float64{}
	for name, n := range vectors.CountsOf(result.Metrics) {
		c.out.Metrics[name] = float64(n)
	}
	for _, e := range result.Events {
		list := &c.out.Events
		if strings.HasSuffix(e.Reason, "Create") || strings.HasSuffix(e.Reason, "Delete") {
			list = &c.out.PodEvents
		}
		*list = append(*list, real.Event{Type: e.Type, Reason: e.Reason, Message: e.Message})
	}
	c.out.finish()
	return nil
}

// answer records a request, and answers it.
func (c *caller) answer(r machine.Request) (runtime.Object, error) {
	switch r.Verb {
	case machine.GetJob: // the live read before the first adoption
		if c.fail.Get != nil {
			c.claimFailed = true
			return nil, c.fail.Get
		}
		return vectors.Stored(c.snapshot.Job).DeepCopy(), nil
	case machine.PatchPod:
		return c.patch(r)
	case machine.DeletePod:
		if uid := r.Options.Preconditions.UID; uid == nil || *uid != r.UID {
			panic(fmt.Sprintf("the deletion of %s does not name its UID", r.Name))
		}
		return nil, c.call(real.Call{Kind: real.Delete, Pod: r.Name, Err: c.fail.Delete[r.Name]})
	case machine.CreatePod:
		return c.create(r.Pod)
	case machine.PatchStatus:
		return c.store(r)
	}
	panic(fmt.Sprintf("a Machine with fresh caches sends the request %s", r.Verb))
}

// call records a write, and returns its error.
func (c *caller) call(w real.Call) error {
	c.out.add(w)
	return w.Err
}

func (c *caller) patch(r machine.Request) (runtime.Object, error) {
	i := slices.IndexFunc(c.snapshot.Pods, func(p *corev1.Pod) bool { return p.UID == r.UID })
	pod := c.snapshot.Pods[i].DeepCopy()
	pod.ResourceVersion = inFlight
	kind, fail := c.purpose(r)
	if kind == "" {
		c.out.Freed = append(c.out.Freed, r.Name)
		return pod, nil
	}
	w := real.Call{Kind: kind, Pod: r.Name, Patch: r.Patch, Err: fail[r.Name]}
	err, failed := c.call(w), newCall(w).failed()
	switch {
	case kind == real.Strip && !failed:
		c.gone = append(c.gone, r.UID)
	case kind == real.Adopt, kind == real.Release:
		c.claimFailed = c.claimFailed || failed
	}
	return pod, err
}

// purpose returns the kind of a patch, and the errors of that kind. The kind is empty for a patch
// that frees a pod that is not counted.
func (c *caller) purpose(r machine.Request) (real.Kind, map[string]error) {
	patch := string(r.Patch)
	orphaned := func(claim decide.Claim) bool { return claim.Action == decide.ClaimFree && claim.Pod.UID == r.UID }
	switch {
	case isFinished(c.snapshot.Job):
		return "", nil
	case strings.Contains(patch, `"$patch":"delete"`):
		return real.Release, c.fail.Release
	case strings.Contains(patch, `"ownerReferences"`):
		return real.Adopt, c.fail.Adopt
	case slices.ContainsFunc(c.machine.Result().Decision.Claim, orphaned):
		return "", nil
	case strings.Contains(patch, `"resourceVersion"`):
		return real.StripToDelete, c.fail.StripToDelete
	}
	return real.Strip, c.fail.Strip
}

func (c *caller) create(pod *corev1.Pod) (runtime.Object, error) {
	ordinal := c.created
	c.created++
	created := pod.DeepCopy()
	created.Name = fmt.Sprintf("%s%05d", pod.GenerateName, ordinal)
	created.UID, created.ResourceVersion = types.UID(created.Name), inFlight
	return created, c.call(real.Call{Kind: real.Create, Pod: created.Name, Object: pod, Err: c.fail.Create[ordinal]})
}

func (c *caller) store(r machine.Request) (runtime.Object, error) {
	err := c.fail.Status[c.statuses]
	c.statuses++
	first := len(c.out.Statuses) == 0 && c.machine.Result().Decision.Status != nil
	c.statusFailed = c.statusFailed || first && err != nil
	stored := c.snapshot.Job.DeepCopy()
	stored.Status, stored.ResourceVersion = *r.Status.DeepCopy(), inFlight
	return stored, c.call(real.Call{Kind: real.WriteStatus, Status: r.Status, Err: err})
}
