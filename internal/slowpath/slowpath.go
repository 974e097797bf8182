// Package slowpath compares the incremental decision of a Machine with a decision from scratch on
// the same input. It is for test kits: it panics at the first difference.
//
// The package knows no rule for Jobs: it does not say which of the two decisions is correct.
package slowpath

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/tracking"
)

// Decide decides as a Machine does, and panics if the outcome and error differ from those of a
// decision from scratch on the same input. It is for the field Decide of a Machine.
func Decide(t *decide.Tally, in decide.Input, c *decide.Config) (*decide.Outcome, error) {
	in.Pods = t.Pods()
	got, err := t.Decide(in, c)
	want, wantErr := decide.Decide(in, *c)
	if text, wantText := fmt.Sprint(err), fmt.Sprint(wantErr); text != wantText {
		panic(fmt.Sprintf("the Machine's decision returns error %s, a decision from scratch returns %s", text,
			wantText))
	}
	if err == nil {
		if diff := Diff(got, want); diff != "" {
			panic("the Machine's decision differs from a decision from scratch:\n" + diff)
		}
	}
	return got, err
}

// Diff describes how two outcomes differ. It returns an empty string if they are equal.
func Diff(got, want *decide.Outcome) (diff string) {
	a, b := reflect.ValueOf(summaryOf(got)), reflect.ValueOf(summaryOf(want))
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			diff += fmt.Sprintf("%s: got %+v, want %+v\n", a.Type().Field(i).Name, x, y)
		}
	}
	return diff
}

// summary holds all parts of an outcome that a caller can use.
type summary struct {
	Numbers      [5]int32
	Restarts     int64
	Foreign, Own int
	Totals       [2]int32
	Indexes      [3]string
	Predecessors []types.UID
	Active       []types.UID
	Notes        []decide.Note
	Remembered   backoff.Record

	Facts        facts
	Start        time.Time
	Record       backoff.Record
	Planned, End lifecycle.End
	Settled      bool
	Deadline     time.Duration
	Work         string
	Wait         time.Duration
	Delete       []deletion
	Create       []creation

	After           decide.Counts
	Account         tracking.Account
	Status          any
	Changed, PutOff bool
	Claims          []*census.Record
	Strip           []types.UID
	Deferred        decide.Deferred
	Backoff         backoff.Record
	Requeue         time.Duration
	Events          []decide.Event
	Metrics         []decide.Metric
}

type deletion struct {
	UID   types.UID
	Strip bool
	Cause decide.Cause
}

type creation struct {
	Index    int32
	Replaces types.UID
	Pod      *corev1.Pod
}

// facts are lifecycle.Facts with the sets as text, which can be compared.
type facts struct {
	lifecycle.Facts
	Completed, FailedIndexes string
	Policy                   bool
}

func factsOf(f lifecycle.Facts) facts {
	out := facts{f, f.Completed.String(), f.FailedIndexes.String(), f.SuccessPolicy != nil}
	none := lifecycle.Facts{}
	out.Facts.Completed, out.Facts.FailedIndexes, out.Facts.SuccessPolicy = none.Completed, none.FailedIndexes, nil
	return out
}

func summaryOf(o *decide.Outcome) summary {
	v, c, work := o.View, o.View.Census, &o.Plan.Work
	s := summary{
		Numbers:  [5]int32{c.Active, c.Ready, c.Terminating, c.Succeeded, c.Failed},
		Restarts: c.Restarts, Foreign: c.Foreign, Own: c.Len(),
		Totals: [2]int32{v.Totals.Succeeded, v.Totals.Failed},
		Indexes: [3]string{v.Totals.Results.Counted.String(), v.Totals.Results.Completed.String(),
			v.Totals.Results.Failed.String()},
		Predecessors: records(c.Predecessors()), Active: records(c.ActiveInOrder()),
		Notes: v.Status.Notes, Remembered: v.Backoff,
		Facts:  factsOf(v.Facts(o.Plan.PastDeadline())),
		Record: o.Plan.Record, Planned: o.Plan.End, End: o.End, Settled: o.Plan.Settled, Deadline: o.Plan.Timer(),
		Work: fmt.Sprint(work.Action, work.Managed, work.Want, work.Deferred), Wait: work.Wait,
		After: o.After, Account: o.Account, Status: o.Status, Changed: o.Changed, PutOff: o.PutOff,
		Claims: o.Claims, Strip: uids(o.Strip), Deferred: o.Deferred, Backoff: o.Backoff, Requeue: o.Requeue,
		Events: o.Events, Metrics: o.Metrics,
	}
	if o.Plan.Start != nil {
		s.Start = o.Plan.Start.Time
	}
	for _, d := range work.Delete {
		s.Delete = append(s.Delete, deletion{d.Record.Pod.UID, d.StripFirst, d.Cause})
	}
	for i, made := range work.Create {
		next := creation{Index: made.Index}
		if made.Replaces != nil {
			next.Replaces = made.Replaces.UID
		}
		if i == 0 {
			next.Pod = made.Pod()
		}
		s.Create = append(s.Create, next)
	}
	return s
}

func records(rs []*census.Record) (out []types.UID) {
	for _, r := range rs {
		out = append(out, r.Pod.UID)
	}
	return slices.Clip(out)
}

func uids(pods []*corev1.Pod) (out []types.UID) {
	for _, pod := range pods {
		out = append(out, pod.UID)
	}
	return out
}
