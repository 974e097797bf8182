package decisions

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/fuzztest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// fuzzOptions lists the sets of options that checkDecision decides with.
var fuzzOptions = [][]decide.Option{
	nil,
	{decide.WithoutPerIndexBackoff(), decide.WithoutReplacementPolicy()},
	{decide.WithoutFailurePolicy()},
	{decide.FailLostPods(time.Second), decide.SucceedOnExitZero()},
	{decide.FillFreeSlots(), decide.GranularReasons(), decide.MaxUncounted(1), decide.MaxChanges(1)},
}

// fatal is implemented by testing.T and rapid.T.
type fatal interface {
	Fatalf(format string, args ...any)
}

// checkDecision checks properties that hold for any input. Decide returns either an error
// and an empty decision, or a decision. The API server accepts the statuses of a decision
// if it accepts the status before.
func checkDecision(t fatal, s decide.Snapshot) {
	for i, opts := range fuzzOptions {
		d, err := decide.Job(s, opts...)
		if err != nil {
			if !d.Idle() || d.Requeue != 0 || len(d.Metrics)+len(d.Events) != 0 {
				t.Fatalf("options %d: an error and a decision that is not empty: %v", i, err)
			}
			continue
		}
		if len(d.Create) > 0 && len(d.Delete) > 0 || d.Requeue < 0 {
			t.Fatalf("options %d: %d to create, %d to delete, requeue %s", i, len(d.Create), len(d.Delete), d.Requeue)
		}
		for _, m := range d.Metrics {
			if m.Add <= 0 {
				t.Fatalf("options %d: %v", i, m)
			}
		}
		decidetest.Explanation(d)
		checkStatuses(t, s.Job, d, decidetest.Settle(d, d.Strip...))
		checkVerdictFirst(t, s, d, opts)
		half := d.Revise(decide.Undone{Creations: len(d.Create) / 2})
		checkStatuses(t, s.Job, half, decidetest.Settle(half, half.Strip[:len(half.Strip)/2]...))
	}
}

// checkVerdictFirst checks that a verdict that is stored first changes the order of the writes, and nothing else: the
// decision on the Job as it is then stored leads to the same status, and deletes and counts the same pods.
func checkVerdictFirst(t fatal, s decide.Snapshot, d decide.Decision, opts []decide.Option) {
	first, _ := d.VerdictFirst()
	checkStatuses(t, s.Job, first, decide.Settled{})
	ends := len(d.Delete) > 0 && d.Delete[0].Cause == decide.CauseJobEnds
	if !ends || d.Facts().EndStored() {
		if len(first.Delete) != len(d.Delete) || len(first.Strip) != len(d.Strip) {
			t.Fatalf("nothing has to be stored first, but %d and %d pods become %d and %d", len(d.Delete), len(d.Strip),
				len(first.Delete), len(first.Strip))
		}
		return
	}
	if len(first.Delete) > 0 {
		t.Fatalf("%d pods are deleted before the verdict is stored", len(first.Delete))
	}
	unobserved := s.InFlight.Creations > 0 || s.InFlight.Deletions > 0
	if unobserved || d.Deferred.Strip > 0 { // the deletions wait, or the new indexes have used up a cap
		return
	}
	s.Job = s.Job.DeepCopy()
	s.Job.Status = *first.Status
	next, err := decide.Job(s, opts...)
	if err != nil {
		t.Fatalf("after the verdict: %v", err)
	}
	writes := func(d decide.Decision, before ...decide.Metric) []any {
		return []any{d.Delete, d.Strip, d.Backoff, d.Events, sum(before, d.Metrics), decidetest.Settle(d, d.Strip...), d.Facts().Status}
	}
	if diff := cmp.Diff(writes(d), writes(next, first.Metrics...), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("(-without storing the verdict +once it is stored)\n%s", diff)
	}
}

// sum adds the increments up by the counter.
func sum(all ...[]decide.Metric) map[string]int64 {
	counts := map[string]int64{}
	for _, m := range slices.Concat(all...) {
		counts[fmt.Sprint(m.Name, m.Labels)] += m.Add
	}
	return counts
}

func checkStatuses(t fatal, job *batchv1.Job, d decide.Decision, s decide.Settled) {
	stored := defaulting.Job(job)
	stored.ResourceVersion = "1"
	if len(validation.Status(stored)) > 0 || len(validation.StatusUpdate(stored, stored)) > 0 {
		return
	}
	for _, status := range []*batchv1.JobStatus{d.Status, s.Status} {
		if status == nil {
			continue
		}
		next := stored.DeepCopy()
		next.Status = *status
		if errs := validation.StatusUpdate(next, stored); len(errs) > 0 {
			t.Fatalf("the API server rejects %s\nafter %s\n%v", decidetest.ToJSON(next.Status), decidetest.ToJSON(stored), errs.ToAggregate())
		}
		stored = next
	}
}

