package lifetime

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/conformance/fixture"
	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/tracking"
)

const defaultChecks = 2500

// TestMain raises the number of lifetimes from rapid's 100, unless a flag sets it.
func TestMain(m *testing.M) {
	// Without flags the lifetimes are the same in each run, so that a failure is due to the
	// latest change.
	fixture.Default(map[string]string{"rapid.checks": strconv.Itoa(defaultChecks), "rapid.seed": "1"})
	m.Run()
}

const mostSteps = 60

// reach counts what the lifetimes reached.
type reach map[string]int

func TestLifetimes(t *testing.T) {
	r := reach{}
	rapid.Check(t, func(t *rapid.T) {
		l := newLifetime(t, r)
		l.live(t)
		l.end(t)
	})
	r.print(t)
	r.demand(t)
}

// demand fails the test for each feature that a run of the usual length should reach and did not:
// the lifetimes would not have tested it.
func (r reach) demand(t *testing.T) {
	if n := r["lifetimes"]; n < defaultChecks {
		t.Logf("%d lifetimes are too few to reach all features", n)
		return
	}
	names := []string{"small caps", "tampered lifetimes", "end: alone", "end: by deletion", "end: backoff rebuilt", "event: controller restarts"}
	for _, event := range slices.Concat(jobtest.Happenings()) {
		names = append(names, "event: "+event)
	}
	for _, reason := range []string{
		"BackoffLimitExceeded", "CompletionsReached", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy", "SuccessPolicy",
	} {
		names = append(names, "end: "+reason)
	}
	for _, what := range []string{
		"creates", "deletes", "strips", "claims", "backs off", "with faults", "with writes unseen", "with removals unseen", "with a stale cache", "after the end",
	} {
		names = append(names, "step "+what)
	}
	for _, name := range []string{"least-delay", "per-index-record", "in-flight-end", "kept-verdict", "start-time", "guarded-patches", "whole-status", "unobserved-counts"} {
		names = append(names, "excuse: "+name)
	}
	for _, name := range names {
		if r[name] == 0 {
			t.Errorf("no lifetime reached: %s", name)
		}
	}
}

// A lifetime is one Job and all events of its life.
type lifetime struct {
	reach
	jobtest.Life
	world    *world
	settings settings
	faulty   int // percent of syncs in which writes fail
	story    story
}

// A story says what has happened, one event in a line.
type story []string

func (s story) String() string { return strings.Join(s, "\n") }

func newLifetime(t *rapid.T, r reach) *lifetime {
	c, err := cluster.New(jobtest.LivelyJobs().Draw(t, "job"), jobtest.Noon())
	if err != nil {
		t.Fatalf("the API server rejects the Job: %v", err)
	}
	l := &lifetime{reach: r, Life: jobtest.Lives().Draw(t, "life")}
	l.world = newWorld(c, l.Tampered)
	if chance(t, 30, "small caps") {
		l.settings.limits.MaxUncounted = 1 + among(t, 4, "uncounted cap")
		l.settings.limits.MaxCreateDelete = 1 + among(t, 3, "changes cap")
		r["small caps"]++
	}
	l.settings.endsInFlight = rapid.Bool().Draw(t, "ends in flight")
	if l.Tampered {
		r["tampered lifetimes"]++
	}
	l.faulty = pick(t, "faulty", 0, 0, 0, 25)
	r.features(c.Job())
	return l
}

func (l *lifetime) say(format string, args ...any) {
	l.story = append(l.story, fmt.Sprintf(format, args...))
}

// live runs the steps of the Job, with both controllers in lockstep.
func (l *lifetime) live(t *rapid.T) {
	l.reach["lifetimes"]++
	l.say("caps %+v, ends in flight %t", l.settings.limits, l.settings.endsInFlight)
	after := 0
	for range 1 + among(t, mostSteps, "steps") {
		l.step(t)
		if l.world.Job() == nil {
			return
		}
		if terminal(l.world.Job()) {
			if after++; after > 2 {
				return
			}
		}
	}
}

