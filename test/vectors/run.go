package vectors

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
)

// Run runs one sync of a Machine with the faults of the case, and returns the outcome. The
// memory of the Machine contains the pending writes. Run fails if jobfate rejects the
// snapshot.
func (c *Case) Run() (*Outcome, error) {
	s, err := c.Sync(c.fault, nil)
	if err != nil {
		return nil, err
	}
	d, writes := s.Decision, Writes{}
	for _, call := range s.Calls {
		writes.Add(writeOf(call))
	}
	return &Outcome{Writes: writes.InOrder(), Action: d.Action, Finished: s.Ended, Left: Left(d.Deferred),
		Requeue: s.Requeue.Milliseconds(), Backoff: s.Backoff, Events: s.Events, Metrics: CountsOf(s.Metrics)}, nil
}

// fault returns the fault of a call as an error.
func (c *Case) fault(call Call) error {
	f := &c.Faults
	switch call.Purpose {
	case Read:
		return ErrorOf(f.Get)
	case Create:
		return ErrorOf(f.Create[call.Number])
	case Status:
		return ErrorOf(f.Status[call.Number])
	}
	return ErrorOf(map[Verb]map[string]string{
		Adopt: f.Adopt, Release: f.Release, Untrack: f.Untrack, Delete: f.Delete, Strip: f.Strip,
	}[call.Purpose][call.Name])
}

func writeOf(call Call) Write {
	w := Write{Verb: call.Purpose, Pod: call.Name, Patch: PatchOf(call.Patch)}
	switch call.Purpose {
	case Free:
		w.Patch = nil
	case Create:
		w.Pod, w.New = "", NewPodOf(call.Pod)
	case Status:
		w = Write{Verb: Status, Status: Normal(call.Status)}
	}
	return w
}

// RefusedField returns the field of an error of Run. It is empty for other errors, and for errors
// about several fields.
func RefusedField(err error) string {
	if errors.Is(err, decide.ErrNotManaged) {
		return "spec.managedBy"
	}
	var input *decide.InputError
	if !errors.As(err, &input) || len(input.Fields) != 1 {
		return ""
	}
	return input.Fields[0].Field
}

// JobfateOptions returns the options of a case as options of jobfate.
func (c *Case) JobfateOptions() []decide.Option {
	o := &c.Options
	opts := []decide.Option{
		decide.MaxUncounted(o.MaxUncounted), decide.MaxChanges(o.MaxChanges), decide.MaxRemovals(o.MaxRemovals),
		decide.Backoff(backoff.Policy{Base: milliseconds(o.BackoffBaseMs), Cap: milliseconds(o.BackoffCapMs)}),
		decide.Throttle(milliseconds(o.Throttle.EveryMs), o.Throttle.Share),
	}
	for _, opt := range []struct {
		set    bool
		option decide.Option
	}{
		{o.BatchPeriodMs != 0, decide.BatchPeriod(milliseconds(o.BatchPeriodMs))},
		{o.WithoutPerIndex, decide.WithoutPerIndexBackoff()},
		{o.WithoutReplacement, decide.WithoutReplacementPolicy()},
		{o.FillFreeSlots, decide.FillFreeSlots()},
		{o.GranularReasons, decide.GranularReasons()},
		{len(o.RuleNames) > 0, decide.RuleNames(o.RuleNames...)},
		{o.WithoutFailurePolicy, decide.WithoutFailurePolicy()},
	} {
		if opt.set {
			opts = append(opts, opt.option)
		}
	}
	return opts
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Record returns the record as one of jobfate.
func (b *Backoff) Record() backoff.Record {
	r := backoff.Record{Failures: b.Failures}
	if b.LastFailure != nil {
		r.LastFailure = *b.LastFailure
	}
	return r
}

// BackoffOf returns a record in the form of a case.
func BackoffOf(r backoff.Record) Backoff {
	b := Backoff{Failures: r.Failures}
	if !r.LastFailure.IsZero() {
		last := r.LastFailure.UTC()
		b.LastFailure = &last
	}
	return b
}

// CountsOf adds up the increments of each counter, by its name and labels.
func CountsOf(metrics []decide.Metric) (counts map[string]int64) {
	for _, m := range metrics {
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
			labels = append(labels, fmt.Sprintf("%s=%q", name, m.Labels[name]))
		}
		if counts == nil {
			counts = map[string]int64{}
		}
		counts[m.Name+"{"+strings.Join(labels, ",")+"}"] += m.Add
	}
	return counts
}

// ErrorOf returns a fault as an error of the API server; nil for no fault.
func ErrorOf(fault string) error {
	resource := schema.GroupResource{Resource: "objects"}
	switch fault {
	case "":
		return nil
	case NotFound:
		return apierrors.NewNotFound(resource, "name")
	case Conflict:
		return apierrors.NewConflict(resource, "name", errors.New("injected"))
	}
	return apierrors.NewInternalError(errors.New("injected"))
}
