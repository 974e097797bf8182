package sync

import (
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/vectors"
)

// pair returns the name of a pair of features.
func pair(a, b string) string { return a + " × " + b }

// traitsOf returns the names of the features of a trial, in the order of the table.
func traitsOf(t *trial) (names []string) {
	for _, f := range traits {
		if f.in(t) {
			names = append(names, f.name)
		}
	}
	return names
}

// featuresOf returns the names of the features of a case.
func featuresOf(c *vectors.Case) []string {
	if c.Refused != "" {
		return []string{c.Refused}
	}
	return traitsOf(trialOf(c))
}

// goalsOf returns the goals that a trial reaches, in a fixed order: pairs of features, and pairs of a
// feature and an action of jobfate. There are none if jobfate rejects the input.
func goalsOf(t *trial) (all []string) {
	if t.impossible != "" {
		return []string{"refused " + t.impossible}
	}
	defer t.hold()()
	us, err := decide(t)
	if err != nil {
		return nil
	}
	has := traitsOf(t)
	for i, a := range has {
		for _, b := range has[i+1:] {
			all = append(all, pair(a, b))
		}
	}
	for _, does := range actionsOf(t, us) {
		for _, a := range has {
			all = append(all, pair(does, a))
		}
	}
	return all
}

// actionsOf returns the names of jobfate's actions in a trial.
func actionsOf(t *trial, us *caller) []string {
	does := map[string]bool{}
	for _, a := range actions {
		if a.in(t, us) {
			does[a.name] = true
		}
	}
	for name := range us.out.Metrics {
		does["count "+name] = true
	}
	stored := vectors.Normal(&t.snapshot.Job.Status)
	for _, c := range us.out.Statuses {
		for _, field := range changes(stored, c.Status) {
			does[field] = true
		}
		stored = c.Status
	}
	if us.settlement.Finished {
		for _, e := range us.out.Events {
			does["end "+e.Reason] = true
		}
	}
	if us.decision.Deferred != (jobfate.Deferred{}) {
		does["leave work"] = true
	}
	if us.out.Requeue > t.delay() {
		does["wait for a deadline"] = true
	}
	if last := us.out.Backoff.LastFailure; last != nil && !last.Equal(t.snapshot.Backoff.LastFailure) {
		does["remember a failure"] = true
	}
	return slices.Sorted(maps.Keys(does))
}

// actionPairs returns the pairs of jobfate's actions in a trial. There are none if jobfate rejects
// the input.
func actionPairs(t *trial) (pairs []string) {
	defer t.hold()()
	us, err := decide(t)
	if err != nil {
		return nil
	}
	does := actionsOf(t, us)
	for i, a := range does {
		for _, b := range does[i+1:] {
			pairs = append(pairs, a+" and "+b)
		}
	}
	return pairs
}

// changes returns the fields in which two statuses differ, each with "added", "changed" or "removed",
// and the reasons of new conditions.
func changes(before, after *batchv1.JobStatus) (names []string) {
	was, is := treeOf(before), treeOf(after)
	for field := range is {
		switch {
		case was[field] == nil:
			names = append(names, "add "+field)
		case text(was[field]) != text(is[field]):
			names = append(names, "change "+field)
		}
	}
	for field := range was {
		if is[field] == nil {
			names = append(names, "remove "+field)
		}
	}
	for _, c := range after.Conditions {
		if !isTrue(before, c.Type) {
			names = append(names, fmt.Sprintf("become %s: %s", c.Type, c.Reason))
		}
	}
	return names
}

// goals returns the goals that a case reaches. If it has options that Kubernetes does not have, these
// are the pairs of an option that changes the decision and a feature.
func goals(c *vectors.Case) (all []string) {
	set := extras(c)
	if len(set) == 0 || c.Refused != "" {
		return goalsOf(trialOf(c))
	}
	plain := *c
	withoutExtras(&plain)
	ours, err := c.Run()
	theirs, other := plain.Run()
	if err != nil || other != nil || text(ours) == text(theirs) {
		return nil
	}
	for _, option := range set {
		for _, a := range featuresOf(c) {
			all = append(all, pair(option, a))
		}
	}
	return all
}

// sketch returns the parts of an outcome that must not change while a case is made smaller: the kinds
// of writes, the claimed pods, the stored conditions, the events, whether there is a timer, and
// whether there is a backoff record.
func sketch(o *vectors.Outcome) string {
	if o == nil {
		return ""
	}
	does := map[string]bool{}
	for _, w := range o.Writes {
		does[string(w.Verb)] = true
		switch w.Verb {
		case vectors.Adopt, vectors.Release, vectors.Free:
			does[string(w.Verb)+" "+w.Pod] = true
		case vectors.Status:
			for _, condition := range w.Status.Conditions {
				does["condition "+string(condition.Type)] = true
			}
		}
	}
	for _, e := range o.Events {
		does["event "+e.Reason] = true
	}
	return fmt.Sprint(o.Action, slices.Sorted(maps.Keys(does)), o.Requeue > 0, o.Backoff.Failures > 0, o.Finished)
}

// validJob reports whether the API server would create the Job of a case. It returns true for cases
// about invalid Jobs.
func validJob(c *vectors.Case) bool {
	return c.Refused != "" || len(validation.Create(validation.Prepared(c.Snapshot.Job))) == 0
}

type group struct {
	name string
	in   func(*vectors.Case) bool
}

// groups lists the files. A case belongs to the first group that matches.
var groups = []group{
	{"refused", func(c *vectors.Case) bool { return c.Refused != "" }},
	{"options", func(c *vectors.Case) bool { return len(extras(c)) > 0 }},
	{"divergences", func(c *vectors.Case) bool { return len(c.Divergences) > 0 }},
	{"faults", func(c *vectors.Case) bool { return text(c.Faults) != "{}" }},
	{"pending", func(c *vectors.Case) bool { return text(c.Snapshot.Pending) != "{}" }},
	{"ending", func(c *vectors.Case) bool { return len(c.Snapshot.Job.Status.Conditions) > 0 }},
	{"failure-policy", func(c *vectors.Case) bool { return c.Snapshot.Job.Spec.PodFailurePolicy != nil }},
	{"success-policy", func(c *vectors.Case) bool { return c.Snapshot.Job.Spec.SuccessPolicy != nil }},
	{"per-index", func(c *vectors.Case) bool { return c.Snapshot.Job.Spec.BackoffLimitPerIndex != nil }},
	{"indexed", func(c *vectors.Case) bool { return indexed(c.Snapshot.Job) }},
	{"plain", func(*vectors.Case) bool { return true }},
}

func groupOf(c *vectors.Case) string {
	return groups[slices.IndexFunc(groups, func(g group) bool { return g.in(c) })].name
}
