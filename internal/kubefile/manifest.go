package kubefile

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/jobfate/jobfate/failurepolicy"
)

// Manifest is a Job as a user wrote it, or as the API server returned it.
type Manifest struct {
	Job *batchv1.Job
	At  Place
	// Path is the path of the Job template in a CronJob; empty for a Job.
	Path string
	// RuleNames are the names of the rules of the Job's pod failure policy, as a
	// cluster with KEP-4443 stores them; nil if no rule has a name.
	RuleNames []string
	// Unknown are the fields of the Job that this version of the API does not have:
	// they are from a later release, or misspelt.
	Unknown []string
	// Problems are the fields that cannot be read. The Job is then incomplete.
	Problems []Problem
}

// strict is the decoder with which the API server finds unknown fields.
var strict = serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, runtime.NewScheme(), runtime.NewScheme(), serializer.SerializerOptions{Strict: true})

// manifest reads a Job.
func (o object) manifest() *Manifest {
	job := &batchv1.Job{}
	m := &Manifest{Job: job, At: o.at, Problems: o.problems(into(job))}
	_, _, err := strict.Decode(o.json, nil, m.Job)
	if found, is := runtime.AsStrictDecodingError(err); is {
		for _, err := range found.Errors() {
			var what, field string
			if _, err := fmt.Sscanf(err.Error(), "%s field %q", &what, &field); err == nil && what == "unknown" {
				m.Unknown = append(m.Unknown, field)
			} else {
				m.Problems = append(m.Problems, Problem{field, "the field occurs twice"})
			}
		}
	}
	var named struct {
		Spec struct {
			PodFailurePolicy failurepolicy.Spec `json:"podFailurePolicy"`
		} `json:"spec"`
	}
	if m.Problems == nil {
		m.Problems = o.problems(into(&named))
	}
	rules := named.Spec.PodFailurePolicy.Rules
	if slices.ContainsFunc(rules, func(r failurepolicy.Rule) bool { return r.Name != "" }) {
		for _, rule := range rules {
			m.RuleNames = append(m.RuleNames, rule.Name)
		}
	}
	return m
}

// template reads the template of a CronJob as a Job with the name of the CronJob.
func (o object) template() *Manifest {
	const path = "spec.jobTemplate"
	var cron struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			JobTemplate raw `json:"jobTemplate"`
		} `json:"spec"`
	}
	m := &Manifest{Job: &batchv1.Job{}, At: o.at, Problems: o.problems(into(&cron))}
	switch o.json = cron.Spec.JobTemplate; {
	case m.Problems != nil:
	case o.json == nil:
		m.Problems = []Problem{{path, "the CronJob has no template"}}
	default:
		o.at.path += "." + path
		m = o.manifest()
	}
	m.Path, m.Job.Name, m.Job.Namespace = path, cron.Metadata.Name, cron.Metadata.Namespace
	return m
}
