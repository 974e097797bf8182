package sync

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/tracking"
)

// A caller carries a decision out, as the package comment of jobfate tells it
// to, one numbered step after the other.
type caller struct {
	*trial
	decision   jobfate.Decision
	settlement jobfate.Settlement
	out        outcome
	statuses   int // written so far
}

// decide lets jobfate decide and carries the decision out.
func decide(t *trial) (*caller, error) {
	d, err := jobfate.Decide(t.snapshot, t.options()...)
	if err != nil {
		return nil, err
	}
	c := &caller{trial: t, decision: d}
	c.out.Metrics = map[string]float64{}
	c.remember(t.snapshot.Backoff.Failures)
	if err := c.run(); err != nil {
		return nil, err
	}
	c.out.Action = c.decision.Action
	c.out.finish()
	return c, nil
}

func (c *caller) run() error {
	if isFinished(c.snapshot.Job) {
		c.cleanUp()
		return nil
	}
	if goOn, err := c.claim(); !goOn {
		return err
	}
	c.act()
	c.out.Requeue = c.decision.Requeue
	if s := c.decision.Status; s != nil {
		if c.call(real.Call{Kind: real.WriteStatus, Status: s, Err: c.statusFault()}) != nil {
			return nil
		}
	}
	c.out.Backoff = record(c.decision.Backoff.Failures, &c.decision.Backoff.LastFailure)
	c.tell(c.decision.Metrics, c.decision.Events)
	c.settlement = c.decision.Settle(c.strip()...)
	if s := c.settlement.Status; s != nil {
		if c.call(real.Call{Kind: real.WriteStatus, Status: s, Err: c.statusFault()}) != nil {
			return nil
		}
	}
	c.tell(c.settlement.Metrics, c.settlement.Events)
	c.out.Finished = c.settlement.Finished
	return nil
}

// cleanUp is all that is left to do for a Job that has ended. The memory of it
// goes as well.
func (c *caller) cleanUp() {
	c.out.Backoff = real.Record{}
	for _, claim := range c.decision.Claim {
		c.out.Freed = append(c.out.Freed, claim.Pod.Name)
	}
	for _, pod := range c.decision.Strip {
		c.out.Freed = append(c.out.Freed, pod.Name)
	}
}

// remember starts with the record of the trial.
func (c *caller) remember(failures int32) {
	c.out.Backoff = record(failures, &c.snapshot.Backoff.LastFailure)
}

// call sends a write, notes it, and returns its error.
func (c *caller) call(w real.Call) error {
	c.out.add(w)
	if w.Err != nil && !apierrors.IsNotFound(w.Err) {
		c.out.Failed = true
	}
	return w.Err
}

func (c *caller) statusFault() error {
	c.statuses++
	return c.fail.Status[c.statuses-1]
}

// claim is step 3. It reports whether the rest is to be carried out.
func (c *caller) claim() (goOn bool, err error) {
	var gone []*corev1.Pod
	failed := false
	for _, claim := range c.decision.Claim {
		name := claim.Pod.Name
		switch claim.Relation {
		case tracking.Adoptable:
			if c.fail.Get != nil { // the live read before the first adoption
				failed, c.out.Failed = true, true
				continue
			}
			err := c.call(real.Call{Kind: real.Adopt, Pod: name, Patch: claim.Patch(), Err: c.fail.Adopt[name]})
			failed = failed || err != nil && !apierrors.IsNotFound(err)
			if apierrors.IsNotFound(err) {
				gone = append(gone, claim.Pod)
			}
		case tracking.Releasable:
			err := c.call(real.Call{Kind: real.Release, Pod: name, Patch: claim.Patch(), Err: c.fail.Release[name]})
			failed = failed || err != nil && !apierrors.IsNotFound(err)
		default:
			c.out.Freed = append(c.out.Freed, name)
		}
	}
	if failed || len(gone) == 0 {
		return !failed, nil
	}
	// A pod to adopt is gone: decide again without it.
	s := c.snapshot
	s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(p *corev1.Pod) bool { return slices.Contains(gone, p) })
	c.decision, err = jobfate.Decide(s, c.options()...)
	return err == nil, err
}

// act is steps 4 and 5.
func (c *caller) act() {
	var done jobfate.Done
	for _, d := range c.decision.Delete {
		if !c.delete(d) {
			done.NotDeleted = append(done.NotDeleted, d.Pod.UID)
		}
	}
	c.create(&done)
	c.decision = c.decision.Revise(done)
}

// delete reports whether the pod is gone, or will be.
func (c *caller) delete(d jobfate.Deletion) bool {
	name := d.Pod.Name
	if d.StripFirst {
		if err := c.call(real.Call{Kind: real.StripToDelete, Pod: name, Patch: d.Patch(), Err: c.fail.StripToDelete[name]}); err != nil {
			return apierrors.IsNotFound(err)
		}
	}
	if uid := d.Options().Preconditions.UID; uid == nil || *uid != d.Pod.UID {
		panic(fmt.Sprintf("the deletion of %s does not name its UID", name))
	}
	err := c.call(real.Call{Kind: real.Delete, Pod: name, Err: c.fail.Delete[name]})
	if apierrors.IsNotFound(err) {
		return true
	}
	c.tellOfPod(d.Event(err))
	return err == nil
}

// create creates in batches of 1, 2, 4, …, and none after a failure.
func (c *caller) create(done *jobfate.Done) {
	all := c.decision.Create
	for at, size := 0, 1; at < len(all) && done.NotCreated == 0; size *= 2 {
		for end := min(at+size, len(all)); at < end; at++ {
			err := c.fail.Create[at]
			pod := all[at].Pod()
			name := fmt.Sprintf("%s%05d", pod.GenerateName, at)
			if c.call(real.Call{Kind: real.Create, Pod: name, Object: pod, Err: err}) != nil {
				done.NotCreated++
			}
			c.tellOfPod(all[at].Event(name, err))
		}
		if done.NotCreated > 0 {
			done.Untried = len(all) - at
			done.NotCreated += done.Untried
		}
	}
}

// strip is step 8. It returns the pods that have lost their finalizer.
func (c *caller) strip() (gone []*corev1.Pod) {
	for _, pod := range c.decision.Strip {
		err := c.call(real.Call{Kind: real.Strip, Pod: pod.Name, Patch: builtin.StripPatch(pod), Err: c.fail.Strip[pod.Name]})
		if err == nil || apierrors.IsNotFound(err) {
			gone = append(gone, pod)
		}
	}
	return gone
}

func (c *caller) tell(metrics []jobfate.Metric, events []jobfate.Event) {
	for _, m := range metrics {
		labels := make([]string, len(m.Labels))
		for i, l := range m.Labels {
			labels[i] = fmt.Sprintf("%s=%q", l.Name, l.Value)
		}
		slices.Sort(labels)
		c.out.Metrics[m.Name+"{"+strings.Join(labels, ",")+"}"] += float64(m.Add)
	}
	for _, e := range events {
		c.out.Events = append(c.out.Events, real.Event{Type: string(e.Type), Reason: e.Reason, Message: e.Message})
	}
}

func (c *caller) tellOfPod(e jobfate.Event) {
	c.out.PodEvents = append(c.out.PodEvents, real.Event{Type: string(e.Type), Reason: e.Reason, Message: e.Message})
}
