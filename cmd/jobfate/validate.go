package main

import (
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

Without a file, and for the file -, it reads the standard input. A Job that is
created may lack what the API server fills in: namespace, UID, defaults, selector
and labels; so may one that replaces another. Of the pod template only that is
checked which concerns the Job, and its own defaults are not filled in: compare
files of one kind, two that were written or two that kubectl printed.

The names of rules of a pod failure policy are checked as KEP-4443 proposes.
Warnings are those of the API server, and advice from the KEPs on the number of
completions and the size of the status.

Exit status: 0 accepted, 1 the input cannot be read, 2 usage, 3 refused.

Flags:
`

// checks is what the arguments of validate ask for.
type checks struct {
	output
	old    string // a file; empty: there is no old Job
	status bool
	files  []string
}

func validate(env environment, args []string) error {
	c := checks{}
	fs := newFlags("validate")
	c.flags(fs)
	fs.StringVar(&c.old, "old", "", "the `file` with the Job as it is now")
	fs.BoolVar(&c.status, "status", false, "check the status instead of the spec")
	var err error
	if c.files, err = parse(env, fs, validateUsage, args); err != nil {
		return err
	}
	if len(c.files) == 0 {
		c.files = []string{"-"}
	}
	env.maxInput = c.maxInput
	all, err := c.verdicts(env)
	if err != nil {
		return err
	}
	if err := c.print(env, all, all.text); err != nil {
		return err
	}
	for _, v := range all.Jobs {
		if !v.Accepted {
			return answer(exitNo)
		}
	}
	return nil
}

// verdicts reads the Jobs and checks them.
func (c checks) verdicts(env environment) (verdicts, error) {
	var old *kubefile.Manifest
	names := c.files
	if c.old != "" {
		names = append([]string{c.old}, names...)
	}
	var jobs []*kubefile.Manifest
	err := withSources(env, names, func(sources []kubefile.Source) (err error) {
		if c.old != "" {
			before, err := kubefile.ReadJobs(sources[0])
			if err != nil {
				return err
			}
			if len(before) > 1 {
				return fmt.Errorf("%s is a second Job; want one with --old", before[1].At)
			}
			old, sources = before[0], sources[1:]
		}
		jobs, err = kubefile.ReadJobs(sources...)
		return err
	})
	if err != nil {
		return verdicts{}, err
	}
	if old != nil && len(jobs) > 1 {
		return verdicts{}, fmt.Errorf("%s is a second Job; want one with --old", jobs[1].At)
	}
	out := verdicts{Jobs: []verdict{}}
	for _, m := range jobs {
		out.Jobs = append(out.Jobs, c.verdict(m, old))
	}
	return out, nil
}

// verdict checks a Job, or how it replaces the old one.
func (c checks) verdict(m, old *kubefile.Manifest) verdict {
	var errs field.ErrorList
	var warnings []string
	switch {
	case c.status && old != nil:
		errs = validation.StatusUpdate(replacing(m.Job, old.Job), stored(old.Job))
	case c.status:
		errs = validation.Status(m.Job)
	case old != nil:
		errs = distinct(validation.Update(replacing(m.Job, old.Job), stored(old.Job)))
	default:
		errs = validation.Create(validation.PrepareCreate(named(m.Job)))
	}
	if !c.status {
		spec := failurepolicy.FromAPI(m.Job.Spec.PodFailurePolicy, m.RuleNames...)
		errs = append(errs, validation.RuleNames(spec, field.NewPath("spec", "podFailurePolicy"))...)
		warnings = validation.Warnings(named(m.Job))
	}
	if c.status && reflect.DeepEqual(m.Job.Status, batchv1.JobStatus{}) {
		warnings = append(warnings, "status: there is none; an empty one was checked")
	}
	v := newVerdict(m, errs, append(warnings, validation.Advice(m.Job)...))
	if old != nil {
		v.tellDifferences(m, stored(old.Job), replacing(m.Job, old.Job))
	}
	return v
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