func (l *lifetime) step(t *rapid.T) {
	l.reach["steps"]++
	w := l.world
	for range among(t, 4, "events") {
		l.happens(t)
	}
	w.CollectGarbage()
	if w.Job() == nil {
		return
	}
	for _, uid := range l.CatchUp(t, w.cache) {
		w.observed(uid)
	}
	if w.stale() {
		l.reach["step with a stale cache"]++
	}
	c := &comparison{before: w, settings: l.settings, faults: l.drawFaults(t)}
	if terminal(w.Job()) {
		l.afterTheEnd(t)
		return
	}
	var err error
	c.got, c.decision, err = jobfateSyncs(w, l.settings, c.faults)
	if err != nil {
		t.Fatalf("jobfate: %v\n%s", err, l.describe(c))
	}
	if c.got.refused != nil {
		t.Fatalf("S11: the API server rejects jobfate's status: %v\n%s", c.got.refused, l.describe(c))
	}
	if err := c.got.world.judge.verdict; err != nil {
		t.Fatalf("%v\n%s", err, l.describe(c))
	}
	if w.skippedByKubernetes() {
		// Compare what it would do without its gate.
		l.reach["step that Kubernetes skips as stale"]++
	}
	c.want, c.out = kubernetesSyncs(w, l.settings, c.faults)
	if c.out.Panic != nil {
		t.Fatalf("Kubernetes panics: %v\n%s", c.out.Panic, l.describe(c))
	}
	if err := c.sameMemory(); err != nil {
		t.Fatalf("%v\n%s", err, l.describe(c))
	}
	l.say("  sync: %s; %s", explain.Of(c.decision).Job().Text, describeOutcome(c.got))
	if diff := c.difference(); diff != "" {
		names, ok := c.explain()
		if !ok {
			t.Fatalf("%s\n%s", diff, l.describe(c))
		}
		for _, name := range names {
			l.reach["excuse: "+name]++
		}
		l.say("  excused: %v", names)
	} else {
		l.reach["steps equal"]++
	}
	l.note(c)
	l.world = c.got.world
	if l.world.requeueAt = (time.Time{}); c.got.requeue > 0 {
		l.world.requeueAt = l.world.Now.Add(c.got.requeue)
	}
}

// happens draws one event and applies it.
func (l *lifetime) happens(t *rapid.T) {
	name := "controller restarts"
	if w := l.world; among(t, 200, "restart") == 199 && w.Job() != nil {
		w.restart()
	} else {
		old := w.Job()
		name = l.Happen(t, w.Cluster, w.requeueAt)
		if now := w.Job(); now != nil && now != old && now.DeletionTimestamp == nil {
			if _, errs := apiserver.Update(old, now); len(errs) > 0 {
				t.Fatalf("the API server rejects a change of the Job: %v", errs)
			}
		}
	}
	if name != "" {
		l.say("%s", name)
		l.reach["event: "+name]++
	}
}

// sameMemory checks that the lifetime and the real controller agree on which writes are in flight.
func (c *comparison) sameMemory() error {
	w := c.want.world
	if c.out.Creations != len(w.created) {
		return fmt.Errorf("Kubernetes expects %d creations, %d are not observed", c.out.Creations, len(w.created))
	}
	if !c.settings.endsInFlight && c.out.Deletions != len(w.deleted) {
		return fmt.Errorf("Kubernetes expects %d deletions, %d are not observed", c.out.Deletions, len(w.deleted))
	}
	return nil
}

func (l *lifetime) drawFaults(t *rapid.T) faults {
	f := noFaults()
	if l.faulty == 0 || !chance(t, l.faulty, "writes fail") {
		return f
	}
	switch among(t, 4, "which") {
	case 0:
		f.status = among(t, 2, "status write")
		return f
	case 1:
		f.create = among(t, 5, "creation")
		return f
	case 2:
		f.deletion = true
	case 3:
		f.strip = true
	}
	f.pods = uids{}
	for _, pod := range l.world.Pods() {
		if rapid.Bool().Draw(t, "pod fails") {
			f.pods[pod.UID] = true
		}
	}
	return f
}

// afterTheEnd compares which finalizers are removed once the Job is finished. The real controller
// does that from its queue of orphans.
func (l *lifetime) afterTheEnd(t *rapid.T) {
	w := l.world
	d, err := jobfate.Decide(snapshot(w), l.settings.options()...)
	if err != nil {
		t.Fatalf("jobfate: %v", err)
	}
	strip := uids{}
	for _, pod := range d.Strip {
		strip[pod.UID] = true
	}
	for _, claim := range d.Claim { // a release removes the finalizer too
		strip[claim.Pod.UID] = true
	}
	for _, pod := range w.seen() {
		if w.stripped[pod.UID] || len(pod.OwnerReferences) == 0 {
			continue
		}
		if got, want := strip[pod.UID], real.StripsOrphan(pod, w.Job()); got != want {
			t.Fatalf("the Job has ended; jobfate removes the finalizer of %s: %t, Kubernetes: %t\n%s", pod.UID, got, want, l.story)
		}
	}
	if out, _ := kubernetesSyncs(w, l.settings, noFaults()); len(out.statuses)+len(out.created)+len(out.deleted) > 0 || d.Status != nil {
		t.Fatalf("a Job that has ended is changed")
	}
	l.reach["step after the end"]++
	for _, claim := range d.Claim {
		if claim.Relation == tracking.Releasable {
			w.release(claim.Pod.UID)
		} else {
			w.strip(claim.Pod.UID)
		}
	}
	for _, pod := range d.Strip {
		l.reach["finalizer left at the end"]++
		w.strip(pod.UID)
		w.stripped[pod.UID] = true
	}
}

