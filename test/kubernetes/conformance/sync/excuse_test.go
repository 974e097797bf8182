package sync

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/test/vectors"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
)

// An excuse implements a divergence of docs/divergences.md, under the same name. It makes the real
// controller behave as it would without the divergence, by changing its input or its output. Each
// function reports whether it changed anything.
type excuse struct {
	name   string
	until  int // the last minor version of Kubernetes with the divergence; 0: all that are compared
	input  func(*dispute) bool
	output func(*dispute) bool
}

// in reports whether a minor version of Kubernetes has the divergence.
func (e excuse) in(minor int) bool { return e.until == 0 || minor <= e.until }

// hasEnded reports whether the compared release no longer has a divergence.
func hasEnded(divergence string) bool {
	return slices.ContainsFunc(excuses, func(e excuse) bool { return e.name == divergence && !e.in(kubernetes.Minor()) })
}

// excuses are applied in this order. guarded-patches and order are missing because they apply to
// every trial (see guarded and inOrder).
var excuses = []excuse{
	{name: "backing-off-active", until: 35, output: activeWhileBackingOff},
	{name: "suspended-start-time", until: 35, output: noStartWhileSuspended},
	{name: "hidden-condition", input: showConditions, output: hideConditionsAgain},
	{name: "canonical-indexes", input: canonicalIndexes},
	{name: "uncounted-lists", input: uncountedLists},
	{name: "first-classification", input: firstClassification, output: withoutTwins},
	{name: "disjoint-indexes", input: withoutOverlap, output: spareAsFailIndex},
	{name: "saturation", input: withinRange, output: outOfRange},
	{name: "base-above-cap", input: baseWithinCap},
	{name: "adopted-and-deleted", input: orphansWithoutReference},
	{name: "full-lists", input: onlyListed, output: withoutUnlisted},
	{name: "kept-verdict", input: keepVerdict, output: withoutKept},
	{name: "predecessor", input: noneFailedLater},
	{name: "in-flight-end", input: seeInFlight, output: unseeInFlight},
	{name: "unobserved-counts", input: withoutUnobserved, output: withUnobserved},
	{name: whetherWritten, input: writeAlways},
	{name: "per-index-record", output: unchangedRecord},
	{name: "failed-deletion", until: 37, output: readyAfterFailure},
	{name: "gone-deletion", output: notReadyWhenGone},
	{name: "indexed-succeeded-list", output: succeededFromIndexes},
	{name: "stuck-succeeded", output: keepSucceeded},
	{name: "resume-start-time", output: keepStartTime},
	{name: "start-time", output: startAtEnd},
	{name: "completion-time", output: completeAfterStart},
	{name: "least-delay", output: leastDelay},
	{name: "saturation", output: untilDeadline},
	{name: "work-left", output: requeueForRest},
	{name: "creation-metric", until: 37, output: creationMetric},
	{name: "early-metric", output: earlyMetric},
	{name: "terminating-namespace", output: untilRefused},
	{name: "settle-metric", output: settleMetric},
	{name: "early-events", output: earlyEvents},
	{name: "stale-job", output: requeueUntilObserved},
	{name: "failed-claim", output: actionWithoutFault},
}

// whetherWritten is the excuse for whole-status and remembered-backoff, which have the same cause: the
// real controller does not write a status although it should. Other excuses also need it: with the
// changed input, the controller may have no reason to write.
const whetherWritten = "whether the status is written"

// A dispute is a trial in which the two sides differ.
type dispute struct {
	*trial
	us     *caller // what jobfate did
	direct *run    // what the real controller did
	them   *run    // what it does with the excuses
	// stored is the status before the sync, which the excuses do not change.
	stored *batchv1.JobStatus
	// planned is the action of the sync without failed claims. It is set if a claim fails.
	planned string
	// hidden has the pods that do not fit into full lists: see onlyListed. unlisted says that
	// an excuse made the removal of a finalizer fail.
	hidden    map[string]bool
	unlisted  bool
	kept      []types.UID     // the pods of keepVerdict
	failIndex map[string]bool // the pods that match a FailIndex rule, if spareCompleted has changed it
}

