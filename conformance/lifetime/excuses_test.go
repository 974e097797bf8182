package lifetime

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/indexset"
)

// A comparison is one step of both controllers.
type comparison struct {
	before   *world
	settings settings
	faults   faults
	decision jobfate.Decision
	got      *outcome // jobfate's
	want     *outcome // the real controller's
	out      real.Output
}

// An excuse is an entry of docs/divergences.md.
type excuse struct {
	name string
	// holds reports whether the condition of the entry holds. It may change want to what
	// jobfate does according to the entry; then everything else must be equal. Or it returns
	// the verdict that the entry explains every difference.
	holds func(c *comparison) verdict
}

type verdict int

const (
	no verdict = iota
	mended
	everything
)

func everythingIf(holds bool) verdict {
	if holds {
		return everything
	}
	return no
}

// explain returns the names of the excuses, or false.
func (c *comparison) explain() ([]string, bool) {
	var names []string
	for _, e := range excuses {
		switch e.holds(c) {
		case mended:
			names = append(names, e.name)
		case everything:
			return append(names, e.name), true
		}
		if len(names) > 0 && c.difference() == "" {
			return names, true
		}
	}
	return names, false
}

var excuses = []excuse{
	{"unobserved-counts", unobservedCounts},
	{"least-delay", leastDelay},
	{"work-left", workLeft},
	{"per-index-record", perIndexRecord},
	{"remembered-backoff", rememberedBackoff},
	{"disjoint-indexes", disjointIndexes},
	{"start-time", startTime},
	{"stuck-succeeded", stuckSucceeded},
	{"completion-time", completionTime},
	{"in-flight-end", inFlightEnd},
	{"kept-verdict", keptVerdict},
	{"full-lists", fullLists},
	{"first-classification", firstClassification},
	{"guarded-patches", guardedPatches},
	{"failed-deletion", failedDeletion},
	{"predecessor", predecessor},
	{"whole-status", wholeStatus},
}

// Some indexes may get a pod now, and others are backing off: jobfate requeues after the least
// delay.
func leastDelay(c *comparison) verdict {
	if !c.perIndex() || len(c.decision.Create) == 0 || c.got.requeue == 0 || c.want.requeue != 0 && c.want.requeue <= c.got.requeue {
		return no
	}
	c.want.requeue = c.got.requeue
	return mended
}

// Because of a cap, pods or the end of the Job are left for the next sync: jobfate requeues after
// the batch period.
func workLeft(c *comparison) verdict {
	f := c.decision.Facts() // the status with the end may not be stored yet
	left := c.decision.Deferred != (jobfate.Deferred{}) || f != nil && f.Ending.Type != "" && !terminal(c.got.world.Job())
	if !left || c.settings.limits == (real.Limits{}) || c.got.requeue != time.Second || c.want.requeue != 0 && c.want.requeue <= time.Second {
		return no
	}
	c.want.requeue = c.got.requeue
	return mended
}

// With a backoff limit per index, the failure counts are in annotations of the pods.
func perIndexRecord(c *comparison) verdict {
	if !c.perIndex() || cmp.Equal(c.want.world.memory, c.got.world.memory) || !cmp.Equal(c.got.world.memory, c.before.memory) {
		return no
	}
	c.want.world.memory = c.got.world.memory
	return mended
}

// A finished pod does not change the status: an Ignore rule matches it, it waits for its
// replacement, or its index is already completed.
func rememberedBackoff(c *comparison) verdict {
	write, strip := c.first(real.WriteStatus), c.first(real.Strip)
	written := write >= 0 && (strip < 0 || write < strip) // before any finalizer was removed
	if written || cmp.Equal(c.want.world.memory, c.got.world.memory) || !slices.ContainsFunc(c.before.seen(), c.changesNothing) {
		return no
	}
	c.want.world.memory = c.got.world.memory
	return mended
}

func (c *comparison) changesNothing(pod *corev1.Pod) bool {
	switch {
	case !builtin.HasFinalizer(pod) || c.before.stripped[pod.UID]:
		return false
	case pod.Status.Phase == corev1.PodSucceeded:
		completed, _ := indexset.Parse(c.before.Job().Status.CompletedIndexes)
		return completed.Contains(builtin.IndexOf(pod))
	case pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil:
		return c.perIndex() || c.ignored(pod)
	}
	return false
}

