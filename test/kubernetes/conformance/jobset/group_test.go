package jobset_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/constants"
	"sigs.k8s.io/jobset/pkg/features"

	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/group/jobs"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/jobset"
)

var decisions = flag.Int("decisions", 20_000, "how many decisions to compare")

// policyOf returns the failure policy of a JobSet for package group. All restarts that count share
// one budget; if it is used up, the set fails. JobSet accepts patterns that are no regular expressions, and rules behind
// one that matches all failures: Lenient drops them.
func policyOf(set *v1alpha2.JobSet) *group.Policy {
	policy := set.Spec.FailurePolicy
	if policy == nil {
		return &group.Policy{} // "The JobSet is always declared failed if any job in the set finished with status failed."
	}
	counted := []string{"maxRestarts"}
	steps := map[v1alpha2.FailurePolicyAction]group.Step{
		v1alpha2.FailJobSet:                        {Action: group.FailGroup},
		v1alpha2.RestartJobSet:                     {Action: group.RestartGroup, Charges: counted},
		v1alpha2.RestartJobSetAndIgnoreMaxRestarts: {Action: group.RestartGroup},
		v1alpha2.RestartJob:                        {Action: group.RestartMember, Charges: counted},
		v1alpha2.RestartJobAndIgnoreMaxRestarts:    {Action: group.RestartMember},
	}
	p := &group.Policy{Budgets: []group.Budget{{Name: "maxRestarts", Max: policy.MaxRestarts}}}
	for _, r := range policy.Rules {
		p.Rules = append(p.Rules, group.Rule{Name: r.Name, OnReasons: r.OnJobFailureReasons,
			OnMessagePatterns: r.OnJobFailureMessagePatterns, Templates: r.TargetReplicatedJobs, Steps: []group.Step{steps[r.Action]}})
	}
	// "If no matching rule is found, the RestartJobSet action is applied."
	p.Rules = append(p.Rules, group.Rule{Steps: []group.Step{steps[v1alpha2.RestartJobSet]}})
	p, _ = p.Lenient(nil)
	return p
}

// membersOf returns the Jobs of a set.
func membersOf(set *v1alpha2.JobSet) (all []group.Member) {
	for _, rj := range set.Spec.ReplicatedJobs {
		for i := range rj.Replicas {
			all = append(all, group.Member{Name: fmt.Sprintf("%s-%s-%d", set.Name, rj.Name, i), Template: rj.Name})
		}
	}
	return all
}

// decision is the compared part of both decisions: the action, the Job that causes it, and the counts so far.
type decision struct {
	reason, job               string
	restarts, counted, single int
}

// history is a set and its Jobs.
type history struct {
	*rand.Rand
	set     *v1alpha2.JobSet
	decider *group.Decider
	rules   []*group.Decider // each rule alone
	state   group.State
	failed  map[group.Member]*batchv1.Job
	now     int
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// some returns a few values, usually none.
func some[T any](r *rand.Rand, values ...T) (list []T) {
	for _, v := range values {
		if r.IntN(5) == 0 {
			list = append(list, v)
		}
	}
	return list
}

var (
	start    = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	messages = []string{"Job has reached the specified backoff limit",
		"Container main for pod ns/p failed with exit code 2 matching FailJob rule at index 0",
		"Pod ns/p has condition DisruptionTarget matching FailJob rule at index 1"}
	allReasons = []string{"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"}
)

func newHistory(t *testing.T, r *rand.Rand) *history {
	set := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "set"}}
	var names []string
	for i := range 1 + r.IntN(3) {
		name := string(rune('a' + i))
		names = append(names, name)
		set.Spec.ReplicatedJobs = append(set.Spec.ReplicatedJobs, v1alpha2.ReplicatedJob{Name: name, GroupName: "default", Replicas: 1 + r.Int32N(3)})
		set.Status.ReplicatedJobsStatus = append(set.Status.ReplicatedJobsStatus, v1alpha2.ReplicatedJobStatus{Name: name})
	}
	if r.IntN(20) > 0 {
		set.Spec.FailurePolicy = &v1alpha2.FailurePolicy{MaxRestarts: r.Int32N(5)}
		for i := range r.IntN(5) {
			set.Spec.FailurePolicy.Rules = append(set.Spec.FailurePolicy.Rules, v1alpha2.FailurePolicyRule{
				Name: fmt.Sprint("rule", i),
				Action: pick(r, v1alpha2.FailJobSet, v1alpha2.RestartJobSet, v1alpha2.RestartJobSetAndIgnoreMaxRestarts,
					v1alpha2.RestartJob, v1alpha2.RestartJob, v1alpha2.RestartJobAndIgnoreMaxRestarts),
				OnJobFailureReasons:         some(r, allReasons...),
				OnJobFailureMessagePatterns: some(r, "exit code [0-9]+ ", "rule at index 0$", "backoff", "("),
				TargetReplicatedJobs:        some(r, names...),
			})
		}
	}
	if r.IntN(100) == 0 { // what the webhook accepts
		if err := jobset.Validate(set); err != nil {
			t.Fatalf("JobSet refuses a generated set: %v", err)
		}
	}
	policy := policyOf(set)
	h := &history{Rand: r, set: set, decider: Must(group.NewDecider(policy)), failed: map[group.Member]*batchv1.Job{}}
	for i := range policy.Rules {
		h.rules = append(h.rules, Must(group.NewDecider(&group.Policy{Budgets: policy.Budgets, Rules: policy.Rules[i : i+1]})))
	}
	return h
}