// explain returns the smallest set of divergences that explains the difference, and the part of the
// difference that they do not explain.
func explain(us *caller, direct *run) (names []string, diff string) {
	d := &dispute{trial: us.trial, us: us, direct: direct, stored: vectors.Normal(&us.snapshot.Job.Status)}
	if direct.claimFailed() {
		d.planned = d.plannedAction()
	}
	used, all := d.attempt(nil)
	if !all {
		return used, cmp.Diff(d.them.outcome, d.us.out)
	}
	var without []string
	for _, name := range used {
		if len(used) == 1 {
			break // without it there is the whole difference
		}
		others, all := d.attempt(append(without, name))
		if all && !slices.ContainsFunc(others, func(o string) bool { return !slices.Contains(used, o) }) {
			without = append(without, name)
		}
	}
	for _, name := range used {
		switch {
		case slices.Contains(without, name):
		case name == whetherWritten:
			names = append(names, d.unwritten()...)
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, "a difference without a name:\n" + cmp.Diff(direct.outcome, us.out)
	}
	return names, ""
}

// attempt applies all excuses except some. It returns those that changed anything, and whether they
// explain the whole difference. If the excuses add a status write, the faults are those of the writes after it.
func (d *dispute) attempt(without []string) (used []string, all bool) {
	used, added := d.apply(without, d.fail.Status)
	if added && len(d.fail.Status) > 0 {
		later := map[int]error{}
		for n, err := range d.fail.Status {
			later[n+1] = err
		}
		used, _ = d.apply(without, later)
	}
	return used, same(d.them.outcome, d.us.out)
}

// apply is attempt with some faults of status writes. It reports whether the excuses add a write.
func (d *dispute) apply(without []string, faults map[int]error) (used []string, added bool) {
	d.them, d.hidden, d.failIndex = &run{in: d.trial.input()}, map[string]bool{}, map[string]bool{}
	d.unlisted, d.kept = false, nil
	d.them.in.Fail.Status = faults
	for _, e := range excuses {
		if e.in(kubernetes.Minor()) && e.input != nil && !slices.Contains(without, e.name) && e.input(d) {
			used = append(used, e.name)
		}
	}
	d.them.sync()
	for _, e := range excuses {
		if e.in(kubernetes.Minor()) && e.output != nil && !slices.Contains(without, e.name) && e.output(d) && !slices.Contains(used, e.name) {
			used = append(used, e.name)
		}
	}
	return used, d.dropUnchanged()
}

// dropUnchanged drops a first status write that equals the stored status. It may be the effect of an
// excuse.
func (d *dispute) dropUnchanged() bool {
	o := &d.them.outcome
	dropped := len(o.Statuses) > 0 && same(o.Statuses[0].Status, d.stored)
	if dropped {
		o.StoredFirst = max(0, o.StoredFirst-1)
		if o.Statuses = o.Statuses[1:]; len(o.Statuses) == 0 {
			o.Statuses = nil
		}
	}
	if len(o.Strips) == 0 {
		o.StoredFirst = 0
	}
	return dropped
}

// unwritten returns the divergences under which jobfate writes or records something that the
// real controller does not.
func (d *dispute) unwritten() (names []string) {
	if d.us.decision.Status != nil && !d.wroteFirst() {
		names = append(names, "whole-status")
	}
	if !same(d.direct.outcome.Backoff, d.us.out.Backoff) {
		names = append(names, "remembered-backoff")
	}
	return names
}

// wroteFirst reports whether the real controller wrote the status before it
// removed finalizers.
func (d *dispute) wroteFirst() bool {
	o := &d.direct.outcome
	if len(o.Strips) > 0 {
		return o.StoredFirst > 0
	}
	return len(o.Statuses) > 0 && !ended(o.Statuses[0].Status)
}

// each calls f for each status of the real controller, and reports whether one has changed.
func (d *dispute) each(f func(*batchv1.JobStatus) bool) (changed bool) {
	for _, c := range d.them.outcome.Statuses {
		if f(c.Status) {
			changed = true
		}
	}
	return changed
}

func condition(st *batchv1.JobStatus, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range st.Conditions {
		if st.Conditions[i].Type == kind {
			return &st.Conditions[i]
		}
	}
	return nil
}

func isFinished(job *batchv1.Job) bool { return ended(&job.Status) }