func describeOutcome(o *outcome) string {
	var b strings.Builder
	for what, list := range map[string][]types.UID{"creates": o.created, "deletes": o.deleted, "strips": o.stripped} {
		if len(list) > 0 {
			fmt.Fprintf(&b, "%s %v ", what, list)
		}
	}
	if o.requeue > 0 {
		fmt.Fprintf(&b, "requeues after %v ", o.requeue)
	}
	for _, st := range o.statuses {
		fmt.Fprintf(&b, "status %s ", text(st))
	}
	return b.String()
}

func (l *lifetime) describe(c *comparison) string {
	var b strings.Builder
	spec := c.before.Job().Spec
	spec.Template, spec.Selector = corev1.PodTemplateSpec{}, nil
	fmt.Fprintf(&b, "spec %s\nstory:\n%s\n", text(spec), l.story)
	fmt.Fprintf(&b, "now %v, settings %+v, faults %+v\nstatus before %s\nin flight %s\nmemory %s\n", c.before.Now, c.settings, c.faults, text(c.before.Job().Status), inFlight(c.before), text(c.before.memory))
	for _, pod := range c.before.seen() {
		fmt.Fprintf(&b, "  seen   %s %s\n", describe(pod), text(pod.Status))
	}
	for _, pod := range c.before.Pods() {
		fmt.Fprintf(&b, "  stored %s\n", describe(pod))
	}
	fmt.Fprintf(&b, "jobfate: %s\n", describeOutcome(c.got))
	if c.want != nil {
		fmt.Fprintf(&b, "Kubernetes: %s error %v refused %v\n", describeOutcome(c.want), c.out.Err, c.want.refused)
		for _, call := range c.out.Calls {
			fmt.Fprintf(&b, "  %s %s %v\n", call.Kind, call.Pod, call.Err)
		}
	}
	return b.String()
}

func (r reach) features(job *batchv1.Job) {
	s := &job.Spec
	for name, has := range map[string]bool{
		"Indexed":            isIndexed(job),
		"no completions":     s.Completions == nil,
		"per index":          s.BackoffLimitPerIndex != nil,
		"maxFailedIndexes":   s.MaxFailedIndexes != nil,
		"failure policy":     s.PodFailurePolicy != nil,
		"success policy":     s.SuccessPolicy != nil,
		"replacement Failed": s.PodReplacementPolicy != nil && *s.PodReplacementPolicy == batchv1.Failed,
		"OnFailure":          s.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure,
		"deadline":           s.ActiveDeadlineSeconds != nil,
	} {
		if has {
			r["feature: "+name]++
		}
	}
}

// note counts the features of a step.
func (l *lifetime) note(c *comparison) {
	for name, has := range map[string]bool{
		"creates":              len(c.got.created) > 0,
		"deletes":              len(c.got.deleted) > 0,
		"strips":               len(c.got.stripped) > 0,
		"with faults":          c.faults.any(),
		"Kubernetes refused":   c.want.refused != nil,
		"backs off":            c.got.requeue > 0,
		"with writes unseen":   len(c.before.created)+len(c.before.deleted) > 0,
		"claims":               c.got.claimed > 0,
		"with removals unseen": len(c.before.stripped) > 0,
	} {
		if has {
			l.reach["step "+name]++
		}
	}
	if terminal(c.got.world.Job()) {
		for _, cond := range c.got.world.Job().Status.Conditions {
			if cond.Type == batchv1.JobComplete || cond.Type == batchv1.JobFailed {
				l.reach["end: "+cond.Reason]++
			}
		}
	}
}

func (r reach) print(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		t.Logf("%8d %s", r[name], name)
	}
}

func equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

var text, isTrue = fixture.Text, fixture.IsTrue

func pods(w *world) string {
	var lines []string
	for _, pod := range w.Pods() {
		lines = append(lines, describe(pod))
	}
	return strings.Join(lines, "; ")
}

func inFlight(w *world) string {
	return fmt.Sprint("created ", w.created, " deleted ", w.deleted, " stripped ", w.stripped)
}

func describe(p *corev1.Pod) string {
	del := ""
	if p.DeletionTimestamp != nil {
		del = " deleted"
	}
	if !builtin.HasFinalizer(p) {
		del += " stripped"
	}
	return fmt.Sprintf("%s %s%s index %d counts %+v rv %s", p.UID, p.Status.Phase, del, builtin.IndexOf(p), builtin.CountsOf(p.Annotations), p.ResourceVersion)
}
