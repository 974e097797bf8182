package sync

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// reach counts what random trials have reached.
type reach struct {
	trials   int // trials with a decision
	differed int // trials with a decision that needed an excuse
	features counts
	hidden   counts // hidden conditions, by type
	pairs    counts // pairs of features
	actions  counts
	ends     counts // ends of Jobs, by reason
	excuses  counts
}

// counts are numbers by name. They are nil until something is counted.
type counts map[string]int

func (c *counts) add(name string) {
	if *c == nil {
		*c = counts{}
	}
	(*c)[name]++
}

// note counts the features of a trial and of its decision.
func (r *reach) note(c *trial, us *caller) {
	r.trials++
	has := traitsOf(c)
	for i, a := range has {
		r.features.add(a)
		for _, b := range has[i+1:] {
			r.pairs.add(pair(a, b))
		}
	}
	for _, kind := range conditionTypes {
		if _, ok := hiddenOf(&c.snapshot.Job.Status, kind); ok {
			r.hidden.add(string(kind))
		}
	}
	for _, a := range actions {
		if a.in(c, us) {
			r.actions.add(a.name)
		}
	}
	for _, event := range us.out.Events {
		if us.settlement.Finished {
			r.ends.add(event.Reason)
		}
	}
	if len(c.snapshot.Pods) > 1 {
		r.excuses.add("order")
	}
	if slices.ContainsFunc(slices.Concat(us.out.Deletions, us.out.Strips), func(c call) bool { return c.Patch != "" }) {
		r.excuses.add("guarded-patches")
	}
}

func (r *reach) print(w io.Writer) {
	fmt.Fprintf(w, "decisions compared: %d, of which %d needed an excuse\n", r.trials, r.differed)
	for _, t := range []struct {
		title string
		of    counts
	}{{"features", r.features}, {"conditions hidden behind one that is not True", r.hidden}, {"actions", r.actions}, {"ends", r.ends}, {"divergences", r.excuses}} {
		fmt.Fprintf(w, "%s:\n", t.title)
		for _, name := range slices.Sorted(maps.Keys(t.of)) {
			fmt.Fprintf(w, "  %7d %s\n", t.of[name], name)
		}
	}
	rarest := slices.SortedFunc(maps.Keys(r.pairs), func(a, b string) int { return r.pairs[a] - r.pairs[b] })
	fmt.Fprintf(w, "pairs of features: %d, of which the rarest:\n", len(rarest))
	for _, name := range rarest[:min(12, len(rarest))] {
		fmt.Fprintf(w, "  %7d %s\n", r.pairs[name], name)
	}
}

// check fails if something was reached too rarely. The floors are for 100,000 trials, and far below
// the usual numbers. A short run checks nothing.
func (r *reach) check(t *testing.T) {
	if r.trials < 50_000 {
		return
	}
	scale := float64(r.trials) / 100_000
	atLeast := func(floor int, n int, name string) {
		if float64(n) < float64(floor)*scale {
			t.Errorf("%s: reached %d times in %d trials, want at least %.0f", name, n, r.trials, float64(floor)*scale)
		}
	}
	for i, a := range traits {
		atLeast(200, r.features[a.name], a.name)
		for _, b := range traits[i+1:] {
			if !excludes(a.name, b.name) {
				// A small part of the number for independent features.
				floor := r.features[a.name] * r.features[b.name] / r.trials / 50
				atLeast(max(1, int(float64(floor)/scale)), r.pairs[pair(a.name, b.name)], pair(a.name, b.name))
			}
		}
	}
	for _, kind := range conditionTypes {
		atLeast(100, r.hidden[string(kind)], "a hidden "+string(kind))
	}
	for _, a := range actions {
		atLeast(200, r.actions[a.name], a.name)
	}
	for _, end := range ends {
		atLeast(20, r.ends[end], "the end "+end)
	}
	for _, name := range divergences() {
		if !slices.Contains(rare, name) && !hasEnded(name) {
			atLeast(max(10, floors[name]), r.excuses[name], "the divergence "+name)
		}
	}
}

// ends lists the events with which a Job ends.
var ends = []string{
	"Completed", "TooManySucceededPods", "BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy",
	"MaxFailedIndexesExceeded", "FailedIndexes",
}

// rare lists the divergences that occur at most a few times in 100,000 random trials, or in none. A run
// may miss them; other tests show all divergences.
var rare = []string{"adopted-and-deleted", "base-above-cap", "remembered-backoff", "whole-status", "no-labels", "name-taken", "selected-orphan"}

