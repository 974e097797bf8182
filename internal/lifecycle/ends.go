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

// Facts holds what the end of a Job depends on. A field with its zero value ends no Job.
type Facts struct {
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
	verdict func(*Facts) *Verdict
}

// ends is the table of ends, in order of precedence: the first row that ends the Job
// decides.
var ends = []row{
	// An earlier decision that the status has stored stands.
	{"SuccessCriteriaMet", batchv1.JobSuccessCriteriaMet, decided(batchv1.JobSuccessCriteriaMet)},
	{"FailureTarget", batchv1.JobFailureTarget, decided(batchv1.JobFailureTarget)},
	// A rule about a single pod comes before counts, counts come before the deadline.
	{"FailJob", batchv1.JobFailureTarget, func(f *Facts) *Verdict { return f.FailJob }},
	{"BackoffLimit", batchv1.JobFailureTarget,
		when(exceedsBackoffLimit, batchv1.JobReasonBackoffLimitExceeded,
			"Job has reached the specified backoff limit")},
	{"Deadline", batchv1.JobFailureTarget,
		when(func(f *Facts) bool { return f.PastDeadline }, batchv1.JobReasonDeadlineExceeded,
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

// Decide returns how the Job ends; the zero End if it does not.
func Decide(f *Facts) End {
	for at, r := range ends {
		if v := r.verdict(f); v != nil {
			decided := jobstatus.True(f.Conditions, r.interim) != nil
			return End{rule: int8(at), Interim: r.interim, Verdict: *v, Decided: decided}
		}
	}
	return End{}
}

func decided(t batchv1.JobConditionType) func(*Facts) *Verdict {
	return func(f *Facts) *Verdict {
		c := jobstatus.True(f.Conditions, t)
		if c == nil {
			return nil
		}
		return &Verdict{c.Reason, c.Message}
	}
}

// when returns a verdict for the Jobs for which something holds.
func when(holds func(*Facts) bool, reason, message string) func(*Facts) *Verdict {
	return func(f *Facts) *Verdict {
		if !holds(f) {
			return nil
		}
		return &Verdict{reason, message}
	}
}

func exceedsBackoffLimit(f *Facts) bool {
	return f.Limit.JobExceeded(f.Failed) || f.Limit.RestartsExceeded(f.Restarts)
}

func exceedsMaxFailedIndexes(f *Facts) bool {
	return f.MaxFailedIndexes != nil && f.Limit.Target == backoff.TargetIndex &&
		f.FailedIndexes.Len() > int(*f.MaxFailedIndexes)
}

// hasFailedIndexes reports whether all indexes are done and some have failed.
func hasFailedIndexes(f *Facts) bool {
	return !f.FailedIndexes.IsEmpty() && f.Completions != nil &&
		f.FailedIndexes.Len()+f.Completed.Len() >= int(*f.Completions)
}

func successPolicy(f *Facts) *Verdict {
	rule := f.SuccessPolicy.Match(f.Completed)
	if rule < 0 {
		return nil
	}
	return &Verdict{batchv1.JobReasonSuccessPolicy, fmt.Sprintf("Matched rules at index %d", rule)}
}

// hasCompletions reports whether the Job has reached its completions and has no active pod.
// Without a number of completions, one success is enough.
func hasCompletions(f *Facts) bool {
	one := int32(1)
	return f.Settled && f.Active == 0 && f.Succeeded >= *cmp.Or(f.Completions, &one)
}

// OutranksDeadline reports whether the Job ends by its deadline or by a row before it. No
// timer for the deadline is needed then.
func (e End) OutranksDeadline() bool {
	return e.Ended() && int(e.rule) <= slices.IndexFunc(ends, func(r row) bool { return r.name == "Deadline" })
}
