package group

import (
	"cmp"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
)

// Failure is the failure of a Job of the group.
type Failure struct {
	Member
	// Attempt is the attempt that the Job was created for: [State.Attempt] at that time.
	Attempt int64
	// At is when the Job failed.
	At time.Time
	// Reason and Message are those of the condition Failed.
	Reason, Message string
	// RuleName is the name of the rule of the pod failure policy that failed the Job, or its position
	// if the name is not known; often empty.
	RuleName string
	// Container and ExitCode are those of the container that the rule matched; often empty.
	// ExitCode is 0 if it is not known.
	Container string
	ExitCode  int32
	// Class is a class that the caller gives to the failure, such as Infrastructure.
	Class string
}

// FailureOf returns the failure of a Job that has the condition Failed, and whether it has. A Job
// that is failing may still have pods, and is not reported.
//
// The rule, the container and the exit code are read from the reason and the message, as
// [failurepolicy.MatchOf] does. If the reason does not name the rule, RuleName is its position;
// [failurepolicy.Spec.Find] finds the name. The caller may set Class.
func FailureOf(job *batchv1.Job, member Member, attempt int64) (Failure, bool) {
	if job == nil {
		return Failure{}, false
	}
	for i := range job.Status.Conditions {
		c := &job.Status.Conditions[i]
		if c.Type != batchv1.JobFailed || c.Status != corev1.ConditionTrue {
			continue
		}
		f := Failure{Member: member, Attempt: attempt, At: c.LastTransitionTime.Time,
			Reason: c.Reason, Message: c.Message}
		if m, ok := failurepolicy.MatchOf(c.Reason, c.Message); ok {
			f.RuleName, f.Container, f.ExitCode = ruleName(m), m.Container, m.ExitCode
		}
		return f, true
	}
	return Failure{}, false
}

// compare orders failures in the order in which they decide: by time, then by name. The other
// fields only make the order total, so that the order of the arguments never matters.
func (f *Failure) compare(o *Failure) int {
	return cmp.Or(f.At.Compare(o.At), cmp.Compare(f.Name, o.Name), cmp.Compare(f.Template, o.Template),
		cmp.Compare(f.Attempt, o.Attempt), cmp.Compare(f.Reason, o.Reason), cmp.Compare(f.Message, o.Message),
		cmp.Compare(f.Class, o.Class), cmp.Compare(f.RuleName, o.RuleName),
		cmp.Compare(f.Container, o.Container), cmp.Compare(f.ExitCode, o.ExitCode))
}

// ruleName returns the name of the rule that failed a Job, or its position; empty if neither is known.
func ruleName(m failurepolicy.Match) string {
	if m.Name == "" && m.Rule >= 0 {
		return strconv.Itoa(m.Rule)
	}
	return m.Name
}