// floors has the floors of divergences that need more than a few trials.
var floors = map[string]int{"hidden-condition": 100}

// apart lists the divergences that no excuse shows, or that apply to every trial. Each has a test of its own.
var apart = []string{"guarded-patches", "order", "impossible-input", "no-labels", "name-taken", "selected-orphan"}

// divergences returns the names of all divergences from 1.36 and later that are not copied.
func divergences() []string {
	names := append(slices.Clone(apart), "whole-status", "remembered-backoff")
	for _, e := range excuses {
		if e.in(36) && e.name != whetherWritten && !slices.Contains(names, e.name) {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return names
}

// traits lists the features of trials. A trial has the feature of a pod if it has such a pod.
var traits = slices.Concat(specFeatures, gateFeatures(), ruleFeatures(), statusFeatures, podFeatures)

// traitsOf returns the names of the features of a trial, in the order of the table.
func traitsOf(t *trial) (names []string) {
	for _, f := range traits {
		if f.in(t) {
			names = append(names, f.name)
		}
	}
	return names
}

// pair returns the name of a pair of features.
func pair(a, b string) string { return a + " × " + b }

type feature struct {
	name string
	in   func(*trial) bool
}

func onSpec(name string, in func(*batchv1.JobSpec) bool) feature {
	return feature{name, func(c *trial) bool { return in(&c.snapshot.Job.Spec) }}
}

func onStatus(name string, in func(*batchv1.JobStatus) bool) feature {
	return feature{name, func(c *trial) bool { return in(&c.snapshot.Job.Status) }}
}

var actions = []struct {
	name string
	in   func(*trial, *caller) bool
}{
	{"create", func(_ *trial, us *caller) bool { return len(us.decision.Create) > 0 }},
	{"create for an index", func(c *trial, us *caller) bool { return len(us.decision.Create) > 0 && indexed(c.snapshot.Job) }},
	{"create a replacement", func(_ *trial, us *caller) bool {
		return slices.ContainsFunc(us.decision.Create, func(c decide.Creation) bool { return c.Replaces != nil })
	}},
	{"delete, because the Job ends", deletes("JobEnds")},
	{"delete, because of suspension", deletes("Suspended")},
	{"delete, because there are too many", deletes("TooMany")},
	{"delete, because of a duplicate", deletes("DuplicateIndex")},
	{"delete, because the index is too high", deletes("IndexBeyondCompletions")},
	{"delete, because there is no index", deletes("NoIndex")},
	{"adopt", claims(decide.ClaimAdopt)},
	{"release", claims(decide.ClaimRelease)},
	{"free an orphan", claims(decide.ClaimFree)},
	{"store a status", func(_ *trial, us *caller) bool { return us.decision.Status != nil }},
	{"strip", func(_ *trial, us *caller) bool { return len(us.decision.Strip) > 0 }},
	{"settle", func(_ *trial, us *caller) bool { return us.settlement.Status != nil }},
	{"finish", func(_ *trial, us *caller) bool { return us.settlement.Finished }},
	{"wait", func(_ *trial, us *caller) bool { return us.out.Requeue > 0 }},
	{"suspend", emits("Suspended")},
	{"resume", emits("Resumed")},
	{"fail to create", failsTo(func(us *caller) []call { return us.out.Creations })},
	{"fail to delete", failsTo(func(us *caller) []call { return us.out.Deletions })},
	{"fail to strip", failsTo(func(us *caller) []call { return us.out.Strips })},
	{"fail to claim", failsTo(func(us *caller) []call { return us.out.Claims })},
	{"fail to store", failsTo(func(us *caller) []call { return us.out.Statuses })},
	{"do nothing", func(_ *trial, us *caller) bool { return us.decision.Idle() }},
}

func deletes(cause string) func(*trial, *caller) bool {
	return func(_ *trial, us *caller) bool {
		return slices.ContainsFunc(us.decision.Delete, func(d decide.Deletion) bool { return d.Cause == cause })
	}
}

func claims(action string) func(*trial, *caller) bool {
	return func(_ *trial, us *caller) bool {
		return slices.ContainsFunc(us.decision.Claim, func(c decide.Claim) bool { return c.Action == action })
	}
}

func emits(reason string) func(*trial, *caller) bool {
	return func(_ *trial, us *caller) bool {
		return slices.ContainsFunc(us.out.Events, func(e real.Event) bool { return e.Reason == reason })
	}
}

func failsTo(calls func(*caller) []call) func(*trial, *caller) bool {
	return func(_ *trial, us *caller) bool { return slices.ContainsFunc(calls(us), call.failed) }
}
