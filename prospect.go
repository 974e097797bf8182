package jobfate

import (
	"fmt"
	"math"
	"strings"

	"github.com/jobfate/jobfate/jobstatus"
)

// Whether a Job can still succeed.
const (
	// ProspectSuccess: the Job has succeeded, or it is decided that it does.
	ProspectSuccess Code = "Success"
	// ProspectPossible: the Job can succeed.
	ProspectPossible Code = "Possible"
	// ProspectOutOfReach: nothing is decided yet, but as the Job stands it can
	// only fail.
	ProspectOutOfReach Code = "OutOfReach"
	// ProspectFailure: the Job has failed, or it is decided that it does.
	ProspectFailure Code = "Failure"
)

// Prospect says whether the Job can still succeed, and what that takes. Until is
// the deadline by which it must, if it has one.
func (e Explanation) Prospect() Reason {
	s := e.step
	if s == nil {
		return Reason{}
	}
	switch s.phase() {
	case jobstatus.Complete:
		return Reason{Code: ProspectSuccess, Text: "yes, the Job has succeeded"}
	case jobstatus.Succeeding:
		return Reason{Code: ProspectSuccess, Text: "yes, it is decided: the Job succeeds"}
	case jobstatus.Failed:
		return Reason{Code: ProspectFailure, Text: "no, the Job has failed"}
	case jobstatus.Failing:
		return Reason{Code: ProspectFailure, Text: "no, it is decided: the Job fails"}
	}
	if why := s.outOfReach(); why != "" {
		return Reason{Code: ProspectOutOfReach, Text: "no: " + why}
	}
	r := Reason{Code: ProspectPossible, Text: "yes: " + strings.Join(append([]string{s.toGo()}, s.conditions()...), "; ")}
	if left, limited := s.untilDeadline(); limited {
		r.Until = s.now.Add(left)
		r.Text += "; before " + s.clock(r.Until)
	}
	return r
}

// phase is what has become of the Job, with what the decision adds to its
// status.
func (s *step) phase() jobstatus.Phase {
	outcome := jobstatus.OutcomeOf(s.job)
	end := s.final
	if !end.Ended() {
		end = s.end
	}
	switch {
	case outcome.Terminal() || !end.Ended():
		return outcome.Phase
	case end.Succeeds():
		return jobstatus.Succeeding
	}
	return jobstatus.Failing
}

// outOfReach says why the Job cannot succeed though that is not decided; empty
// when it can. A failed index keeps the Job from being complete (KEP-3850), but
// not its success policy from being met.
func (s *step) outOfReach() string {
	if s.reach().failed && s.reach().rule < 0 {
		return s.haveFailed() + "; the Job fails when no other index is left to run"
	}
	if need := s.need(); s.job.DeletionTimestamp != nil && need > s.census.Active {
		return fmt.Sprintf("the Job is being deleted, and %s cannot bring the %d successes that it lacks", pods(int(s.census.Active)), need)
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

func (s *step) reach() reach {
	if s.fates.Failed.IsEmpty() {
		return reach{}
	}
	return reach{failed: true, rule: s.successPolicy.Match(s.fates.Failed.Complement(*s.completions))}
}

func (s *step) haveFailed() string {
	first, _ := s.fates.Failed.Min()
	if n := s.fates.Failed.Len(); n > 1 {
		return fmt.Sprintf("%d indexes have failed, the first is %d", n, first)
	}
	return fmt.Sprintf("index %d has failed", first)
}

// need is the number of successes that are missing. Without completions it is
// one, until there is one.
func (s *step) need() int32 {
	completions := int32(1)
	if s.completions != nil {
		completions = *s.completions
	}
	return max(0, completions-s.succeeded)
}

// toGo says what the Job takes to succeed.
func (s *step) toGo() string {
	need := s.need()
	switch {
	case s.completions == nil && need > 0:
		return "one pod must succeed, and all must finish"
	case s.completions == nil:
		return "a pod has succeeded, the others must finish"
	case s.reach().failed:
		return fmt.Sprintf("%s, but rule %d of the success policy can still be met", s.haveFailed(), s.reach().rule)
	case s.indexed && s.successPolicy != nil:
		return fmt.Sprintf("%d of %d indexes to go, or fewer by the success policy", need, *s.completions)
	case s.indexed:
		return fmt.Sprintf("%d of %d indexes to go", need, *s.completions)
	}
	return fmt.Sprintf("%d of %d pods to go", need, *s.completions)
}

// conditions says on what conditions the Job succeeds.
func (s *step) conditions() []string {
	var out []string
	switch {
	case s.job.DeletionTimestamp != nil:
		out = append(out, "only with the pods it has, for it is being deleted")
	case s.suspended:
		out = append(out, "once it is resumed")
	case s.parallelism == 0:
		out = append(out, "once its parallelism is above 0")
	}
	if s.perIndex {
		out = append(out, retries(s.limit.PerIndex))
	}
	if limit := s.limit.PerJob; limit < math.MaxInt32 {
		text := fmt.Sprintf("at most %s, %d so far", failures(limit), s.failed)
		if s.census.Lens().Restarts {
			text += fmt.Sprintf(", or as many restarts of containers, %d so far", s.census.Restarts)
		}
		out = append(out, text)
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