// unreadable reports whether a rule has no pattern but one that is no regular expression.
func (h *history) unreadable() bool {
	return h.set.Spec.FailurePolicy != nil && slices.ContainsFunc(h.set.Spec.FailurePolicy.Rules, func(r v1alpha2.FailurePolicyRule) bool {
		return slices.Equal(r.OnJobFailureMessagePatterns, []string{"("})
	})
}

// fail lets some Jobs of the current attempts fail. There is always one.
func (h *history) fail() {
	running := slices.DeleteFunc(membersOf(h.set), func(m group.Member) bool { return h.failed[m] != nil })
	h.Shuffle(len(running), func(i, j int) { running[i], running[j] = running[j], running[i] })
	n := 1 + h.IntN(3)
	if len(h.failed) > 0 {
		n = h.IntN(2)
	}
	for _, m := range running[:min(n, len(running))] {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: m.Name, Labels: map[string]string{
			v1alpha2.ReplicatedJobNameKey: m.Template, v1alpha2.JobIndexKey: m.Name[len(m.Name)-1:]}}}
		h.now += h.IntN(3)
		reason := pick(h.Rand, allReasons...)
		if reason == "PodFailurePolicy" && h.IntN(5) == 0 {
			reason = "PodFailurePolicy_Gpu"
		}
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True", Reason: reason,
			Message: pick(h.Rand, messages...), LastTransitionTime: metav1.NewTime(start.Add(time.Duration(h.now) * time.Second))}}
		h.failed[m] = job
	}
}

var firstFailed = regexp.MustCompile(`first failed job: ([^)]*)\)`)

// theirs runs JobSet's function, which changes its status, and returns what it did.
func (h *history) theirs(jobs []*batchv1.Job) (decision, error) {
	before := h.set.Status.DeepCopy()
	out, err := jobset.Run(h.set, jobs)
	if err != nil {
		return decision{}, err
	}
	h.set.Status = out.Status
	var d decision
	if len(out.Events) > 0 {
		d.reason = out.Events[len(out.Events)-1]
	}
	for _, c := range out.Status.Conditions {
		if c.Status == metav1.ConditionTrue && (c.Type == string(v1alpha2.JobSetFailed) || c.Type == string(v1alpha2.JobSetRestarting)) {
			if found := firstFailed.FindStringSubmatch(c.Message); found != nil && (c.Type == string(v1alpha2.JobSetFailed) || out.Status.Restarts > before.Restarts) {
				d.job = found[1]
			}
			if c.Type == string(v1alpha2.JobSetFailed) {
				d.reason = c.Reason
			}
		}
	}
	for i, s := range out.Status.ReplicatedJobsStatus {
		for j, n := range s.JobRestarts {
			if old := before.ReplicatedJobsStatus[i].JobRestarts; n > 0 && (len(old) == 0 || n > old[j]) {
				d.job = fmt.Sprintf("set-%s-%d", s.Name, j)
			}
		}
	}
	d.count(&out.Status)
	return d, nil
}

// count sets the counts to those of JobSet's status.
func (d *decision) count(s *v1alpha2.JobSetStatus) {
	d.restarts, d.counted, d.single = int(s.Restarts), int(s.RestartsCountTowardsMax), 0
	for _, rj := range s.ReplicatedJobsStatus {
		for _, n := range rj.JobRestarts {
			d.single += int(n)
		}
		for _, n := range rj.JobRestartsCountTowardsMax {
			d.counted += int(n)
		}
	}
}

// ours decides with package group.
func (h *history) ours(failures []group.Failure) (decision, group.Decision) {
	got := Must(h.decider.Decide(h.state, failures, start.Add(time.Hour)))
	h.state = got.State
	return decisionOf(h.set, &got), got
}

