package cli

import (
	"cmp"
	"errors"
	"flag"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/apirules"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/decide"
	why "github.com/jobfate/jobfate/explain"
)

// Objects holds Jobs, their pods, and objects that explain why the pods do not run.
type Objects struct {
	*kubefile.Input
	// Notes lists what could not be read. Refused lists the kinds that may not be read, and Refusal says why.
	Notes   []Note
	Refused []string
	Refusal error
	// Live says that the objects are those of a cluster, with all pods of the Jobs.
	Live bool
	// AllNodes says that the nodes are all of the cluster.
	AllNodes bool
	// AllNamespaces says that the objects may be those of several namespaces.
	AllNamespaces bool
}

// AllNotes returns notes about objects that were skipped or could not be read.
func (in Objects) AllNotes() []Note {
	var notes []Note
	if len(in.Skipped) > 0 {
		notes = append(notes, Note{"OtherKinds", "objects of other kinds were skipped: " + in.Skipped.String()})
	}
	if len(in.Refused) > 0 {
		notes = append(notes, NewNote("NotPermitted", "causes that depend on %s cannot be found: %v",
			strings.Join(in.Refused, ", "), in.Refusal))
	}
	return append(notes, in.Notes...)
}

// IsEvidence reports whether objects of a kind, and events about them, may explain the state of a Job.
func IsEvidence(group, kind string) bool { return diagnose.Reads(group, kind) }

// evidence returns the objects other than Jobs and pods.
func (in Objects) evidence() diagnose.Evidence {
	e := diagnose.Evidence{Events: in.Events, Nodes: in.Nodes, AllNodes: in.AllNodes, OtherPods: in.Pods,
		NextRun: apirules.NextRun}
	for _, object := range in.Objects {
		e.Objects = append(e.Objects, object)
	}
	for _, cron := range in.CronJobs {
		e.Objects = append(e.Objects, cron)
	}
	return e.Prepared()
}

// Explain says what the Job controller does next for a Job, and why.
type Explain struct {
	output
	// Troubled omits the Jobs that need no attention from a list, unless --all is given.
	Troubled bool

	at         *time.Time // the time of the decision; nil: the present
	managedBy  string     // the controller that decides; empty: the one that manages the Job
	saved      bool       // the input is a file, which may be old
	all        bool
	exitStatus bool
	advise     bool
}

// Flags adds the flags.
func (x *Explain) Flags(fs *flag.FlagSet, clock func() time.Time) {
	x.output.flags(fs)
	fs.BoolVar(&x.all, "all", false, "print everything; by default the text truncates long lists")
	fs.BoolVar(&x.advise, "advise", false, "print the change of the next Job that would have helped, and what it gains")
	fs.BoolVar(&x.exitStatus, "exit-status", false, "report the state of the Job by the exit status")
	fs.StringVar(&x.managedBy, "managed-by", "",
		"decide as the controller with this `name` in spec.managedBy;\nby default, as the controller that "+
			"the Job names")
	nowFlag(fs, clock, "the decision", func(at time.Time) { x.at = &at })
}

// View is the explanation of one Job, of one CronJob, or of a list of both.
type View struct {
	reports []*report // in a list, those that need most attention come first
	crons   []*cronReport
	list    bool
	// namespaces says that a list names them even if there is only one.
	namespaces bool
	others     int    // Jobs that a list omits
	notes      []Note // of a list
	// unreadable says which parts of the input cannot be read.
	unreadable []string
	// about the parts of the input that cannot be read, and the Jobs of a list that cannot be decided on
	err error
}

// ofEnded lists the causes of CronJobs that are about Jobs which have ended: the one explained, or others.
var ofEnded = []string{"RunsFail", "DeadlineOutgrown", "FailuresGone"}

// One explains the first Job.
func (x *Explain) One(env Environment, in Objects) (*View, error) {
	evidence, now := in.evidence(), x.now(env, &in)
	r, err := x.decide(in, evidence, in.Jobs[0], now)
	if err != nil {
		return nil, errors.Join(in.Err(), err)
	}
	r.Unreadable = mapped(in.Unreadable, error.Error)
	for _, cron := range in.CronJobs {
		c := x.cronJob(in, evidence, cron, now).Reason
		switch {
		case !metav1.IsControlledBy(in.Jobs[0].Job, cron):
		case c.Code == "RunBlocked" && r.Reason.attention == diagnose.AttentionNone &&
			slices.ContainsFunc(cron.Status.Active,
				func(of corev1.ObjectReference) bool { return of.Name == r.Job.Name }): // by this Job, which hangs
			c.Text = "CronJob " + cron.Name + ": " + c.Text
			r.Reason, r.Also = c, append([]cause{r.Reason}, r.Also...)
		case c.attention > diagnose.AttentionNone && !slices.Contains(ofEnded, c.Code):
			r.Notes = append(r.Notes, Note{"CronJob", "CronJob " + cron.Name + ": " + c.Code + ": " + c.Text})
		}
	}
	return &View{reports: []*report{r}, unreadable: r.Unreadable, err: in.Err()}, nil
}

