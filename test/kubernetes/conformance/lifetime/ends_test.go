package lifetime

import (
	mathbits "math/bits"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// TestEnds runs each Job twice: with jobfate, and with the real controller with its default feature
// gates. Both have watches that stall, and observe the same Job, edits and pods. The Job must end
// in the same way, unless a divergence explains the difference. An entry of docs/divergences.md
// explains it if the difference vanishes when jobfate imitates Kubernetes in that entry.
func TestEnds(t *testing.T) {
	r := reach{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		them := &kubernetesSide{limits: p.limits}
		got, want := p.live(t, newJobfateSide(p, 0)), p.live(t, them)
		r["lives"]++
		if got.verdicts > 0 {
			r["lives with deletions for a verdict"]++
		}
		r["syncs of Kubernetes"] += them.syncs
		if r["syncs that Kubernetes skips as stale"] += them.skips; them.skips > 0 {
			r["lives in which Kubernetes skips a sync"]++
		}
		r["end: "+endOf(got).reason]++
		if endOf(got) == endOf(want) {
			r["ends equal"]++
			return
		}
		why := p.explain(t, want)
		if why == "" {
			t.Fatalf("jobfate: %+v\n%s\nKubernetes: %+v\n%s", endOf(got), got.story, endOf(want), want.story)
		}
		r["ends differ: "+why]++
	})
	r.print(t)
	want := []string{"syncs that Kubernetes skips as stale", "ends equal", "lives with deletions for a verdict"}
	if r["lives"] >= defaultChecks { // fewer may not reach these
		want = append(want, "ends differ: unobserved-counts", "ends differ: stored-verdict")
	}
	for _, name := range want {
		if r[name] == 0 {
			t.Errorf("no life reached: %s", name)
		}
	}
}

// Restarts exceed the limit while the watch of Jobs lags behind an edit. Kubernetes deletes the pods, its status
// conflicts, and the restarts end with the pods: the Job completes. jobfate stores the verdict before it deletes a pod.
func TestEnds_verdictThatKubernetesDrops(t *testing.T) {
	fixture.Checks(t, 20) // the plan is always the same
	rapid.Check(t, func(t *rapid.T) {
		job := jobtest.LivelyJobs().Draw(t, "metadata")
		n, limit, seed := int32(3), int32(1), uint64(4) // with an even seed pods that are told to stop exit with 0
		job.Spec = batchv1.JobSpec{Parallelism: &n, Completions: &n, BackoffLimit: &limit, Suspend: new(bool), Template: job.Spec.Template}
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		p := &plan{
			job: job, seed: seed, delay: 50 * time.Millisecond, attempts: 10, slowest: 40 * time.Second,
			stalls: map[string][]stall{"jobs": {{3900 * time.Millisecond, 20 * time.Second}}},
			edits:  []edit{{4 * time.Second, func(s *batchv1.JobSpec) { s.TTLSecondsAfterFinished = new(int32(86400)) }}},
		}
		got, want := p.live(t, newJobfateSide(p, 0)), p.live(t, &kubernetesSide{})
		if us, them := endOf(got).reason, endOf(want).reason; us != batchv1.JobReasonBackoffLimitExceeded || them != batchv1.JobReasonCompletionsReached {
			t.Fatalf("jobfate ends with %s, Kubernetes with %s\n%s\n%s", us, them, got.story, want.story)
		}
		if why := p.explain(t, want); why != "stored-verdict" {
			t.Fatalf("the ends are equal without %q", why)
		}
	})
}

// explain returns the smallest set of divergences without which the Job ends as with Kubernetes; empty
// if there is none.
func (p *plan) explain(t *rapid.T, want *life) string {
	all := make([]likeness, 1<<len(likenesses))
	for i := range all {
		all[i] = likeness(i)
	}
	size := func(l likeness) int { return mathbits.OnesCount8(uint8(l)) }
	slices.SortStableFunc(all, func(a, b likeness) int { return size(a) - size(b) })
	for _, like := range all[1:] {
		if endOf(p.live(t, newJobfateSide(p, like))) == endOf(want) {
			return like.String()
		}
	}
	return ""
}

// live returns the life of the Job of a plan.
func (p *plan) live(t *rapid.T, controller lifeController) *life {
	l := newLife(p, controller)
	if !l.run(48 * time.Hour) {
		t.Fatalf("%T: the Job does not end\n%s", controller, l.story)
	}
	if l.violation != "" {
		t.Fatalf("%s\n%s", l.violation, l.story)
	}
	return l
}

// ending is how a Job ends.
type ending struct {
	reason                   string
	succeeded, failed        int32
	completed, failedIndexes string
}

func endOf(l *life) (e ending) {
	st := &l.Job().Status
	for _, c := range st.Conditions {
		if c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed {
			e.reason = c.Reason
		}
	}
	e.succeeded, e.failed, e.completed = st.Succeeded, st.Failed, st.CompletedIndexes
	if st.FailedIndexes != nil {
		e.failedIndexes = *st.FailedIndexes
	}
	return e
}

func drawPlan(t *rapid.T) *plan {
	p := &plan{
		job: jobtest.LivelyJobs().Draw(t, "job"), seed: uint64(among(t, 1000, "seed")),
		delay: 50 * time.Millisecond, stalls: map[string][]stall{},
	}
	for _, n := range []*int32{p.job.Spec.Completions, p.job.Spec.Parallelism} {
		if n != nil {
			*n = min(*n, 10) // the Job must end
		}
	}
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	for _, w := range []string{"pods", "pods", "pods", "jobs"} {
		if chance(t, 60, w) {
			from, length := among(t, 90, "from"), pick(t, "length", 1, 3, 10, 30, 90)
			p.stalls[w] = append(p.stalls[w], stall{seconds(from), seconds(length)})
		}
	}
	p.succeeds, p.attempts = pick(t, "succeeds", 100, 90, 60, 30), 1+among(t, 4, "attempts")
	p.slowest = seconds(pick(t, "slowest", 2, 10, 40))
	change := func(after time.Duration, how func(*batchv1.JobSpec)) { p.edits = append(p.edits, edit{after, how}) }
	if chance(t, 30, "suspend") {
		change(seconds(among(t, 60, "at")), func(s *batchv1.JobSpec) { s.Suspend = new(true) })
	}
	if chance(t, 30, "edit that changes nothing") {
		change(seconds(among(t, 60, "at")), func(s *batchv1.JobSpec) { s.TTLSecondsAfterFinished = new(int32(86400)) })
	}
	if s := &p.job.Spec; s.PodFailurePolicy == nil && s.BackoffLimitPerIndex == nil && chance(t, 20, "restarts") {
		s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		s.BackoffLimit = new(int32(among(t, 4, "restarts that are allowed")))
	}
	if chance(t, 30, "scale") {
		n := int32(1 + among(t, 4, "parallelism"))
		change(seconds(among(t, 60, "at")), func(s *batchv1.JobSpec) { s.Parallelism = &n })
	}
	change(seconds(200), func(s *batchv1.JobSpec) {
		s.Suspend, s.Parallelism = new(false), new(max(1, *s.Parallelism))
	})
	if chance(t, 20, "small caps") {
		p.limits = real.Limits{MaxUncounted: 1 + among(t, 4, "uncounted cap"), MaxCreateDelete: 1 + among(t, 3, "changes cap")}
	}
	return p
}
