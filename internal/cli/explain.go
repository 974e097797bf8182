package cli

import (
	"flag"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate"
	why "github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/internal/kubefile"
)

// Objects are Jobs and their pods, and what may tell why these do not run.
type Objects struct {
	*kubefile.Input
	// Notes say what could not be read.
	Notes []Note
}

// notes returns what was not looked at.
func (in Objects) notes() []Note {
	if len(in.Skipped) == 0 {
		return in.Notes
	}
	return append([]Note{{"OtherKinds", "objects of other kinds were skipped: " + in.Skipped.String()}}, in.Notes...)
}

// Explain says what the Job controller does next for a Job, and why.
type Explain struct {
	output
	// Troubled leaves the Jobs that need no attention out of a list, unless all are
	// asked for.
	Troubled bool

	at         *time.Time // of the decision; nil: the present
	managedBy  string     // empty: whoever manages the Job
	all        bool
	exitStatus bool
}

// Flags adds the flags.
func (x *Explain) Flags(fs *flag.FlagSet, clock func() time.Time) {
	x.output.flags(fs)
	fs.BoolVar(&x.all, "all", false, "show everything, however long; by default the text shows the first of long lists")
	fs.BoolVar(&x.exitStatus, "exit-status", false, "tell by the exit status how the Job stands")
	fs.StringVar(&x.managedBy, "managed-by", "", "decide as the controller of this `name` in spec.managedBy;\nby default, as the one that the Job names")
	fs.Func("now", "the `time` of the decision, as in 2023-08-21T10:00:00Z, 2023-08-21T10:00:00 (local time)\nor -10m (ten minutes ago); by default, the present", func(text string) error {
		at, err := instantOf(text, clock())
		x.at = &at
		return err
	})
}

// View is what explain says of one Job, or of a list of them.
type View struct {
	reports []*report // those of a list in the order of the attention that they need
	list    bool
	others  int    // Jobs that a list leaves out
	notes   []Note // of a list
	err     error  // about the Jobs of a list that cannot be decided on
}

// One explains the first Job.
func (x *Explain) One(env Environment, in Objects) (*View, error) {
	r, err := x.decide(in, in.Jobs[0], x.now(env))
	if err != nil {
		return nil, err
	}
	return &View{reports: []*report{r}}, nil
}

// Reason returns the code of the cause that comes first; empty without a Job.
func (v *View) Reason() string {
	if len(v.reports) == 0 {
		return ""
	}
	return v.reports[0].Reason.Code
}

// Ended reports whether it is the view of one Job, which has ended.
func (v *View) Ended() bool { return !v.list && v.Reason() == string(why.JobFinished) }

// Print prints a view. With --exit-status, the error is the answer.
func (x *Explain) Print(env Environment, v *View) error {
	if err := x.print(env, v.value(), func(p paint) string { return v.text(p, x.all) }); err != nil {
		return err
	}
	return x.Answer(v)
}

// Answer is what the exit status tells of a view, as an error.
func (x *Explain) Answer(v *View) error {
	switch {
	case v.err != nil:
		return v.err
	case !x.exitStatus || len(v.reports) == 0 || v.reports[0].Reason.attention == why.AttentionNone:
		return nil
	}
	return answer(exitNo + int(v.reports[0].Reason.attention-why.AttentionWait))
}

func (x *Explain) now(env Environment) time.Time {
	if x.at != nil {
		return *x.at
	}
	return env.Clock().Truncate(time.Second)
}

// decide decides on the input and reports the decision. What the controller
// remembers of failures is rebuilt from the pods: a controller that has seen
// others, which are gone, may wait longer.
func (x *Explain) decide(in Objects, m *kubefile.Manifest, now time.Time) (*report, error) {
	manager := x.managedBy
	if manager == "" {
		manager = managerOf(m.Job)
	}
	opts := []jobfate.Option{jobfate.ManagedBy(manager)}
	if m.RuleNames != nil {
		opts = append(opts, jobfate.RuleNames(m.RuleNames...))
	}
	snapshot := jobfate.Snapshot{Job: m.Job, Pods: in.Pods, Now: now, BackoffInDoubt: true}
	d, err := jobfate.Decide(snapshot, opts...)
	if err != nil {
		return nil, locate(err, m, in.Pods, in.PodsAt)
	}
	e := why.Of(d, why.Evidence(in.Evidence))
	causes := e.Causes()
	if x.managedBy == "" && manager != "" {
		causes = elsewhere(m.Job, causes)
	}
	if causes[0].Code == why.CauseMultiKueue { // no controller decides like the Job controller here
		d, e, causes = jobfate.Decision{}, why.Explanation{}, causes[:1]
	}
	return newReport(in, m, now, d, e, causes), nil
}

// elsewhere puts first that another controller manages the Job, which needs as much
// attention as if that controller decided like the Job controller.
func elsewhere(job *batchv1.Job, causes []why.Cause) []why.Cause {
	first := why.Unmanaged(job)
	if first.Code == why.JobFinished {
		return causes
	}
	if first.Code == why.CauseManagedElsewhere {
		first.Attention = causes[0].Attention
	}
	return append([]why.Cause{first}, causes...)
}

// managerOf returns the name of the controller that manages the Job when it is
// not the Job controller.
func managerOf(job *batchv1.Job) string {
	if name := job.Spec.ManagedBy; name != nil && *name != batchv1.JobControllerName {
		return *name
	}
	return ""
}
