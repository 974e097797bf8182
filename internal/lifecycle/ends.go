package lifecycle

import (
	"cmp"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
)

// Inputs holds what the end of a Job depends on. A field with its zero value ends no Job.
type Inputs struct {
	// Conditions lists the conditions of the status.
	Conditions []batchv1.JobCondition
	// FailJob is the verdict of a FailJob rule: the reason and message to fail
	// the Job with. Nil when no rule matches.
	FailJob *Verdict
	// Failed is the number of failed pods, which counts towards Limit.
	Failed int32
	Limit  backoff.Limit
	// Restarts is the number of container restarts that count towards Limit: 0 without the
	// restart policy OnFailure.
	Restarts int64
	// PastDeadline says that the Job has exceeded activeDeadlineSeconds.
	PastDeadline bool
	// Completions, MaxFailedIndexes and SuccessPolicy come from the spec. Completed and
	// FailedIndexes are disjoint, and empty unless the Job is Indexed.
	Completions      *int32
	MaxFailedIndexes *int32
	Completed        indexset.Set
	FailedIndexes    indexset.Set
	SuccessPolicy    SuccessPolicy
	// Succeeded is the number of succeeded pods or, in an Indexed Job, of completed
	// indexes.
	Succeeded int32
	// Settled says that every earlier creation and deletion is observed. Active is the
	// number of active pods after those that are planned now. Completions can end the
	// Job only if it is settled and no pod is active.
	Settled bool
	Active  int32
}

// Verdict is the reason and message of a condition.
type Verdict struct {
	Reason  string
	Message string
}

// End is how a Job ends.
type End struct {
	// Interim is SuccessCriteriaMet or FailureTarget; empty when the Job does not end.
	Interim batchv1.JobConditionType
	// Verdict is the reason and message of the interim and the terminal condition.
	Verdict
	// Decided says that the status already has the interim condition.
	Decided bool
	rule    int8 // the row of the table of ends that decided
}

// Ended reports whether the Job ends.
func (e End) Ended() bool { return e.Interim != "" }

// Succeeds reports whether the Job ends successfully.
func (e End) Succeeds() bool { return e.Interim == batchv1.JobSuccessCriteriaMet }

// Terminal returns the type of the condition that follows the interim one.
func (e End) Terminal() batchv1.JobConditionType {
	if e.Succeeds() {
		return batchv1.JobComplete
	}
	return batchv1.JobFailed
}

// row is a way in which a Job can end. verdict returns nil if the Job does not end that way.
type row struct {
	name    string
	interim batchv1.JobConditionType
	verdict func(*Inputs) *Verdict
}

// ends is the table of ends, in order of precedence: the first row that ends the Job
// decides.
var ends = []row{
	// An earlier decision that the status has stored stands.
	{"SuccessCriteriaMet", batchv1.JobSuccessCriteriaMet, decided(batchv1.JobSuccessCriteriaMet)},
	{"FailureTarget", batchv1.JobFailureTarget, decided(batchv1.JobFailureTarget)},
	// A rule about a single pod comes before counts, counts come before the deadline.
	{"FailJob", batchv1.JobFailureTarget, func(in *Inputs) *Verdict { return in.FailJob }},
	{"BackoffLimit", batchv1.JobFailureTarget,
		when(exceedsBackoffLimit, batchv1.JobReasonBackoffLimitExceeded,
			"Job has reached the specified backoff limit")},
	{"Deadline", batchv1.JobFailureTarget,
		when(func(in *Inputs) bool { return in.PastDeadline }, batchv1.JobReasonDeadlineExceeded,
			"Job was active longer than specified deadline")},
	// KEP-3850 § Job completion.
	{"MaxFailedIndexes", batchv1.JobFailureTarget,
		when(exceedsMaxFailedIndexes, batchv1.JobReasonMaxFailedIndexesExceeded,
			"Job has exceeded the specified maximal number of failed indexes")},
	{"FailedIndexes", batchv1.JobFailureTarget,
		when(hasFailedIndexes, batchv1.JobReasonFailedIndexes, "Job has failed indexes")},
	// Success comes last: a Job that can fail does not succeed.
	{"SuccessPolicy", batchv1.JobSuccessCriteriaMet, successPolicy},
	{"Completions", batchv1.JobSuccessCriteriaMet,
		when(hasCompletions, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")},
}

// EndOf returns how the Job ends; the zero End if it does not.
func EndOf(in *Inputs) End {
	for at, r := range ends {
		if v := r.verdict(in); v != nil {
			decided := jobstatus.True(in.Conditions, r.interim) != nil
			return End{rule: int8(at), Interim: r.interim, Verdict: *v, Decided: decided}
		}
	}
	return End{}
}

func decided(t batchv1.JobConditionType) func(*Inputs) *Verdict {
	return func(in *Inputs) *Verdict {
		c := jobstatus.True(in.Conditions, t)
		if c == nil {
			return nil
		}
		return &Verdict{c.Reason, c.Message}
	}
}

// when returns a verdict for the Jobs for which something holds.
func when(holds func(*Inputs) bool, reason, message string) func(*Inputs) *Verdict {
	return func(in *Inputs) *Verdict {
		if !holds(in) {
			return nil
		}
		return &Verdict{reason, message}
	}
}

func exceedsBackoffLimit(in *Inputs) bool {
	return in.Limit.JobExceeded(in.Failed) || in.Limit.RestartsExceeded(in.Restarts)
}

func exceedsMaxFailedIndexes(in *Inputs) bool {
	return in.MaxFailedIndexes != nil && in.Limit.Target == backoff.TargetIndex &&
		in.FailedIndexes.Len() > int(*in.MaxFailedIndexes)
}

// hasFailedIndexes reports whether all indexes are done and some have failed.
func hasFailedIndexes(in *Inputs) bool {
	return !in.FailedIndexes.IsEmpty() && in.Completions != nil &&
		in.FailedIndexes.Len()+in.Completed.Len() >= int(*in.Completions)
}

func successPolicy(in *Inputs) *Verdict {
	rule := in.SuccessPolicy.Match(in.Completed)
	if rule < 0 {
		return nil
	}
	return &Verdict{batchv1.JobReasonSuccessPolicy, fmt.Sprintf("Matched rules at index %d", rule)}
}

// hasCompletions reports whether the Job has reached its completions and has no active pod.
// Without a number of completions, one success is enough.
func hasCompletions(in *Inputs) bool {
	return in.Settled && in.Active == 0 && in.Succeeded >= *cmp.Or(in.Completions, new(int32(1)))
}

// OutranksDeadline reports whether the Job ends by its deadline or by a row before it. No
// timer for the deadline is needed then.
func (e End) OutranksDeadline() bool {
	return e.Ended() && int(e.rule) <= slices.IndexFunc(ends, func(r row) bool { return r.name == "Deadline" })
}