// garble changes a snapshot into one that no API server would accept: with fields that are
// unset, at the end of their range, or contradictory.
func garble(t *rapid.T, s decide.Snapshot) decide.Snapshot {
	number := func(label string) *int32 {
		return rapid.SampledFrom([]*int32{nil, new(int32(-1)), new(int32(0)), new(int32(1)), new(int32(3)), new(int32(math.MaxInt32 - 1)), new(int32(math.MaxInt32))}).Draw(t, label)
	}
	instant := func(label string) *metav1.Time {
		at := []time.Time{s.Now, s.Now.Add(time.Hour), time.Unix(1<<40, 0), time.Unix(-1<<40, 0)}
		if i := rapid.IntRange(-1, len(at)-1).Draw(t, label); i >= 0 {
			return new(metav1.NewTime(at[i]))
		}
		return nil
	}
	spec, st := &s.Job.Spec, &s.Job.Status
	for range rapid.IntRange(1, 6).Draw(t, "changes") {
		switch rapid.IntRange(0, 15).Draw(t, "change") {
		case 0:
			spec.Parallelism = number("parallelism")
		case 1:
			spec.Completions = number("completions")
		case 2:
			spec.BackoffLimit, spec.BackoffLimitPerIndex = number("backoffLimit"), number("backoffLimitPerIndex")
		case 3:
			spec.MaxFailedIndexes = number("maxFailedIndexes")
		case 4:
			spec.CompletionMode = rapid.SampledFrom([]*batchv1.CompletionMode{nil, new(batchv1.CompletionMode("x")), new(batchv1.IndexedCompletion)}).Draw(t, "mode")
		case 5:
			spec.ActiveDeadlineSeconds = rapid.SampledFrom([]*int64{nil, new(int64(0)), new(int64(math.MaxInt64)), new(int64(-1))}).Draw(t, "deadline")
		case 6:
			spec.Selector, spec.Template = nil, corev1.PodTemplateSpec{}
		case 7:
			st.StartTime, st.CompletionTime = instant("start"), instant("completion")
		case 8:
			st.Ready, st.Terminating = number("ready"), number("terminating")
		case 9:
			st.Succeeded, st.Failed = rapid.Int32().Draw(t, "succeeded"), rapid.Int32().Draw(t, "failed")
		case 10:
			st.FailedIndexes, st.CompletedIndexes = new(rapid.StringMatching("[0-9,-]{0,8}").Draw(t, "failedIndexes")), rapid.StringMatching("[0-9,-]{0,8}").Draw(t, "completedIndexes")
		case 11:
			c := batchv1.JobCondition{
				Type:   rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete, "x"}).Draw(t, "condition"),
				Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, "x"}).Draw(t, "condition is"),
			}
			st.Conditions = append(st.Conditions, c, c)
		case 12:
			spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: make([]batchv1.PodFailurePolicyRule, 2)}
		case 13:
			spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: number("succeededCount"), SucceededIndexes: new("9-3")}, {}}}
		case 14:
			for _, pod := range s.Pods {
				pod.Annotations, pod.CreationTimestamp, pod.DeletionTimestamp = nil, metav1.Time{}, instant("deletion")
			}
		case 15:
			if now := instant("now"); now != nil {
				s.Now = now.Time
			}
		}
	}
	return s
}

// decisionHolds draws a snapshot as the API server would store it, and garbles half of them.
func decisionHolds(t *rapid.T) {
	s := decidetest.Inputs(jobtest.Wild()).Draw(t, "snapshot")
	if rapid.Bool().Draw(t, "garbled") {
		s = garble(t, s)
	}
	checkDecision(t, s)
}

func TestDecide_garbledInput(t *testing.T) { rapid.Check(t, decisionHolds) }

func FuzzDecide(f *testing.F) { f.Fuzz(fuzztest.Target(rapid.MakeFuzz(decisionHolds))) }

// FuzzDecideJSON decodes a Job and pods from any JSON, so it reaches inputs that no API server
// would accept.
func FuzzDecideJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, jobJSON, podsJSON []byte, seconds int64) {
		var job batchv1.Job
		var pods []*corev1.Pod
		if json.Unmarshal(jobJSON, &job) != nil || json.Unmarshal(podsJSON, &pods) != nil {
			return
		}
		checkDecision(t, decide.Snapshot{Job: &job, Pods: pods, Now: jobtest.Noon().Add(time.Duration(seconds) * time.Second)})
	})
}
