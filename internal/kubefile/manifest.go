package kubefile

import (
	"encoding/json"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	kjson "sigs.k8s.io/json"

	"github.com/jobfate/jobfate/failurepolicy"
)

// Manifest is a Job as it was written, or as the API server printed it.
type Manifest struct {
	Job *batchv1.Job
	At  Place
	// Path is where in a CronJob the Job is the template; empty for a Job.
	Path string
	// RuleNames are the names of the rules of the Job's pod failure policy, as a
	// cluster with KEP-4443 stores them; nil when no rule has one.
	RuleNames []string
	// Unknown are the fields of the Job that the API does not have as far as
	// this program knows: from a later release, or misspelt.
	Unknown []string
	// Problems are the fields that cannot be read. The Job is then incomplete.
	Problems []Problem
}

// ReadJobs reads the Jobs of the sources, at least one. They need no status. Other
// objects are skipped.
func ReadJobs(sources ...Source) ([]*Manifest, error) {
	in, err := ReadManifests(sources...)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(in.Jobs, func(m *Manifest) bool { return m.Path != "" })
	for _, m := range out {
		if len(m.Problems) > 0 {
			return nil, m.Problems[0].at(m.At)
		}
	}
	if len(out) == 0 {
		return nil, noJob(sources, Kinds{typeCronJob.kind: 1}, "a Job")
	}
	return out, nil
}

// ReadManifests reads the Jobs of the sources and the templates of CronJobs, one
// at least, with all that is wrong with them. Other objects are counted.
func ReadManifests(sources ...Source) (*Input, error) {
	return read(sources, "a Job", func(in *Input, o object) error {
		switch o.typeOf() {
		case typeJob:
			in.Jobs = append(in.Jobs, o.manifest())
		case typeCronJob:
			in.Jobs = append(in.Jobs, o.template())
		default:
			in.Skipped[o.Kind]++
		}
		return nil
	})
}

// manifest reads a Job.
func (o object) manifest() *Manifest {
	m := &Manifest{Job: &batchv1.Job{}, At: o.at}
	m.Problems = o.problems(m.Job)
	var named struct {
		Spec struct {
			PodFailurePolicy failurepolicy.Spec `json:"podFailurePolicy"`
		} `json:"spec"`
	}
	if m.Problems == nil {
		m.Problems = o.problems(&named)
	}
	strict, _ := kjson.UnmarshalStrict(o.json, &batchv1.Job{})
	for _, err := range strict {
		name := err.(kjson.FieldError).FieldPath()
		if strings.HasPrefix(err.Error(), "unknown field ") {
			m.Unknown = append(m.Unknown, name)
		} else {
			m.Problems = append(m.Problems, Problem{name, "the field is there twice"})
		}
	}
	rules := named.Spec.PodFailurePolicy.Rules
	if slices.ContainsFunc(rules, func(r failurepolicy.Rule) bool { return r.Name != "" }) {
		for _, rule := range rules {
			m.RuleNames = append(m.RuleNames, rule.Name)
		}
	}
	return m
}

// template reads the template of a CronJob as a Job of that name.
func (o object) template() *Manifest {
	const path = "spec.jobTemplate"
	var cron struct {
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Spec struct {
			JobTemplate json.RawMessage `json:"jobTemplate"`
		} `json:"spec"`
	}
	problems := o.problems(&cron)
	if problems == nil && len(cron.Spec.JobTemplate) == 0 {
		problems = []Problem{{path, "the CronJob has no template"}}
	}
	m := &Manifest{Job: &batchv1.Job{}, At: o.at, Problems: problems}
	if problems == nil {
		o.json = cron.Spec.JobTemplate
		o.at.path = strings.TrimPrefix(o.at.path+"."+path, ".")
		m = o.manifest()
	}
	m.Path, m.Job.Name, m.Job.Namespace = path, cron.Metadata.Name, cron.Metadata.Namespace
	return m
}
