package lifecycle

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
)

// Facts are what the end of a Job depends on. What is left at its zero value
// ends nothing.
type Facts struct {
	// Conditions are those of the status.
	Conditions []batchv1.JobCondition
	// FailJob is the verdict of a FailJob rule: the reason and message to fail
	// the Job with. Nil when no rule matches.
	FailJob *Verdict
	// Failed is the number of failed pods, and Limit what it is held against.
	Failed int32
	Limit  backoff.Limit
	// Restarts is the number of container restarts, which count when the
	// restart policy is OnFailure. CountRestarts says that it is.
	Restarts      int64
	CountRestarts bool
	// PastDeadline says that the Job has been active for too long.
	PastDeadline bool
	// Indexed, Completions, MaxFailedIndexes and SuccessPolicy are those of the
	// spec; Completed and Failed indexes are disjoint.
	Indexed          bool
	Completions      *int32
	MaxFailedIndexes *int32
	Completed        indexset.Set
	FailedIndexes    indexset.Set
	SuccessPolicy    *SuccessPolicy
	// Succeeded is the number of succeeded pods; for an Indexed Job, of
	// completed indexes.
	Succeeded int32
	// Settled says that the pods to create and delete are known, and that
	// every earlier write is observed; Active is the number of active pods
	// that will be left. Completions are reached only then.
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
	// Rule is the name of the row that decided.
	Rule string
	// Interim is SuccessCriteriaMet or FailureTarget; empty when the Job goes
	// on.
	Interim batchv1.JobConditionType
	// Verdict goes into the interim and the terminal condition.
	Verdict
	// Decided says that the status has the interim condition already.
	Decided bool
}

// Ended reports whether the Job ends.
func (e End) Ended() bool { return e.Interim != "" }

// Succeeds reports whether the Job ends with success.
func (e End) Succeeds() bool { return e.Interim == batchv1.JobSuccessCriteriaMet }

// Terminal returns the type of the condition that follows the interim one.
func (e End) Terminal() batchv1.JobConditionType {
	if e.Succeeds() {
		return batchv1.JobComplete
	}
	return batchv1.JobFailed
}

type row struct {
	name string
	end  func(*Facts) End
}

// ends is the precedence: the first row that says that the Job ends decides.
var ends = [...]row{
	// What an earlier decision has made known stands.
	{"SuccessCriteriaMet", standing(batchv1.JobSuccessCriteriaMet)},
	{"FailureTarget", standing(batchv1.JobFailureTarget)},
	// Failures of single pods come before counts, counts before time.
	{"FailJob", failJob},
	{"BackoffLimit", backoffLimit},
	{"Deadline", deadline},
	// KEP-3850 § Job completion.
	{"MaxFailedIndexes", maxFailedIndexes},
	{"FailedIndexes", failedIndexes},
	// Success comes last: a Job that may fail does not succeed.
	{"SuccessPolicy", successPolicy},
	{"Completions", completions},
}

// Ends returns the names of the ways in which a Job can end, the strongest
// first.
func Ends() []string {
	names := make([]string, len(ends))
	for i := range ends {
		names[i] = ends[i].name
	}
	return names
}

// Decide returns how the Job ends; the zero End when it goes on.
func Decide(f *Facts) End {
	if f == nil {
		return End{}
	}
	for i := range ends {
		if end := ends[i].end(f); end.Ended() {
			end.Rule = ends[i].name
			return end
		}
	}
	return End{}
}

func fails(reason, message string) End {
	return End{Interim: batchv1.JobFailureTarget, Verdict: Verdict{reason, message}}
}

func succeeds(reason, message string) End {
	return End{Interim: batchv1.JobSuccessCriteriaMet, Verdict: Verdict{reason, message}}
}

func standing(t batchv1.JobConditionType) func(*Facts) End {
	return func(f *Facts) End {
		c := True(f.Conditions, t)
		if c == nil {
			return End{}
		}
		return End{Interim: t, Verdict: Verdict{c.Reason, c.Message}, Decided: true}
	}
}

func failJob(f *Facts) End {
	if f.FailJob == nil {
		return End{}
	}
	return fails(f.FailJob.Reason, f.FailJob.Message)
}

func backoffLimit(f *Facts) End {
	if f.Limit.JobExceeded(f.Failed) || f.CountRestarts && f.Limit.RestartsExceeded(f.Restarts) {
		return fails(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	}
	return End{}
}

func deadline(f *Facts) End {
	if !f.PastDeadline {
		return End{}
	}
	return fails(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
}

func maxFailedIndexes(f *Facts) End {
	if f.MaxFailedIndexes == nil || f.Limit.Target != backoff.TargetIndex || f.FailedIndexes.Len() <= int(*f.MaxFailedIndexes) {
		return End{}
	}
	return fails(batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes")
}

func failedIndexes(f *Facts) End {
	if f.FailedIndexes.IsEmpty() || f.Completions == nil || f.FailedIndexes.Len()+f.Completed.Len() < int(*f.Completions) {
		return End{}
	}
	return fails(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
}

func successPolicy(f *Facts) End {
	if !f.Indexed {
		return End{}
	}
	if rule := f.SuccessPolicy.Match(f.Completed); rule >= 0 {
		return succeeds(batchv1.JobReasonSuccessPolicy, matchedRule(rule))
	}
	return End{}
}

// completionsReached is a reason that the API package names from 1.31 on.
const completionsReached = "CompletionsReached"

// completions ends a Job whose pods have all done their work. Without a number
// of completions any success is enough, once the remaining pods are gone.
func completions(f *Facts) End {
	if !f.Settled || f.Active != 0 {
		return End{}
	}
	want := int32(1)
	if f.Completions != nil {
		want = *f.Completions
	}
	if f.Succeeded < want {
		return End{}
	}
	return succeeds(completionsReached, "Reached expected number of succeeded pods")
}

// OutranksDeadline reports whether the Job ends by its deadline or by a row
// before it, so that no caller needs to look again when the deadline comes.
func (e End) OutranksDeadline() bool {
	for i := range ends {
		switch ends[i].name {
		case e.Rule:
			return true
		case "Deadline":
			return false
		}
	}
	return false
}