func (c *comparison) first(kind real.Kind) int {
	return slices.IndexFunc(c.out.Calls, func(call real.Call) bool { return call.Kind == kind })
}

func (c *comparison) ignored(pod *corev1.Pod) bool {
	return real.MatchFailurePolicy(policyOf(c.before.Job()), pod).Action == batchv1.PodFailurePolicyActionIgnore
}

// Kubernetes writes a status with an index in both sets.
func disjointIndexes(c *comparison) verdict {
	for _, st := range c.want.statuses {
		if st.FailedIndexes == nil {
			continue
		}
		completed, _ := indexset.Parse(st.CompletedIndexes)
		failed, _ := indexset.Parse(*st.FailedIndexes)
		if completed.IntersectionLen(failed) > 0 {
			return everything
		}
	}
	return no
}

// Kubernetes ends a Job that has no start time.
func startTime(c *comparison) verdict {
	for i, st := range c.want.statuses {
		if st.StartTime != nil || !isTrue(st, batchv1.JobComplete) && !isTrue(st, batchv1.JobFailed) {
			continue
		}
		if c.want.refused != nil {
			return everything
		}
		if i < len(c.got.statuses) && c.got.statuses[i].StartTime != nil {
			st := c.want.world.Job().Status
			st.StartTime = c.got.world.Job().Status.StartTime
			c.want.world.SetStatus(st)
			return mended
		}
	}
	return no
}

// The counter is above the number of completed indexes, and must not decrease.
func stuckSucceeded(c *comparison) verdict {
	spec, st := &c.before.Job().Spec, &c.before.Job().Status
	if !isIndexed(c.before.Job()) || *spec.Completions == *spec.Parallelism || c.want.refused == nil {
		return no
	}
	completed, _ := indexset.ParseDamaged(st.CompletedIndexes, *spec.Completions)
	return everythingIf(int(st.Succeeded) > completed.Len())
}

// Kubernetes writes a completion time before the start time.
func completionTime(c *comparison) verdict {
	early := func(st *batchv1.JobStatus) bool {
		return st.CompletionTime != nil && st.StartTime != nil && st.CompletionTime.Before(st.StartTime)
	}
	return everythingIf(c.want.refused != nil && slices.ContainsFunc(c.want.statuses, early))
}

// Kubernetes ends a Job with success before all writes are observed.
func inFlightEnd(c *comparison) verdict {
	if len(c.before.created)+len(c.before.deleted) == 0 || decided(&c.before.Job().Status) {
		return no
	}
	met := func(st *batchv1.JobStatus) bool { return isTrue(st, batchv1.JobSuccessCriteriaMet) }
	return everythingIf(slices.ContainsFunc(c.want.statuses, met) && !met(&c.got.world.Job().Status))
}

// Kubernetes removes the finalizer of a pod that fails the Job, without storing the verdict.
func keptVerdict(c *comparison) verdict {
	if c.before.Job().DeletionTimestamp != nil || decided(&c.want.world.Job().Status) {
		return no
	}
	counted := slices.Clone(c.want.stripped)
	for _, st := range c.want.statuses { // the removal of the finalizer may have failed
		if u := st.UncountedTerminatedPods; u != nil {
			counted = append(counted, u.Failed...)
		}
	}
	for _, uid := range counted {
		rule := real.MatchFailurePolicy(policyOf(c.before.Job()), c.before.shown(uid))
		if rule.Action == batchv1.PodFailurePolicyActionFailJob && !slices.Contains(c.got.stripped, uid) {
			return everything
		}
	}
	return no
}

// The lists are full of pods that still have their finalizer.
func fullLists(c *comparison) verdict {
	u := c.before.Job().Status.UncountedTerminatedPods
	if u == nil || c.settings.limits.MaxUncounted == 0 {
		return no
	}
	held := 0
	for _, uid := range append(slices.Clone(u.Failed), u.Succeeded...) {
		if builtin.HasFinalizer(c.before.shown(uid)) && !c.before.stripped[uid] {
			held++
		}
	}
	return everythingIf(held >= c.settings.limits.MaxUncounted)
}

