package kubefile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/jobfate/jobfate/failurepolicy"
)

// object is an object of the input, with its JSON and its place.
type object struct {
	metav1.TypeMeta
	json raw
	pod  *corev1.Pod // set for a pod that can be decoded
	at   Place
}

// newObject returns an object; is is its type if the JSON names none. Most objects are pods.
// It decodes them here, without the parts that do not influence decisions.
func newObject(json raw, is metav1.TypeMeta) object {
	var pod struct {
		metav1.TypeMeta
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     *struct {
			corev1.PodSpec
			Containers skipped `json:"containers"`
			Volumes    skipped `json:"volumes"`
		} `json:"spec"`
		Status *corev1.PodStatus `json:"status"`
	}
	pod.TypeMeta = is
	err := utiljson.Unmarshal(json, &pod)
	if err == nil && pod.Kind == "Pod" && pod.Spec != nil && pod.Status != nil {
		p := &corev1.Pod{ObjectMeta: pod.Metadata, Spec: pod.Spec.PodSpec, Status: *pod.Status}
		p.ManagedFields, p.Spec.EphemeralContainers = nil, nil
		return object{TypeMeta: pod.TypeMeta, json: json, pod: p}
	}
	_ = utiljson.Unmarshal(json, &is) // check and decode report errors
	return object{TypeMeta: is, json: json}
}

// skipped is a value that is not decoded.
type skipped struct{}

// UnmarshalJSON does nothing.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// check fails unless the object has a kind, and the right version if the kind is one that
// this package reads.
func (o object) check(want string) error {
	version := map[string]string{"Job": "batch/v1", "CronJob": "batch/v1", "Pod": "v1"}[o.Kind]
	switch {
	case o.Kind == "":
		return fmt.Errorf("%s has no kind; want %s", o.at, want)
	case strings.HasSuffix(o.Kind, "List"):
		return fmt.Errorf("%s is a %s; want %s", o.at, o.Kind, want)
	case version != "" && version != o.APIVersion:
		return fmt.Errorf("%s is a %s of apiVersion %q; want %s", o.at, o.Kind, o.APIVersion, version)
	}
	return nil
}

// complete fails unless the object has a spec and a status. Objects from kubectl always have
// both, perhaps empty. The status comes last, so it is missing if the input is truncated.
func (o object) complete() error {
	var has map[string]*skipped
	_ = utiljson.Unmarshal(o.json, &has)
	for _, field := range []string{"spec", "status"} {
		if has[field] == nil {
			return fmt.Errorf("%s: the %s has no %s; is the input truncated?", o.at, o.Kind, field)
		}
	}
	return nil
}

// decode decodes the object into the API type that into points to.
func (o object) decode(into any) error { return firstOf(o.problems(into), o.at) }

// problems decodes the object like decode, and returns everything that cannot be decoded.
func (o object) problems(into any) []Problem {
	return problemsIn(o.json, func(json []byte) error { return utiljson.Unmarshal(json, into) })
}

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
	m := &Manifest{Job: &batchv1.Job{}, At: o.at}
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
	} else if err != nil {
		m.Problems = o.problems(m.Job)
	}
	var named struct {
		Spec struct {
			PodFailurePolicy failurepolicy.Spec `json:"podFailurePolicy"`
		} `json:"spec"`
	}
	if m.Problems == nil {
		m.Problems = o.problems(&named)
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
			JobTemplate json.RawMessage `json:"jobTemplate"`
		} `json:"spec"`
	}
	m := &Manifest{Job: &batchv1.Job{}, At: o.at, Problems: o.problems(&cron)}
	switch o.json = cron.Spec.JobTemplate; {
	case m.Problems != nil:
	case o.json == nil:
		m.Problems = []Problem{{path, "the CronJob has no template"}}
	default:
		o.at = o.at.in(path)
		m = o.manifest()
	}
	m.Path, m.Job.Name, m.Job.Namespace = path, cron.Metadata.Name, cron.Metadata.Namespace
	return m
}
