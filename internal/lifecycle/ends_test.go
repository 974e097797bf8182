package lifecycle_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// on enables one way to end.
var on = map[string]func(*lifecycle.Inputs){
	"SuccessCriteriaMet": func(f *lifecycle.Inputs) { f.Conditions = append(f.Conditions, Yes(batchv1.JobSuccessCriteriaMet)) },
	"FailureTarget":      func(f *lifecycle.Inputs) { f.Conditions = append(f.Conditions, Yes(batchv1.JobFailureTarget)) },
	"FailJob": func(f *lifecycle.Inputs) {
		f.FailJob = &lifecycle.Verdict{Reason: "PodFailurePolicy", Message: "a rule"}
	},
	"BackoffLimit": func(f *lifecycle.Inputs) { f.Failed = 7 },
	"Deadline":     func(f *lifecycle.Inputs) { f.PastDeadline = true },
	"MaxFailedIndexes": func(f *lifecycle.Inputs) {
		f.MaxFailedIndexes, f.FailedIndexes = new(int32(0)), indexset.Of(0)
	},
	"FailedIndexes": func(f *lifecycle.Inputs) { f.FailedIndexes, f.Completed = indexset.Of(0), indexset.Of(1, 2, 3) },
	"SuccessPolicy": func(f *lifecycle.Inputs) {
		f.SuccessPolicy = lifecycle.NewSuccessPolicy(&batchv1.SuccessPolicy{
			Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(4))}, {SucceededCount: new(int32(2))}},
		}, 4)
	},
	"Completions": func(f *lifecycle.Inputs) { f.Settled, f.Succeeded = true, 4 },
}

// factsOf returns the facts of an Indexed Job of 4 indexes, two of which are completed,
// with the given ways to end enabled.
func factsOf(rows []string) *lifecycle.Inputs {
	f := &lifecycle.Inputs{
		Conditions:  []batchv1.JobCondition{Yes(batchv1.JobSuspended), No(batchv1.JobFailureTarget), No(batchv1.JobSuccessCriteriaMet), No(batchv1.JobComplete)},
		Completions: new(int32(4)), Completed: indexset.Of(1, 2), Succeeded: 3, Failed: 6,
		Limit: backoff.Limit{Target: backoff.TargetIndex, PerJob: 6},
	}
	for _, row := range rows {
		on[row](f)
	}
	return f
}

// The precedence of ends: existing SuccessCriteriaMet > existing FailureTarget >
// FailJob rule > backoffLimit > deadline > maxFailedIndexes > FailedIndexes >
// success policy > completions. All apply at first, and are then removed one by one.
func TestPrecedenceOfEnds_golden(t *testing.T) {
	golden := []struct{ rule, interim, terminal, reason, message string }{
		{"SuccessCriteriaMet", "SuccessCriteriaMet", "Complete", "SuccessCriteriaMetReason", "SuccessCriteriaMet message"},
		{"FailureTarget", "FailureTarget", "Failed", "FailureTargetReason", "FailureTarget message"},
		{"FailJob", "FailureTarget", "Failed", "PodFailurePolicy", "a rule"},
		{"BackoffLimit", "FailureTarget", "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"},
		{"Deadline", "FailureTarget", "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"},
		{"MaxFailedIndexes", "FailureTarget", "Failed", "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"},
		{"FailedIndexes", "FailureTarget", "Failed", "FailedIndexes", "Job has failed indexes"},
		{"SuccessPolicy", "SuccessCriteriaMet", "Complete", "SuccessPolicy", "Matched rules at index 1"},
		{"Completions", "SuccessCriteriaMet", "Complete", "CompletionsReached", "Reached expected number of succeeded pods"},
	}
	rows := lifecycle.Ends()
	if len(rows) != len(golden) {
		t.Fatalf("there are %d ways to end, want %d: %v", len(rows), len(golden), rows)
	}
	for i, want := range golden {
		Same(t, fmt.Sprintf("way %d to end", i), rows[i], want.rule)
		end := lifecycle.EndOf(factsOf(rows[i:]))
		Same(t, want.rule, []string{end.Rule(), string(end.Interim), string(end.Terminal()), end.Reason, end.Message},
			[]string{want.rule, want.interim, want.terminal, want.reason, want.message})
		Same(t, want.rule+" ends", end.Ended(), true)
		Same(t, want.rule+" succeeds", end.Succeeds(), want.terminal == "Complete")
		Same(t, want.rule+" is decided already", end.Decided, i < 2)
		Same(t, want.rule+" outranks the deadline", end.OutranksDeadline(), i <= 4)
	}
	going := lifecycle.EndOf(factsOf(nil))
	Same(t, "nothing applies", going, lifecycle.End{})
	Same(t, "it ends", going.Ended() || going.Succeeds() || going.OutranksDeadline(), false)
}

