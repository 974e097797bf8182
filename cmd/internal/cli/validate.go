package cli

import (
	"cmp"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/cmd/internal/apirules"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

const validateUsage = `Usage: jobfate validate [flags] [file ...]

Reports what the API server would reject in Jobs, and its warnings.

  jobfate validate job.yaml                          create the Job
  jobfate validate --old old.yaml new.yaml           update the old Job
  jobfate validate --status job.yaml                 check the status by itself
  jobfate validate --status --old old.yaml new.yaml  update the status

CronJobs are checked with their template, and --old may name one. Objects of other kinds are skipped, and counted in
a note.

Without a file, and for the file -, it reads the standard input. A folder means its YAML and
JSON files, without those in folders within it. A new Job may lack what the API server fills in:
namespace, UID, defaults, selector and labels. It gets a UID of its own, so the selector and the
labels that kubectl get prints are rejected.

Of the pod template the command checks the most common fields: names, images, variables, ports,
volumes, resources, probes and restart rules. kubectl apply --dry-run=server checks all of it;
docs/command.md has examples of the rest.

For an update it prints the answers to kubectl apply (without --server-side) and to kubectl
replace, which differ: only kubectl apply keeps what the file does not mention, such as the
selector that the API server has generated. The old Job is the output of kubectl get or,
without a UID, a manifest from which kubectl apply has created the Job.

The names of rules of a pod failure policy are checked as KEP-4443 proposes. There are the
warnings of the API server about a Job, but not those about its pod template; and warnings for
numbers of completions and sizes of the status that the KEPs advise against, for placeholders of
templates, and for policies and schedules that do not do what they seem to do. An unknown field
is an error, as for kubectl, and so is a field that occurs twice; --loose makes them warnings.

-o sarif is for the code scanning of CI systems (SARIF 2.1.0), and has what cannot be read as errors.

Exit status: 0 accepted, 1 a part of the input cannot be read, 2 wrong usage, 3 rejected. What
can be read is checked. For an update the answer to kubectl apply decides, or to the command
that --by names.

Flags:
`

// Validate reports what the API server would reject in Jobs.
type Validate struct {
	output
	status bool
	loose  bool
	by     string // the command of an update, or both
}

// both is the default of --by.
const both = "both"

// Flags adds the flags. more are formats in addition to text, JSON and YAML.
func (c *Validate) Flags(fs *flag.FlagSet, more ...string) {
	c.output.flags(fs, more...)
	fs.BoolVar(&c.status, "status", false, "check the status instead of the spec")
	fs.BoolVar(&c.loose, "loose", false, "accept unknown fields, and fields that occur twice, with a warning")
	oneOf(fs, &c.by, "by",
		"the `command` of kubectl that updates the Job: apply, replace or both (default both)", both,
		ways[0].name, ways[1].name)
}

// validateFiles is the command validate, which reads the Jobs from files.
func validateFiles(env Environment, args []string) error {
	var c Validate
	var old string
	fs := newFlags("validate")
	c.Flags(fs, "sarif")
	fs.StringVar(&old, "old", "", "the `file` with the old Job; the other file updates it")
	files, err := env.parseFiles(fs, validateUsage, args)
	if err != nil {
		return err
	}
	var before *kubefile.Manifest
	var in *kubefile.Input
	err = withFiles(env, func(sources [][]kubefile.Source) (err error) {
		if old != "" {
			if before, _, err = readStart("", "", sources[0]); err != nil {
				return err
			}
		}
		in, err = kubefile.ReadManifests(sources[1]...)
		return err
	}, given(old), files)
	switch {
	case err == nil:
		return c.Print(env, before, in)
	case in != nil:
		return c.unchecked(env, err, in.Unreadable)
	}
	return c.unchecked(env, err, []error{err})
}

// unchecked returns the error for which no Job was checked. A log for a CI system has it too.
func (c *Validate) unchecked(env Environment, err error, unreadable []error) error {
	if c.format != "sarif" {
		return err
	}
	return cmp.Or(env.print(toJSON(verdicts{}.sarif(unreadable))), err)
}

// Print prints what the API server would reject in Jobs or, if there is an old Job, in its
// update by a Job. If anything is rejected, the error carries the exit status.
func (c *Validate) Print(env Environment, old *kubefile.Manifest, in *kubefile.Input) error {
	if c.by != both && (old == nil || c.status) {
		return Misused("--by is for an update of the spec")
	}
	if err := c.unfit(old, in); err != nil {
		return c.unchecked(env, err, append(slices.Clip(in.Unreadable), err))
	}
	all := verdicts{Jobs: []verdict{}, Skipped: in.Skipped, Unreadable: mapped(in.Unreadable, error.Error)}
	refused := false
	for _, m := range in.Jobs {
		answers := c.verdicts(m, old)
		all.Jobs, refused = append(all.Jobs, answers...), refused || !answers[0].Accepted
	}
	print := func() error { return c.print(env, all, all.text) }
	if c.format == "sarif" {
		print = func() error { return env.print(toJSON(all.sarif(in.Unreadable))) }
	}
	switch err := print(); {
	case err != nil:
		return err
	case len(in.Unreadable) > 0:
		return in.Err()
	case refused:
		return answer(exitNo)
	}
	return nil
}

// unfit returns an error if the command cannot check one of the Jobs.
func (c *Validate) unfit(old *kubefile.Manifest, in *kubefile.Input) error {
	cron, first := slices.IndexFunc(in.Jobs, isCron), in.Jobs[0]
	switch {
	case c.status && cron >= 0:
		at := in.Jobs[cron].Whole()
		return at.Unreadable(fmt.Errorf("%s is a CronJob; --status checks Jobs", at))
	case old == nil:
	case len(in.Jobs) > 1:
		second := in.Jobs[1]
		return second.At.Unreadable(fmt.Errorf("%s is a second %s; want only the %s that updates %s", second.At,
			kindOf(second), kindOf(old), old.Job.Name))
	case kindOf(first) != kindOf(old):
		return first.Whole().Unreadable(fmt.Errorf("%s is a %s; want the %s that updates %s", first.Whole(),
			kindOf(first), kindOf(old), old.Job.Name))
	}
	return nil
}

func isCron(m *kubefile.Manifest) bool { return m.Cron != nil }

// kindOf returns the kind of the object of a manifest.
func kindOf(m *kubefile.Manifest) string {
	if isCron(m) {
		return "CronJob"
	}
	return "Job"
}

// verdicts checks a Job, or the update of the old Job by it, in each of the ways to update a Job.
// The first verdict decides.
func (c *Validate) verdicts(m, old *kubefile.Manifest) (all []verdict) {
	readable := len(m.Problems) == 0 && (m.Cron == nil || len(m.Cron.Problems) == 0)
	if old == nil || c.status {
		v := c.begin(m, old)
		if readable {
			c.check(&v, m, old)
		}
		return []verdict{v.sorted()}
	}
	for _, w := range ways {
		if c.by != both && c.by != w.name {
			continue
		}
		v := c.begin(m, old)
		v.By = "kubectl " + w.name
		if readable {
			checkUpdate(&v, w, m, old)
		}
		all = append(all, v.sorted())
	}
	return all
}

// begin returns a verdict with what is wrong in the text of a manifest.
func (c *Validate) begin(m, old *kubefile.Manifest) verdict {
	v := newVerdict(m, c.status)
	var known, knownOutside []string
	if old != nil {
		known = old.Unknown
	}
	if old != nil && old.Cron != nil {
		knownOutside = old.Cron.Unknown
	}
	v.oddities(m.Oddities, reflect.TypeFor[batchv1.Job](), known, c.loose)
	if m.Cron == nil {
		v.unrendered(apirules.Fields(m.Job), "")
		return v
	}
	v.outer = true
	v.oddities(m.Cron.Oddities, reflect.TypeFor[batchv1.CronJob](), knownOutside, c.loose)
	v.unrendered(apirules.Fields(m.Cron.CronJob), "")
	v.outer = false
	return v
}

// check checks a new Job, or a status.
func (c *Validate) check(out *verdict, m, old *kubefile.Manifest) {
	if m.Cron != nil && !c.status {
		checkCron(out, m, nil)
	}
	out.refuseAll(c.errors(m, old))
	if !c.status {
		job := created(m)
		out.hints(job, validation.Warnings(job))
		return
	}
	if reflect.DeepEqual(m.Job.Status, batchv1.JobStatus{}) {
		out.warn("NoStatus", "status", "the Job has no status; an empty one was checked")
	}
	out.advice(m.Job)
	if old != nil {
		was := live(old, m.Job)
		out.addDifferences(m, was, identified(m.Job, was))
	}
}

// checkUpdate checks the update of the old Job.
func checkUpdate(out *verdict, w way, m, old *kubefile.Manifest) {
	was := live(old, m.Object())
	next := w.update(m, was)
	changed := false
	job, _ := next.object.(*batchv1.Job)
	switch {
	case next.object == nil:
		out.outer = true
		out.refuse(next.refused.Rule, next.refused.Field, next.refused.Message)
		return
	case isCron(m):
		was, cron := was.(*batchv1.CronJob), next.object.(*batchv1.CronJob)
		after := m.WithCron(cron)
		changed = !equality.Semantic.DeepEqual(was.Spec, cron.Spec)
		if job = named(after.Job); !next.same {
			checkCron(out, after, was)
			out.refuseAll(slices.Concat(specErrors(after.Job, was), templateErrors(after.Job),
				failurepolicy.RuleNames(namedPolicy(m), policyPath)))
		}
	case !next.same:
		was := was.(*batchv1.Job)
		changed = !equality.Semantic.DeepEqual(was.Spec, job.Spec)
		out.refuseAll(slices.Concat(validation.Update(job, was), templateErrors(job), renamed(m, old),
			failurepolicy.RuleNames(namedPolicy(m), policyPath)))
		out.addDifferences(m, was, job)
	default: // but for the names of rules, which the comparison leaves out
		out.refuseAll(renamed(m, old))
	}
	if _, found := was.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; !found && w.name == "apply" {
		out.outer = true
		out.warn("NotApplied", "metadata.annotations",
			"the old "+kindOf(m)+" has no annotation "+corev1.LastAppliedConfigAnnotation+
				", so kubectl apply keeps the fields that the file no longer has")
		out.outer = false
	}
	var repeated []string // the API server warns again if the spec changes, but not about the name
	if changed {
		repeated = slices.DeleteFunc(validation.Warnings(job),
			func(text string) bool { return strings.HasPrefix(text, "metadata.name:") })
	}
	out.hints(job, repeated)
}

// renamed returns what the API server would reject in the names of rules, if the old Job shows that it stores them. A
// manifest without the policy keeps it.
func renamed(m, old *kubefile.Manifest) field.ErrorList {
	if old.RuleNames == nil || m.Job.Spec.PodFailurePolicy == nil {
		return nil
	}
	return failurepolicy.RuleNamesUpdate(namedPolicy(m), namedPolicy(old), policyPath)
}

// errors returns what the API server would reject in a new Job or a status.
func (c *Validate) errors(m, old *kubefile.Manifest) field.ErrorList {
	switch {
	case c.status && old != nil:
		was := live(old, m.Job)
		return validation.StatusUpdate(identified(m.Job, was), was)
	case c.status:
		return validation.Status(m.Job)
	}
	errs := append(templateErrors(m.Job), failurepolicy.RuleNames(namedPolicy(m), policyPath)...)
	if job := defaulting.Prepared(created(m)); m.Cron == nil {
		return append(validation.Create(job), errs...)
	}
	return append(specErrors(m.Job, nil), errs...)
}

// templateErrors returns what the API server would reject in the pod template of a Job, besides the rules of
// the Job.
func templateErrors(job *batchv1.Job) field.ErrorList {
	template := job.Spec.Template.DeepCopy()
	template.Spec = *defaulting.PodSpec(&template.Spec)
	return apirules.Template(template, field.NewPath("spec", "template"))
}

// specErrors returns what the API server would reject in the template of a CronJob, which job has, apart from the pod
// template. There it sets no default completions. old is nil for a new CronJob.
func specErrors(job *batchv1.Job, old *batchv1.CronJob) field.ErrorList {
	template, was := &batchv1.JobTemplateSpec{}, (*batchv1.JobTemplateSpec)(nil)
	template.ObjectMeta, template.Spec = job.ObjectMeta, defaulting.Job(job).Spec
	template.Spec.Completions = job.Spec.Completions
	if old != nil {
		was = &old.Spec.JobTemplate
	}
	return validation.JobTemplate(template, was, nil)
}

// checkCron checks the fields of a new CronJob, or of one that replaces old. It warns if the API server accepts it
// but not its Jobs. Their names end in the minute for which they are scheduled.
func checkCron(out *verdict, m *kubefile.Manifest, old *batchv1.CronJob) {
	cron := m.Cron.DeepCopy()
	var errs field.ErrorList
	if old != nil {
		errs = apirules.CronJobUpdate(cron, old)
	} else {
		cron.ObjectMeta = named(&batchv1.Job{ObjectMeta: cron.ObjectMeta}).ObjectMeta
		errs = apirules.CronJob(cron)
	}
	out.outer = true
	out.refuseAll(errs)
	if len(errs) == 0 {
		cronTraps(cron, out.warn)
	}
	out.outer = false
	if len(errs) > 0 {
		return
	}
	job := created(m)
	job.Name += "-29000000"
	known := specErrors(job, old)
	job.Spec.Selector, job.Spec.ManualSelector = nil, nil // both are rejected in a template
	for _, err := range validation.Create(defaulting.Prepared(job)) {
		if !slices.ContainsFunc(known, func(k *field.Error) bool { return k.Error() == err.Error() }) {
			out.warn("JobRejected", err.Field, "the API server accepts the CronJob, but not its Jobs: "+body(err))
		}
	}
}

var policyPath = field.NewPath("spec", "podFailurePolicy")

// namedPolicy returns the pod failure policy of a Job with the names of its rules, which the API
// types lack.
func namedPolicy(m *kubefile.Manifest) *failurepolicy.Spec {
	return failurepolicy.FromAPI(m.Job.Spec.PodFailurePolicy, m.RuleNames...)
}

// newUID stands for the UID of a new Job, which only the API server knows. No output shows it.
const newUID = "9f3c41a6-7d52-4b0e-8a17-c6e1d2b4f058"

// created returns the Job of a manifest with the namespace, name and UID that it has when the API server validates it:
// a UID of its own, even if the manifest has one. A Job of a cluster keeps its UID.
func created(m *kubefile.Manifest) *batchv1.Job {
	job := named(m.Job)
	if m.Fields() != nil {
		job.UID = newUID
	}
	return job
}

// named returns a Job with a namespace, a name and a UID.
func named(job *batchv1.Job) *batchv1.Job {
	job = defaulting.WithGeneratedName(job)
	job.Namespace, job.UID = cmp.Or(job.Namespace, "default"), cmp.Or(job.UID, newUID)
	return job
}