// decisionOf returns a decision of package group as JobSet reports its own.
func decisionOf(set *v1alpha2.JobSet, got *group.Decision) decision {
	state := &got.State
	d := decision{job: got.Failure.Name, restarts: int(state.Group.Restarts), counted: int(state.Group.Used["maxRestarts"].Count)}
	counts := false // whether the rule that matched counts restarts; the last one is the default
	if p := set.Spec.FailurePolicy; p != nil {
		counts = got.Rule == len(p.Rules) || got.Rule >= 0 && !strings.HasSuffix(string(p.Rules[got.Rule].Action), "AndIgnoreMaxRestarts")
	}
	switch {
	case got.Rule < 0:
		d.reason = constants.FailedJobsReason
	case got.Step < 0:
		d.reason = constants.ReachedMaxRestartsReason
	case got.Action == group.FailGroup:
		d.reason = constants.FailJobSetActionReason
	case got.Action == group.RestartGroup && counts:
		d.reason = constants.RestartJobSetActionReason
	case got.Action == group.RestartGroup:
		d.reason = constants.RestartJobSetAndIgnoreMaxRestartsActionReason
	case counts:
		d.reason = constants.RestartJobActionReason
	default:
		d.reason = constants.RestartJobAndIgnoreMaxRestartsActionReason
	}
	for _, part := range state.Members {
		d.single += int(part.Restarts)
	}
	return d
}

// JobSet's executeFailurePolicy and package group make the same decisions along whole histories:
// the same action, because of the same Job, for the same reason, with the same numbers of restarts.
// Two differences are known:
//
//   - same second: among failures of the same second, JobSet takes the first of its list, whose
//     order is that of a map; group takes the first by name.
//   - granular reason: group knows that PodFailurePolicy_X is a PodFailurePolicy.
func TestGroup(t *testing.T) {
	features.SetFeatureGateDuringTest(t, features.RestartJob, true)
	r, seen := rand.New(rand.NewPCG(1, 1)), map[string]int{}
	for n := 0; n < *decisions; {
		h := newHistory(t, r)
		for range 12 {
			h.fail()
			n++
			if !h.step(t, seen) {
				break
			}
		}
		seen["histories"]++
		seen["decisions"] = n
	}
	for _, must := range []string{"unreadable rules", "several rules match", "several failures", "used-up budget", "failures of the same second"} {
		share := 100 * float64(seen[must]) / float64(seen["decisions"])
		if t.Logf("%s: %.1f %%", must, share); share < 10 {
			t.Errorf("%s: %.1f %% of the decisions, want at least 10 %%", must, share)
		}
		delete(seen, must)
	}
	t.Logf("%d decisions of JobSet and group: %v", seen["decisions"], seen)
}

// step compares a decision. It returns false if the history ends.
func (h *history) step(t *testing.T, seen map[string]int) bool {
	var failed []*batchv1.Job
	var failures []group.Failure
	seconds, same, granular, matching := map[time.Time]int{}, false, false, map[int]bool{}
	for m, job := range h.failed {
		f, ok := jobs.FailureOf(job, m, h.state.Attempt(m))
		if !ok {
			t.Fatal("a failed Job is none")
		}
		failed, failures = append(failed, job), append(failures, f)
		seconds[f.At]++
		same = same || seconds[f.At] > 1
		granular = granular || strings.HasPrefix(f.Reason, "PodFailurePolicy_")
		f.Attempt = 0
		for i, rule := range h.rules {
			d, err := rule.Decide(group.State{}, []group.Failure{f}, f.At)
			if err == nil && d.Rule == 0 {
				matching[i] = true
			}
		}
	}
	slices.SortFunc(failed, func(a, b *batchv1.Job) int { return strings.Compare(a.Name, b.Name) })
	h.Shuffle(len(failed), func(i, j int) { failed[i], failed[j] = failed[j], failed[i] })
	status, state := h.set.Status.DeepCopy(), h.state
	theirs := Must(h.theirs(failed))
	ours, got := h.ours(failures)
	for what, holds := range map[string]bool{"unreadable rules": h.unreadable(), "several rules match": len(matching) > 1, "several failures": len(failures) > 1,
		"used-up budget": ours.reason == constants.ReachedMaxRestartsReason, "failures of the same second": same, ours.reason: true} {
		if holds {
			seen[what]++
		}
	}
	if ours != theirs {
		// Without the two differences, the decisions are equal.
		h.set.Status, h.state = *status, state
		slices.SortFunc(failed, func(a, b *batchv1.Job) int { return strings.Compare(a.Name, b.Name) })
		for i := range failures {
			failures[i].Reason = strings.Replace(failures[i].Reason, "PodFailurePolicy_", "Other_", 1)
		}
		theirs = Must(h.theirs(failed))
		if ours, _ = h.ours(failures); ours != theirs {
			t.Fatalf("ours %+v\ntheirs %+v\nfailures %+v\npolicy %+v", ours, theirs, failures, h.set.Spec.FailurePolicy)
		}
		if granular {
			seen["difference: granular reason"]++
		} else if same {
			seen["difference: same second"]++
		} else {
			t.Fatal("a difference that does not happen again")
		}
		return false
	}
	switch got.Action {
	case group.RestartGroup:
		h.failed = map[group.Member]*batchv1.Job{}
	case group.RestartMember:
		delete(h.failed, got.Failure.Member)
	default:
		return false
	}
	return true
}
