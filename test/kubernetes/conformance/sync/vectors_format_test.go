package sync

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
	"github.com/jobfate/jobfate/test/vectors"
)

// Conversion between trials and the cases of the folder test/vectors.

// caseOf converts a trial to a case without outcomes.
func caseOf(t *trial) *vectors.Case {
	s := &t.snapshot
	c := &vectors.Case{
		Refused: t.impossible,
		Snapshot: vectors.Snapshot{
			Now: s.Now, Job: s.Job, Pods: s.Pods,
			Pending: vectors.Pending{
				Status: s.InFlight.Status, Creations: s.InFlight.Creations, Deletions: s.InFlight.Deletions, Stripped: s.InFlight.Stripped,
			},
			Backoff: vectors.BackoffOf(s.Backoff),
		},
		Options: vectors.Options{
			MaxUncounted: t.limits.MaxUncounted, MaxChanges: t.limits.MaxCreateDelete,
			BackoffBaseMs: t.limits.Base.Milliseconds(), BackoffCapMs: t.limits.Cap.Milliseconds(),
			BatchPeriodMs:   t.limits.BatchPeriod.Milliseconds(),
			WithoutPerIndex: t.noPerIndex, WithoutReplacement: t.noReplace,
		},
		Faults: vectors.Faults{
			Adopt: faultsOf(t.fail.Adopt), Release: faultsOf(t.fail.Release), Untrack: faultsOf(t.fail.StripToDelete),
			Delete: faultsOf(t.fail.Delete), Create: faultsOf(t.fail.Create), Status: faultsOf(t.fail.Status), Strip: faultsOf(t.fail.Strip),
		},
	}
	if t.fail.Get != nil {
		c.Faults.Get = faultOf(t.fail.Get)
	}
	return c
}

// trialOf converts a case to a trial. It sets the defaults of the pod template, so that whole pods can
// be compared, and drops the settings that only jobfate has.
func trialOf(c *vectors.Case) *trial {
	t := &trial{
		impossible: c.Refused,
		limits: real.Limits{
			MaxUncounted: c.Options.MaxUncounted, MaxCreateDelete: c.Options.MaxChanges,
			Base: ms(c.Options.BackoffBaseMs), Cap: ms(c.Options.BackoffCapMs), BatchPeriod: ms(c.Options.BatchPeriodMs),
		},
		noPerIndex: c.Options.WithoutPerIndex, noReplace: c.Options.WithoutReplacement,
		fail: real.Faults{
			Adopt: errorsOf(c.Faults.Adopt), Release: errorsOf(c.Faults.Release), StripToDelete: errorsOf(c.Faults.Untrack),
			Delete: errorsOf(c.Faults.Delete), Create: errorsOf(c.Faults.Create), Status: errorsOf(c.Faults.Status), Strip: errorsOf(c.Faults.Strip),
			Get: vectors.ErrorOf(c.Faults.Get),
		},
	}
	s, pending := &t.snapshot, &c.Snapshot.Pending
	s.Now, s.Job, s.Pods = c.Snapshot.Now, c.Snapshot.Job.DeepCopy(), c.Snapshot.Pods
	s.Job.Spec.Template = apiserver.Default(s.Job).Spec.Template
	s.InFlight.Status, s.InFlight.Stripped = pending.Status, pending.Stripped
	s.InFlight.Creations, s.InFlight.Deletions = pending.Creations, pending.Deletions
	s.Backoff = c.Snapshot.Backoff.Record()
	return t
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func faultOf(err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return vectors.NotFound
	case apierrors.IsConflict(err):
		return vectors.Conflict
	}
	return vectors.Internal
}

func faultsOf[K comparable](errs map[K]error) map[K]string   { return mapped(errs, faultOf) }
func errorsOf[K comparable](faults map[K]string) map[K]error { return mapped(faults, vectors.ErrorOf) }

// mapped returns a map with f applied to each value, or nil for an empty map.
func mapped[K comparable, A, B any](in map[K]A, f func(A) B) map[K]B {
	if len(in) == 0 {
		return nil
	}
	out := make(map[K]B, len(in))
	for k, v := range in {
		out[k] = f(v)
	}
	return out
}