// A recorded pod is observed in another phase.
func firstClassification(c *comparison) verdict {
	u := c.before.Job().Status.UncountedTerminatedPods
	if u == nil {
		return no
	}
	flipped := func(phase corev1.PodPhase) func(types.UID) bool {
		return func(uid types.UID) bool {
			pod := c.before.shown(uid)
			return pod != nil && pod.Status.Phase == phase && builtin.HasFinalizer(pod) && !c.before.stripped[uid]
		}
	}
	return everythingIf(slices.ContainsFunc(u.Failed, flipped(corev1.PodSucceeded)) || slices.ContainsFunc(u.Succeeded, flipped(corev1.PodFailed)))
}

// A pod has changed before its finalizer could be removed for its deletion.
func guardedPatches(c *comparison) verdict { return everythingIf(c.got.stale) }

// The deletion of a ready pod failed, and Kubernetes reports one ready pod too few. Or the
// pod was already gone when the controller was about to remove its finalizer, and Kubernetes
// still counts it as ready, which the API server may reject.
func failedDeletion(c *comparison) verdict {
	failed := false
	for _, call := range c.out.Calls {
		if call.Kind != real.Delete && call.Kind != real.StripToDelete || call.Err == nil {
			continue
		}
		for _, pod := range c.before.seen() {
			failed = failed || pod.Name == call.Pod && podutil.IsPodReady(pod)
		}
	}
	switch {
	case !failed:
		return no
	case c.want.refused != nil:
		st := c.want.statuses[0]
		return everythingIf(*st.Ready > st.Active)
	}
	st := c.want.world.Job().Status
	st.Ready = c.got.world.Job().Status.Ready
	c.want.world.SetStatus(st)
	return mended
}

// The pod of an index with the highest failure count is not the one that failed last.
func predecessor(c *comparison) verdict {
	if !c.perIndex() {
		return no
	}
	for _, a := range c.before.seen() {
		for _, b := range c.before.seen() {
			if a == b || builtin.IndexOf(a) != builtin.IndexOf(b) || !builtin.HasFinalizer(a) || !builtin.HasFinalizer(b) {
				continue
			}
			if builtin.CountsOf(a.Annotations).Compare(builtin.CountsOf(b.Annotations)) < 0 && backoff.FinishTime(a).After(backoff.FinishTime(b)) {
				return everything
			}
		}
	}
	return no
}

// Only startTime or succeeded must change.
func wholeStatus(c *comparison) verdict {
	if len(c.want.statuses) > 0 || len(c.got.statuses) != 1 {
		return no
	}
	st, got := c.want.world.Job().Status, &c.got.world.Job().Status
	st.StartTime, st.Succeeded = got.StartTime, got.Succeeded
	c.want.world.SetStatus(st)
	c.want.world.memory = c.got.world.memory
	return mended
}

func (c *comparison) perIndex() bool { return c.before.Job().Spec.BackoffLimitPerIndex != nil }

// difference describes how the worlds differ. It is empty if they are equal.
func (c *comparison) difference() string {
	var lines []string
	say := func(what, want, got string) {
		if want != got {
			lines = append(lines, what+":\n  Kubernetes "+want+"\n  jobfate    "+got)
		}
	}
	w, g := c.want, c.got
	if a, b := *w.world.Job(), *g.world.Job(); !equal(a.Status, b.Status) {
		say("status", text(a.Status), text(b.Status))
	}
	if a, b := w.world.stored(), g.world.stored(); !equal(a, b) {
		say("pods", pods(w.world), pods(g.world))
		if len(lines) == 0 {
			say("pods", text(a), text(b))
		}
	}
	say("writes to pods", fmt.Sprint(w.world.writes), fmt.Sprint(g.world.writes))
	say("in flight", inFlight(w.world), inFlight(g.world))
	if !cmp.Equal(w.world.memory, g.world.memory) {
		say("memory", text(w.world.memory), text(g.world.memory))
	}
	say("requeue", w.requeue.String(), g.requeue.String())
	say("events", text(w.events), text(g.events))
	return strings.Join(lines, "\n")
}

func policyOf(job *batchv1.Job) *batchv1.PodFailurePolicy {
	if p := job.Spec.PodFailurePolicy; p != nil {
		return p
	}
	return &batchv1.PodFailurePolicy{}
}
