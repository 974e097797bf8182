package explain

import (
	"fmt"
	"math"
	"strings"

	"github.com/jobfate/jobfate/jobstatus"
)

// Whether a Job can still succeed.
const (
	// ProspectSuccess: the Job has succeeded, or it is decided that it will.
	ProspectSuccess Code = "Success"
	// ProspectPossible: the Job can succeed.
	ProspectPossible Code = "Possible"
	// ProspectOutOfReach: nothing is decided yet, but the Job can only fail.
	ProspectOutOfReach Code = "OutOfReach"
	// ProspectFailure: the Job has failed, or it is decided that it will.
	ProspectFailure Code = "Failure"
)

// Prospect says whether the Job can still succeed, and what is needed for that. Until is
// the deadline of the Job, if it has one.
func (e Explanation) Prospect() Reason {
	o := e.about
	if o.Outcome == nil {
		return Reason{}
	}
	switch o.phase() {
	case jobstatus.Complete:
		return Reason{Code: ProspectSuccess, Text: "yes, the Job has succeeded"}
	case jobstatus.Succeeding:
		return Reason{Code: ProspectSuccess, Text: "yes, it is decided that the Job succeeds"}
	case jobstatus.Failed:
		return Reason{Code: ProspectFailure, Text: "no, the Job has failed"}
	case jobstatus.Failing:
		return Reason{Code: ProspectFailure, Text: "no, it is decided that the Job fails"}
	}
	if why := o.outOfReach(); why != "" {
		return Reason{Code: ProspectOutOfReach, Text: "no: " + why}
	}
	r := Reason{Code: ProspectPossible, Text: "yes: " + strings.Join(append([]string{o.toGo()}, o.conditions()...), "; ")}
	if left, limited := o.View.UntilDeadline(o.Plan.Start); limited {
		r.Until = o.View.Now.Add(left)
		r.Text += "; before the deadline at " + o.clock(r.Until)
	}
	return r
}

// phase is the phase of the Job, with the end that the decision adds to its status.
func (o outcome) phase() jobstatus.Phase {
	outcome := jobstatus.OutcomeOf(o.View.Job)
	end := o.End
	if !end.Ended() {
		end = o.Plan.End
	}
	switch {
	case outcome.Terminal() || !end.Ended():
		return outcome.Phase
	case end.Succeeds():
		return jobstatus.Succeeding
	}
	return jobstatus.Failing
}

// outOfReach says why the Job cannot succeed, although its failure is not decided yet; empty
// if the Job can succeed. A failed index keeps the Job from being complete (KEP-3850), but
// its success policy can still be met.
func (o outcome) outOfReach() string {
	if o.reach().failed && o.reach().rule < 0 {
		return o.haveFailed() + "; the Job fails when no other index is left to run"
	}
	if need := o.need(); o.View.Job.DeletionTimestamp != nil && need > o.View.Census.Active {
		return fmt.Sprintf("the Job is being deleted, and %s cannot reach the %d successes that are still needed", pods(int(o.View.Census.Active)), need)
	}
	return ""
}

// reach says what is still within reach of an Indexed Job: whether an index has
// failed, and if so the first rule of the success policy that the others can
// satisfy; -1 when there is none.
type reach struct {
	failed bool
	rule   int
}

func (o outcome) reach() reach {
	if o.View.Totals.Results.Failed.IsEmpty() {
		return reach{}
	}
	return reach{failed: true, rule: o.View.Spec.SuccessPolicy.Match(o.View.Totals.Results.Failed.Complement(*o.View.Spec.Completions))}
}

func (o outcome) haveFailed() string {
	first, _ := o.View.Totals.Results.Failed.Min()
	if n := o.View.Totals.Results.Failed.Len(); n > 1 {
		return fmt.Sprintf("%d indexes have failed, the first is %d", n, first)
	}
	return fmt.Sprintf("index %d has failed", first)
}

// need is the number of successes that are still needed. A Job without completions needs
// one.
func (o outcome) need() int32 {
	completions := int32(1)
	if o.View.Spec.Completions != nil {
		completions = *o.View.Spec.Completions
	}
	return max(0, completions-o.View.Totals.Succeeded)
}

// toGo says what the Job still needs to succeed.
func (o outcome) toGo() string {
	need := o.need()
	switch {
	case o.View.Spec.Completions == nil && need > 0:
		return "one pod must succeed, and all must finish"
	case o.View.Spec.Completions == nil:
		return "a pod has succeeded, the others must finish"
	case o.reach().failed:
		return fmt.Sprintf("%s, but rule %d of the success policy can still be met", o.haveFailed(), o.reach().rule)
	case o.View.Spec.Indexed && o.View.Spec.SuccessPolicy != nil:
		return fmt.Sprintf("%d of %d indexes to go, or fewer by the success policy", need, *o.View.Spec.Completions)
	case o.View.Spec.Indexed:
		return fmt.Sprintf("%d of %d indexes to go", need, *o.View.Spec.Completions)
	}
	return fmt.Sprintf("%d of %s to go", need, pods(int(*o.View.Spec.Completions)))
}

// conditions says on what conditions the Job succeeds.
func (o outcome) conditions() []string {
	var out []string
	switch {
	case o.View.Job.DeletionTimestamp != nil:
		out = append(out, "only with the pods it has, because it is being deleted")
	case o.View.Spec.Suspended:
		out = append(out, "once it is resumed")
	case o.View.Spec.Parallelism == 0:
		out = append(out, "once its parallelism is above 0")
	}
	if o.View.Spec.PerIndex {
		out = append(out, retries(o.View.Spec.Limit.PerIndex))
	}
	switch limit := o.View.Spec.Limit.PerJob; {
	case limit < math.MaxInt32:
		text := fmt.Sprintf("at most %s, %d so far", failures(limit), o.View.Totals.Failed)
		if o.View.Spec.CountRestarts {
			text += fmt.Sprintf(", or as many container restarts, %d so far", o.View.Census.Restarts)
		}
		out = append(out, text)
	case !o.View.Spec.PerIndex:
		out = append(out, fmt.Sprintf("no limit on failures, %d so far", o.View.Totals.Failed))
	}
	return out
}

func retries(n int32) string {
	switch n {
	case 0:
		return "no index is retried"
	case 1:
		return "each index is retried once at most"
	}
	return fmt.Sprintf("each index is retried %d times at most", n)
}
