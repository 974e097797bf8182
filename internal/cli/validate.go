package cli

import (
	"flag"
	"fmt"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/kubefile"
	"github.com/jobfate/jobfate/validation"
)

const validateUsage = `Usage: jobfate validate [flags] [file ...]

Says what the API server would refuse about Jobs, and what it would warn about.

  jobfate validate job.yaml                          the Job is created
  jobfate validate --old old.yaml new.yaml           the old Job is replaced by the new one
  jobfate validate --status job.yaml                 the status, by itself
  jobfate validate --status --old old.yaml new.yaml  the status is replaced

The template of a CronJob is checked as a Job. Objects of other kinds are skipped,
and counted in a note.

Without a file, and for the file -, it reads the standard input. A Job that is
created may lack what the API server fills in: namespace, UID, defaults, selector
and labels; so may one that replaces another. Of the pod template only that is
checked which concerns the Job, and its own defaults are not filled in: compare
files of one kind, two that were written or two that kubectl printed.

The names of rules of a pod failure policy are checked as KEP-4443 proposes.
Warnings are those of the API server, advice from the KEPs on the number of
completions and the size of the status, fields that the API does not have, and
policies that do something else than they seem to. With --strict, a field that the
API does not have is an error, as it is for kubectl apply.

-o sarif is for the code scanning of CI systems (SARIF 2.1.0).

Exit status: 0 accepted, 1 the input cannot be read, 2 usage, 3 refused.

Flags:
`

// Validate says what the API server would refuse about Jobs.
type Validate struct {
	output
	status bool
	strict bool
}

// Flags adds the flags; more are formats beside text, JSON and YAML.
func (c *Validate) Flags(fs *flag.FlagSet, more ...string) {
	c.output.flags(fs, more...)
	fs.BoolVar(&c.status, "status", false, "check the status instead of the spec")
	fs.BoolVar(&c.strict, "strict", false, "refuse fields that the API does not have")
}

// validateFiles is the command validate: it reads the Jobs from files.
func validateFiles(env Environment, args []string) error {
	var c Validate
	var old string
	fs := newFlags("validate")
	c.Flags(fs, "sarif")
	env.limitFlag(fs)
	fs.StringVar(&old, "old", "", "the `file` with the Job as it is now")
	files, err := parse(env, fs, validateUsage, args)
	if err != nil {
		return err
	}
	files = orStandardInput(files)
	if old != "" {
		files = append([]string{old}, files...)
	}
	var before *kubefile.Manifest
	var in *kubefile.Input
	err = withFiles(env, files, func(sources []kubefile.Source) (err error) {
		if old != "" {
			start, err := kubefile.ReadStart(sources[0])
			if err != nil {
				return err
			}
			before, sources = start.Jobs[0], sources[1:]
		}
		in, err = kubefile.ReadManifests(sources...)
		return err
	})
	if err != nil {
		return err
	}
	return c.Print(env, before, in)
}

// Print prints what the API server would refuse about Jobs or, if there is an old Job,
// about the one that replaces it. That it would refuse something is an error, which the
// exit status tells.
func (c *Validate) Print(env Environment, old *kubefile.Manifest, in *kubefile.Input) error {
	if old != nil && len(in.Jobs) > 1 {
		return fmt.Errorf("%s is a second Job; want one that replaces %s", in.Jobs[1].At, old.Job.Name)
	}
	all := verdicts{Jobs: []verdict{}, Skipped: in.Skipped}
	refused := false
	for _, m := range in.Jobs {
		v := c.verdict(m, old)
		all.Jobs, refused = append(all.Jobs, v), refused || !v.Accepted
	}
	print := func() error { return c.print(env, all, all.text) }
	if c.format == "sarif" {
		print = func() error { return env.print(toJSON(all.sarif())) }
	}
	if err := print(); err != nil || !refused {
		return err
	}
	return answer(exitNo)
}

