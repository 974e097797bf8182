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

Reports what the API server would reject in Jobs, and its warnings.

  jobfate validate job.yaml                          create the Job
  jobfate validate --old old.yaml new.yaml           replace the old Job by the new one
  jobfate validate --status job.yaml                 check the status by itself
  jobfate validate --status --old old.yaml new.yaml  replace the status

The template of a CronJob is checked as a Job. Objects of other kinds are skipped, and
counted in a note.

Without a file, and for the file -, it reads the standard input. A new Job may lack what
the API server fills in: namespace, UID, defaults, selector and labels. So may a Job
that replaces another one. The command checks only the parts of the pod template that the
Job depends on, and does not set the defaults of the template. So check an update with two
files of the same origin: two manifests, or two outputs of kubectl.

The names of rules of a pod failure policy are checked as KEP-4443 proposes. There are
warnings for everything that the API server warns about, for numbers of completions and
sizes of the status that the KEPs advise against, for unknown fields, and for policies that
do not do what they seem to do. With --strict an unknown field is an error, as for kubectl
apply.

-o sarif is for the code scanning of CI systems (SARIF 2.1.0).

Exit status: 0 accepted, 1 a part of the input cannot be read, 2 wrong usage, 3 rejected. What
can be read is checked.

Flags:
`

// Validate reports what the API server would reject in Jobs.
type Validate struct {
	output
	status bool
	strict bool
}

// Flags adds the flags. more are formats in addition to text, JSON and YAML.
func (c *Validate) Flags(fs *flag.FlagSet, more ...string) {
	c.output.flags(fs, more...)
	fs.BoolVar(&c.status, "status", false, "check the status instead of the spec")
	fs.BoolVar(&c.strict, "strict", false, "reject unknown fields")
}

// validateFiles is the command validate, which reads the Jobs from files.
func validateFiles(env Environment, args []string) error {
	var c Validate
	var old string
	fs := newFlags("validate")
	c.Flags(fs, "sarif")
	fs.StringVar(&old, "old", "", "the `file` with the old Job; the other file replaces it")
	files, err := env.parseFiles(fs, validateUsage, args)
	if err != nil {
		return err
	}
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
			if before, sources = start.Jobs[0], sources[1:]; before.Path != "" {
				return fmt.Errorf("%s is a CronJob, whose template may change; want a Job", before.At)
			}
		}
		in, err = kubefile.ReadManifests(sources...)
		return err
	})
	if err != nil {
		return err
	}
	return c.Print(env, before, in)
}

// Print prints what the API server would reject in Jobs or, if there is an old Job, in the
// Job that replaces it. If anything is rejected, the error carries the exit status.
func (c *Validate) Print(env Environment, old *kubefile.Manifest, in *kubefile.Input) error {
	if old != nil && len(in.Jobs) > 1 {
		return fmt.Errorf("%s is a second Job; want only the Job that replaces %s", in.Jobs[1].At, old.Job.Name)
	}
	all := verdicts{Jobs: []verdict{}, Skipped: in.Skipped, Unreadable: messages(in.Unreadable)}
	refused := false
	for _, m := range in.Jobs {
		v := c.verdict(m, old)
		all.Jobs, refused = append(all.Jobs, v), refused || !v.Accepted
	}
	print := func() error { return c.print(env, all, all.text) }
	if c.format == "sarif" {
		print = func() error { return env.print(toJSON(all.sarif())) }
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

// verdict checks a Job, or the replacement of the old Job by it.
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
		v.warn("NoStatus", "status", "the Job has no status; an empty one was checked")
	}
	for _, text := range validation.Advice(m.Job) {
		v.warnText("Advice", text)
	}
	if old != nil {
		v.addDifferences(m, stored(old.Job), replacing(m.Job, old.Job))
	}
	return v.sorted()
}

// errors returns what the API server would reject.
func (c *Validate) errors(m, old *kubefile.Manifest) (errs field.ErrorList) {
	switch {
	case c.status && old != nil:
		return validation.StatusUpdate(replacing(m.Job, old.Job), stored(old.Job))
	case c.status:
		return validation.Status(m.Job)
	case old != nil:
		errs = distinct(validation.Update(replacing(m.Job, old.Job), stored(old.Job)))
		errs = append(errs, validation.RuleNamesUpdate(namedPolicy(m), namedPolicy(old), policyPath)...)
	default:
		errs = distinct(validation.Create(validation.PrepareCreate(named(m.Job))))
	}
	return append(errs, validation.RuleNames(namedPolicy(m), policyPath)...)
}

var policyPath = field.NewPath("spec", "podFailurePolicy")

// namedPolicy returns the pod failure policy of a Job with the names of its rules, which the API
// types lack.
func namedPolicy(m *kubefile.Manifest) *failurepolicy.Spec {
	return failurepolicy.FromAPI(m.Job.Spec.PodFailurePolicy, m.RuleNames...)
}

// placeholder is used as the UID of a new Job, which only the API server knows.
const placeholder = "00000000-0000-0000-0000-000000000000"

// named returns a Job with the namespace, name and UID that a new Job has when the API server
// validates it.
func named(job *batchv1.Job) *batchv1.Job {
	job = validation.GenerateName(job)
	if job.Namespace == "" {
		job.Namespace = "default"
	}
	if job.UID == "" {
		job.UID = placeholder
	}
	return job
}

// stored returns an old Job as the API server stores it.
func stored(job *batchv1.Job) *batchv1.Job {
	job = validation.GenerateSelector(validation.Default(named(job)))
	if job.ResourceVersion == "" {
		job.ResourceVersion = "1"
	}
	return job
}

// replacing returns a Job that replaces an old one. Missing parts of its identity come from
// the old Job.
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

// distinct removes repeated errors: the API server validates the spec of an update twice, and two
// labels of the pods have the name of the Job.
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