// worst returns the first cause of what needs most attention. It is empty without a Job.
func (v *View) worst() (worst cause) {
	for _, r := range v.reports[:min(1, len(v.reports))] {
		worst = r.Reason
	}
	for _, c := range v.crons {
		if worst.Code == "" || c.Reason.attention > worst.attention {
			worst = c.Reason
		}
	}
	return worst
}

// Reason returns the code of the first cause. It is empty without a Job.
func (v *View) Reason() string { return v.worst().Code }

// Ended reports whether the view is of one Job, and the Job has ended.
func (v *View) Ended() bool { return !v.list && slices.Contains(ended, why.Code(v.Reason())) }

// savedAdvice is for an overdue step.
const savedAdvice = " If the file was saved earlier, give its time with --now."

// ended lists the first causes of a Job that has ended.
var ended = []why.Code{why.JobFinished, "Failed", "TTLOverdue"}

// Print prints a view. With --exit-status, the error carries the exit status.
func (x *Explain) Print(env Environment, v *View) error {
	if err := x.print(env, v.value(), func(p paint) string { return v.text(p, x.all) }); err != nil {
		return err
	}
	return x.Answer(v)
}

// Answer returns the exit status for a view, as an error.
func (x *Explain) Answer(v *View) error {
	switch {
	case v.err != nil:
		return v.err
	case !x.exitStatus || v.worst().attention == diagnose.AttentionNone:
		return nil
	}
	return answer(exitNo + int(v.worst().attention-diagnose.AttentionWait))
}

// mostSkew is how far the clock of a cluster may be ahead of this one without a note.
const mostSkew = time.Minute

// now returns the time of a decision. If files are newer than the clock, it is that of their newest object, and there
// is a note: otherwise nothing would be overdue.
func (x *Explain) now(env Environment, in *Objects) time.Time {
	if x.at != nil {
		return *x.at
	}
	now := env.Clock().Truncate(time.Second)
	created := mapped(in.Pods, (*corev1.Pod).GetCreationTimestamp) // by the API server, not by a node
	for _, m := range in.Jobs {
		created = append(created, m.Job.CreationTimestamp)
	}
	newest := slices.MaxFunc(append(created, metav1.NewTime(now)),
		func(a, b metav1.Time) int { return a.Compare(b.Time) }).Time
	ahead := newest.Sub(now)
	if in.Live || ahead <= mostSkew {
		return now
	}
	in.Notes = append(slices.Clone(in.Notes), NewNote("ClockBehind", "the input is %s newer than the clock here: "+
		"times count from its newest object, at %s", duration.HumanDuration(ahead), newest.UTC().Format(time.RFC3339)))
	return newest
}

// decide decides on the input and reports the decision. It rebuilds the controller's memory of failures
// from the pods. A controller that remembers failed pods that no longer exist may wait longer.
func (x *Explain) decide(in Objects, evidence diagnose.Evidence, m *kubefile.Manifest, now time.Time) (*report, error) {
	manager := cmp.Or(x.managedBy, managerOf(m.Job))
	d, err := decide.Job(decide.Snapshot{Job: m.Job, Pods: in.Pods, Now: now}, optionsFor(m, manager)...)
	if err != nil {
		return nil, locate(err,
			func(err error, name string) error { return locateOne(err, name, m, in.Pods, in.PodsAt) })
	}
	e := diagnose.Of(d, evidence)
	causes := e.Causes()
	if x.managedBy == "" && manager != "" {
		causes = elsewhere(m.Job, causes, evidence)
	}
	if x.saved && x.at == nil && strings.HasSuffix(string(causes[0].Code), "Overdue") {
		causes[0].Advice += savedAdvice
	}
	for i := range causes {
		if in.Live && causes[i].Code == "PodsMissing" {
			causes[i].Advice = "The cluster has no further pod of the Job: check that the controller that manages it " +
				"is running."
		}
	}
	if causes[0].Code == "MultiKueue" { // no controller creates pods for the Job in this cluster
		d, e, causes = decide.Decision{}, diagnose.Diagnosis{}, causes[:1]
	}
	r := newReport(in, m, now, d, e, causes)
	r.advise = x.advise
	if m.RuleNames != nil { // a patch would lose them
		r.Proposals.Patch = nil
	}
	return r, nil
}

