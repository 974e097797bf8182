package group

import (
	"cmp"
	"time"
)

// Failure is the failure of a member. Those of Jobs come from package jobs.
type Failure struct {
	Member
	// Attempt is the attempt that the Job was created for: [State.Attempt] at that time.
	Attempt int32
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
	// Progress is a number that the caller reports for budgets that it renews, such as that of the last checkpoint;
	// 0 if it is not known. For a budget of the group or of a template, it is that of all its members together.
	Progress int64
}

// compare orders failures in the order in which they decide: by time, then by name. The other
// fields only make the order total, so that the order of the arguments never matters.
func (f *Failure) compare(o *Failure) int {
	return cmp.Or(f.At.Compare(o.At), cmp.Compare(f.Name, o.Name), cmp.Compare(f.Template, o.Template),
		cmp.Compare(f.Attempt, o.Attempt), cmp.Compare(f.Reason, o.Reason), cmp.Compare(f.Message, o.Message),
		cmp.Compare(f.Class, o.Class), cmp.Compare(f.RuleName, o.RuleName),
		cmp.Compare(f.Container, o.Container), cmp.Compare(f.ExitCode, o.ExitCode),
		cmp.Compare(f.Progress, o.Progress))
}