// verdict checks a Job, or how it replaces the old one.
func (c *Validate) verdict(m, old *kubefile.Manifest) verdict {
	v := newVerdict(m, c.status)
	for _, p := range m.Problems {
		v.refuse("Unreadable", p.Field, p.Message)
	}
	v.unknown(m, c.strict)
	if len(m.Problems) > 0 {
		return v.sorted()
	}
	for _, err := range c.errors(m, old) {
		v.refuse(string(err.Type), err.Field, body(err))
	}
	if !c.status {
		for _, text := range validation.Warnings(named(m.Job)) {
			v.warnText("APIWarning", text)
		}
		v.warnings(traps(validation.Default(named(m.Job))))
	} else if reflect.DeepEqual(m.Job.Status, batchv1.JobStatus{}) {
		v.warn("NoStatus", "status", "there is none; an empty one was checked")
	}
	for _, text := range validation.Advice(m.Job) {
		v.warnText("Advice", text)
	}
	if old != nil {
		v.tellDifferences(m, stored(old.Job), replacing(m.Job, old.Job))
	}
	return v.sorted()
}

// errors returns what the API server would refuse.
func (c *Validate) errors(m, old *kubefile.Manifest) (errs field.ErrorList) {
	switch {
	case c.status && old != nil:
		return validation.StatusUpdate(replacing(m.Job, old.Job), stored(old.Job))
	case c.status:
		return validation.Status(m.Job)
	case old != nil:
		errs = distinct(validation.Update(replacing(m.Job, old.Job), stored(old.Job)))
		errs = append(errs, renamed(m, old)...)
	default:
		errs = validation.Create(validation.PrepareCreate(named(m.Job)))
	}
	spec := failurepolicy.FromAPI(m.Job.Spec.PodFailurePolicy, m.RuleNames...)
	return append(errs, validation.RuleNames(spec, policyPath)...)
}

var policyPath = field.NewPath("spec", "podFailurePolicy")

// renamed refuses a new name of a rule: the policy is immutable. The API types
// lack the names, so that the validation of an update does not see them.
func renamed(m, old *kubefile.Manifest) (errs field.ErrorList) {
	name := func(names []string, i int) string {
		if i < len(names) {
			return names[i]
		}
		return ""
	}
	for i := range max(len(m.RuleNames), len(old.RuleNames)) {
		if is := name(m.RuleNames, i); is != name(old.RuleNames, i) {
			errs = append(errs, field.Invalid(policyPath.Child("rules").Index(i).Child("name"), is, "field is immutable"))
		}
	}
	return errs
}

// placeholder stands for the UID that the API server will give a new Job.
const placeholder = "00000000-0000-0000-0000-000000000000"

// named returns a Job with the namespace, name and UID that the API server gives
// a new one before it checks it.
func named(job *batchv1.Job) *batchv1.Job {
	job = job.DeepCopy()
	if job.Name == "" && job.GenerateName != "" {
		job.Name = job.GenerateName + "xxxxx"
	}
	if job.Namespace == "" {
		job.Namespace = "default"
	}
	if job.UID == "" {
		job.UID = placeholder
	}
	return job
}

// stored returns an old Job as the API server has it.
func stored(job *batchv1.Job) *batchv1.Job {
	job = validation.GenerateSelector(validation.Default(named(job)))
	if job.ResourceVersion == "" {
		job.ResourceVersion = "1"
	}
	return job
}

// replacing returns a Job that replaces an old one. What it does not say of its
// identity it takes from there.
func replacing(job, old *batchv1.Job) *batchv1.Job {
	job, old = job.DeepCopy(), stored(old)
	for _, f := range []struct{ mine, other *string }{
		{&job.Name, &old.Name},
		{&job.GenerateName, &old.GenerateName},
		{&job.Namespace, &old.Namespace},
		{(*string)(&job.UID), (*string)(&old.UID)},
		{&job.ResourceVersion, &old.ResourceVersion},
	} {
		if *f.mine == "" {
			*f.mine = *f.other
		}
	}
	if job.CreationTimestamp.IsZero() {
		job.CreationTimestamp = old.CreationTimestamp
	}
	job.Generation = max(job.Generation, old.Generation)
	return validation.GenerateSelector(validation.Default(job))
}

// distinct leaves out what is said a second time: the API server checks the spec
// of an update twice.
func distinct(errs field.ErrorList) (out field.ErrorList) {
	seen := map[string]bool{}
	for _, err := range errs {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			out = append(out, err)
		}
	}
	return out
}