// Of all ends that apply, the first in order of precedence decides.
func TestPrecedenceOfEnds_everySubset(t *testing.T) {
	all := lifecycle.Ends()
	for set := range 1 << len(all) {
		var rows []string
		for i, row := range all {
			if set>>i&1 == 1 {
				rows = append(rows, row)
			}
		}
		want := ""
		if len(rows) > 0 {
			want = rows[0]
		}
		Same(t, fmt.Sprintf("end of %v", rows), lifecycle.EndOf(factsOf(rows)).Rule(), want)
	}
}

func TestEndOf_rows(t *testing.T) {
	perIndex := backoff.Limit{Target: backoff.TargetIndex, PerJob: 6}
	two := new(int32(2))
	for _, tc := range []struct {
		reason string
		facts  lifecycle.Inputs
		want   string
	}{
		{"backoffLimit: failed > limit", lifecycle.Inputs{Failed: 6, Limit: backoff.Limit{PerJob: 6}}, ""},
		{"backoffLimit: failed > limit", lifecycle.Inputs{Failed: 7, Limit: backoff.Limit{PerJob: 6}}, "BackoffLimit"},
		{"backoffLimit together with backoffLimitPerIndex", lifecycle.Inputs{Failed: 7, Limit: perIndex}, "BackoffLimit"},
		{"restarts at the limit", lifecycle.Inputs{Restarts: 6, Limit: backoff.Limit{PerJob: 6}}, "BackoffLimit"},
		{"restarts below the limit", lifecycle.Inputs{Restarts: 5, Limit: backoff.Limit{PerJob: 6}}, ""},
		{
			"KEP-3850: when the number of failed indexes exceeds the specified .spec.maxFailedIndexes",
			lifecycle.Inputs{FailedIndexes: indexset.Of(0, 1, 2), MaxFailedIndexes: two, Limit: perIndex}, "MaxFailedIndexes",
		},
		{"failed indexes at the maximum", lifecycle.Inputs{FailedIndexes: indexset.Of(0, 1), MaxFailedIndexes: two, Limit: perIndex}, ""},
		{"no maximum", lifecycle.Inputs{FailedIndexes: indexset.Of(0, 1, 2), Limit: perIndex}, ""},
		{
			"no limit per index (KEP-3850 § Feature Enablement and Rollback)",
			lifecycle.Inputs{FailedIndexes: indexset.Of(0, 1, 2), MaxFailedIndexes: two, Limit: backoff.Limit{PerJob: 6}}, "",
		},
		{
			"KEP-3850: we execute indexes until all of them are completed (either failed or succeeded)",
			lifecycle.Inputs{FailedIndexes: indexset.Of(1), Completions: two, Limit: perIndex}, "",
		},
		{
			"KEP-3850: failed when at least one index is failed [...] once all indexes completed their execution",
			lifecycle.Inputs{FailedIndexes: indexset.Of(1), Completed: indexset.Of(0), Completions: two, Limit: perIndex}, "FailedIndexes",
		},
		{
			"KEP-3850: the Complete Job condition type when all indexes are succeeded",
			lifecycle.Inputs{Completed: indexset.Of(0, 1), Succeeded: 2, Completions: two, Limit: perIndex, Settled: true}, "Completions",
		},
		{"pods are still active", lifecycle.Inputs{Succeeded: 2, Completions: two, Settled: true, Active: 1, Limit: perIndex}, ""},
		{"pods are not observed yet", lifecycle.Inputs{Succeeded: 2, Completions: two, Limit: perIndex}, ""},
		{"more than enough", lifecycle.Inputs{Succeeded: 3, Completions: two, Settled: true, Limit: perIndex}, "Completions"},
		{"not enough", lifecycle.Inputs{Succeeded: 1, Completions: two, Settled: true, Limit: perIndex}, ""},
		{"without completions any success is enough", lifecycle.Inputs{Succeeded: 1, Settled: true, Limit: perIndex}, "Completions"},
		{"without completions and success", lifecycle.Inputs{Settled: true, Limit: perIndex}, ""},
		{"completions of 0", lifecycle.Inputs{Completions: new(int32(0)), Settled: true, Limit: perIndex}, "Completions"},
		{
			"a success policy is for Jobs with indexes",
			lifecycle.Inputs{Completed: indexset.Of(0), SuccessPolicy: lifecycle.NewSuccessPolicy(&batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}, 0)}, "",
		},
		{
			"the first rule of a success policy",
			lifecycle.Inputs{Completed: indexset.Of(0), SuccessPolicy: lifecycle.NewSuccessPolicy(&batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}, 2)}, "SuccessPolicy",
		},
		{"the zero Inputs", lifecycle.Inputs{}, ""},
	} {
		Same(t, tc.reason+": end", lifecycle.EndOf(&tc.facts).Rule(), tc.want)
	}
}
