package cli

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate"
	why "github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/internal/kubefile"
)

const explainUsage = `Usage: jobfate explain [flags] [file ...]

Reads a Job and its pods and says what the Job controller does next, and why;
what the Job waits for, and until when; what holds for each index that is not
done; and whether the Job can still succeed. The first line answers why there is
no pod, or no further one.

The files are what kubectl prints with -o yaml or -o json, in any order:

  (kubectl get job/NAME -o yaml; echo ---; kubectl get pods -l job-name=NAME -o yaml) | jobfate explain
  kubectl get job,pods,events -o yaml | jobfate explain --job NAME

Of several Jobs it prints a line each, those first that need attention most; --job
selects one. Events and Nodes help to find the cause; objects of other kinds are
skipped, with a note.

Without a file, and for the file -, it reads the standard input.

Exit status: 0 decided, 1 the input cannot be read or decided on, 2 usage. With
--exit-status also
  3  the Job waits: time, or the end of a pod, brings the next one
  4  the Job is held: suspended, without parallelism, or being deleted
  5  the Job cannot succeed: it has failed, fails, or can only fail
  6  the Job is stuck: what should have happened has not; the first line says what
     to do
and 0 when it runs well, or has succeeded.

Flags:
`

// request is what the arguments of explain ask for.
type request struct {
	output
	now        time.Time
	job        string // a name, or a namespace and a name; empty: all
	managedBy  string // empty: whoever manages the Job
	all        bool
	exitStatus bool
	files      []string
}

func explain(env Environment, args []string) error {
	req, err := parseExplain(env, args)
	if err != nil {
		return err
	}
	env.maxInput = req.maxInput
	in, err := readFiles(env, req.files)
	if err != nil {
		return err
	}
	if err := req.choose(in); err != nil {
		return err
	}
	if len(in.Jobs) > 1 {
		return req.overview(env, in)
	}
	r, err := decide(in, in.Jobs[0], req)
	if err != nil {
		return err
	}
	err = req.print(env, r, func(p paint) string { return r.text(p, req.all) })
	return cmp.Or(err, req.statusOf(r.Reason.attention))
}

// statusOf returns the answer that --exit-status asks for.
func (req request) statusOf(needs why.Attention) error {
	if !req.exitStatus || needs == why.AttentionNone {
		return nil
	}
	return answer(exitNo + int(needs-why.AttentionWait))
}

func parseExplain(env Environment, args []string) (request, error) {
	req := request{now: env.Clock().Truncate(time.Second)}
	fs := newFlags("explain")
	req.flags(fs)
	fs.BoolVar(&req.all, "all", false, "show everything, however long; by default the text shows the first of long lists")
	fs.BoolVar(&req.exitStatus, "exit-status", false, "tell by the exit status how the Job stands")
	fs.StringVar(&req.job, "job", "", "explain the Job of this `name`, or namespace/name, in an input with several")
	fs.StringVar(&req.managedBy, "managed-by", "", "decide as the controller of this `name` in spec.managedBy;\nby default, as the one that the Job names")
	fs.Func("now", "the `time` of the decision, as in 2023-08-21T10:00:00Z, 2023-08-21T10:00:00 (local time)\nor -10m (ten minutes ago); by default, the present", func(text string) (err error) {
		req.now, err = instantOf(text, env.Clock())
		return err
	})
	var err error
	if req.files, err = parse(env, fs, explainUsage, args); err != nil {
		return req, err
	}
	if len(req.files) == 0 {
		req.files = []string{"-"}
	}
	return req, nil
}

func readFiles(env Environment, names []string) (*kubefile.Input, error) {
	var in *kubefile.Input
	err := withSources(env, names, func(sources []kubefile.Source) (err error) {
		in, err = kubefile.Read(sources...)
		return err
	})
	return in, err
}

// decide decides on the input and reports the decision. What the controller
// remembers of failures is rebuilt from the pods: a controller that has seen
// others, which are gone, may wait longer.
func decide(in *kubefile.Input, m *kubefile.Manifest, req request) (*report, error) {
	manager := req.managedBy
	if manager == "" {
		manager = managerOf(m.Job)
	}
	opts := []jobfate.Option{jobfate.ManagedBy(manager)}
	if m.RuleNames != nil {
		opts = append(opts, jobfate.RuleNames(m.RuleNames...))
	}
	snapshot := jobfate.Snapshot{Job: m.Job, Pods: in.Pods, Now: req.now, BackoffInDoubt: true}
	d, err := jobfate.Decide(snapshot, opts...)
	if err != nil {
		return nil, locate(err, m, in.Pods, in.PodsAt)
	}
	e := why.With(d, why.Evidence(in.Evidence))
	causes := e.Causes()
	if req.managedBy == "" && manager != "" {
		causes = elsewhere(m.Job, causes)
	}
	if causes[0].Code == why.CauseMultiKueue { // no controller decides like the Job controller here
		d, e, causes = jobfate.Decision{}, why.Explanation{}, causes[:1]
	}
	return newReport(in, m, req.now, d, e, causes), nil
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