// outcomeOf converts an outcome to that of a case.
func outcomeOf(o *outcome) *vectors.Outcome {
	out := &vectors.Outcome{
		Requeue: o.Requeue.Milliseconds(), Action: o.Action, Finished: o.Finished,
		Backoff: vectors.Backoff{Failures: o.Backoff.Failures, LastFailure: o.Backoff.LastFailure},
	}
	var writes vectors.Writes
	for _, c := range slices.Concat(o.Claims, o.Deletions, o.Creations, o.Statuses[:o.storedFirst()], o.Strips, o.Statuses[o.storedFirst():]) {
		w := vectors.Write{Verb: vectors.Verb(c.Kind), Pod: c.Pod, Patch: vectors.PatchOf([]byte(c.Patch)), Status: c.Status}
		if c.Kind == real.Create {
			w.Pod, w.New = "", vectors.NewPodOf(c.Object)
		}
		writes.Add(w)
	}
	for _, pod := range o.Freed {
		writes.Add(vectors.Write{Verb: vectors.Free, Pod: pod})
	}
	out.Writes = writes.InOrder()
	for _, e := range o.Events {
		out.Events = append(out.Events, vectors.Event(e))
	}
	for name, n := range o.Metrics {
		if out.Metrics == nil {
			out.Metrics = map[string]int64{}
		}
		out.Metrics[name] = int64(n)
	}
	return out
}

// storedFirst returns the number of statuses written before the first finalizer was removed.
func (o *outcome) storedFirst() int {
	if len(o.Strips) == 0 {
		return len(o.Statuses)
	}
	return o.StoredFirst
}

// answer adds the outcomes of both sides and the names of the divergences to a case. It fails if the
// sides differ in any other way, or if an outcome must not be in a case.
func answer(c *vectors.Case) error {
	t := trialOf(c)
	defer t.hold()()
	c.Jobfate, c.Kubernetes, c.Divergences = nil, nil, nil
	if c.Refused != "" {
		if _, err := c.Run(); vectors.RefusedField(err) != c.Refused {
			return fmt.Errorf("got error %v, want one that names only %s", err, c.Refused)
		}
		return nil
	}
	us, err := syncOnce(t)
	if err != nil {
		return err
	}
	var refusal errorRecorder
	if accepted(&refusal, t, us); refusal.err != nil {
		return refusal.err
	}
	them := newRun(t)
	theirs := outcomeOf(&them.outcome)
	if !same(them.outcome, us.out) {
		found, diff := explain(us, them)
		if diff != "" {
			return fmt.Errorf("%v\n%s", found, diff)
		}
		c.Divergences = found
	}
	if c.Jobfate, err = c.Run(); err != nil {
		return err
	}
	ours := outcomeOf(&us.out)
	ours.Left = vectors.Left(us.decision.Deferred)
	if !same(*ours, *c.Jobfate) {
		if len(extras(c)) == 0 {
			return fmt.Errorf("the case has another outcome of jobfate:\n%s\n%s", text(ours), text(c.Jobfate))
		}
		c.Divergences = append(c.Divergences, extras(c)...)
	}
	slices.Sort(c.Divergences)
	comparable := *c.Jobfate
	comparable.Left = vectors.Left{}
	if text(theirs) == text(comparable) {
		c.Divergences = nil // they concern fields that cases do not have
		return nil
	}
	c.Kubernetes = theirs
	return nil
}

// errorRecorder is a test that records the error.
type errorRecorder struct {
	rapid.TB
	err error
}

func (*errorRecorder) Helper() {}

func (c *errorRecorder) Fatalf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// extras returns the options of a case that Kubernetes does not have.
func extras(c *vectors.Case) (names []string) {
	o := &c.Options
	for _, extra := range []struct {
		name string
		set  bool
	}{
		{"BackoffInDoubt", c.Snapshot.Backoff.InDoubt}, {"FillFreeSlots", o.FillFreeSlots},
		{"GranularReasons, RuleNames", o.GranularReasons || len(o.RuleNames) > 0},
		{"WithoutFailurePolicy", o.WithoutFailurePolicy}, {"MaxRemovals", o.MaxRemovals > 0}, {"Throttle", o.Throttle.EveryMs > 0},
	} {
		if extra.set {
			names = append(names, extra.name)
		}
	}
	return names
}