// optionsFor returns the options of decisions on a Job, made as the named controller.
func optionsFor(m *kubefile.Manifest, manager string) []decide.Option {
	opts := []decide.Option{decide.ManagedBy(manager)}
	if m.RuleNames != nil {
		opts = append(opts, decide.RuleNames(m.RuleNames...))
	}
	return opts
}

// elsewhere adds the cause that another controller manages the Job, as the first one. The
// Job needs as much attention as if that controller decided like the Job controller.
func elsewhere(job *batchv1.Job, causes []diagnose.Cause, evidence diagnose.Evidence) []diagnose.Cause {
	first := diagnose.Unmanaged(job, evidence)
	if slices.Contains(ended, causes[0].Code) || causes[0].Code == "ManagerSilent" {
		return causes
	}
	switch held := causes[0]; {
	case first.Code == "ManagedElsewhere":
		first.Attention = held.Attention
	case slices.Contains(queued, held.Code): // what Kueue says of the Workload holds here, too
		first.Text, first.Advice, first.Evidence = first.Text+"; "+held.Text, held.Advice, held.Evidence
	}
	return append([]diagnose.Cause{first}, causes...)
}

// queued lists the causes by which Kueue holds a Job.
var queued = []why.Code{"WorkloadDeactivated", "WorkloadInadmissible", "QueueStopped", "QueueMissing",
	"AdmissionCheck", "EvictedByKueue", "QueuedByKueue"}

// managerOf returns the name of the controller that manages the Job. It is empty if that is the Job
// controller.
func managerOf(job *batchv1.Job) string {
	if name := job.Spec.ManagedBy; name != nil && *name != batchv1.JobControllerName {
		return *name
	}
	return ""
}

const explainUsage = `Usage: jobfate explain [flags] [file ...]

Reads a Job and its pods and says what the Job controller does next, and why; what
the Job waits for, and until when; the state of each index that is not done; and
whether the Job can still succeed. The first line says why there is no pod, no further
pod, or no pod that makes progress.

The files are what kubectl prints with -o yaml or -o json, in any order:

  (kubectl get job/NAME -o yaml; echo ---; kubectl get pods -l job-name=NAME -o yaml) | jobfate explain
  kubectl get job,pods,events -o yaml | jobfate explain --job NAME

Of a CronJob it says what keeps it from starting Jobs, how the last ones ended, and
which start times come and were missed. If the input has several Jobs or CronJobs, it
prints one line for each; those that need most attention come first. --job selects one.
Events, Nodes, the owners of the Job (JobSet, TrainJob, Workload, PodGroup) and what
its pods need (PersistentVolumeClaim, ResourceClaim, ConfigMap, Secret, Namespace,
ResourceQuota) help to find the cause. Objects of other kinds are skipped, with a
note. What cannot be read is left out, with an error; the rest is explained.

Without a file, and for the file -, it reads the standard input.

Exit status: 0 success, 1 a part of the input cannot be read or is invalid, 2 wrong usage. With
--exit-status also
` + ExitStatuses + `

Flags:
`

// ExitStatuses says what --exit-status does.
const ExitStatuses = `  3  the Job waits: the next pod is created after a delay, or when a pod ends
  4  the Job is on hold: suspended, queued by Kueue, with parallelism 0, or being deleted
  5  the Job cannot succeed: it has failed, is failing, or can only fail
  6  the Job is stuck: pods cannot be created, start or finish, or a step is overdue; the
     second line says what to do
and 0 if the Job runs well, or has succeeded.`

// explainFiles is the command explain, which reads the Jobs from files.
func explainFiles(env Environment, args []string) error {
	var x Explain
	var name string
	fs := newFlags("explain")
	x.Flags(fs, env.Clock)
	fs.StringVar(&name, "job", "", "explain the Job of this `name`, or namespace/name, in an input with several;\n"+
		"cronjob/NAME explains a CronJob")
	files, err := env.parseFiles(fs, explainUsage, args)
	if err != nil {
		return err
	}
	x.saved = slices.ContainsFunc(files, func(name string) bool { return name != "-" })
	in, err := readFiles(env, files)
	if err != nil {
		return err
	}
	if err := choose(in.Input, name); err != nil {
		return errors.Join(in.Err(), err)
	}
	look := x.One
	switch {
	case strings.HasPrefix(name, cronPrefix) || len(in.Jobs) == 0 && len(in.CronJobs) == 1:
		look = x.CronJob
	case name == "" && (len(in.Jobs) != 1 || !ownedByAll(in.Jobs[0].Job, in.CronJobs)),
		name == "" && len(in.CronJobs) > 0 && in.Jobs[0].Job.Status.CompletionTime != nil:
		look = x.List
	}
	view, err := look(env, in)
	if err != nil {
		return err
	}
	return x.Print(env, view)
}
