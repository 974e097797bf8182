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

// object is an object of the input: what it is, its JSON, and where it stands.
type object struct {
	metav1.TypeMeta
	json raw
	pod  *corev1.Pod // if it is one that can be decoded
	at   Place
}

// newObject returns an object that is of a type unless it says otherwise. Most are
// pods, which it decodes but for what nothing is decided on.
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
	_ = utiljson.Unmarshal(json, &is) // check and decode say what is wrong
	return object{TypeMeta: is, json: json}
}

// skipped is a value that is not decoded.
type skipped struct{}

// UnmarshalJSON does nothing.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// check fails unless the object has a kind and, if that is one of ours, its version.
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

// complete fails unless the object has a spec and a status. Whatever kubectl prints has
// them, at times empty, and the status comes last.
func (o object) complete() error {
	var has map[string]*skipped
	_ = utiljson.Unmarshal(o.json, &has)
	for _, field := range []string{"spec", "status"} {
		if has[field] == nil {
			return fmt.Errorf("%s: the %s has no %s; has the input been cut short?", o.at, o.Kind, field)
		}
	}
	return nil
}

// decode decodes the object into a value of an API type, to which it gets a pointer.
func (o object) decode(into any) error { return firstOf(o.problems(into), o.at) }

// problems decodes likewise, and returns all that cannot be decoded.
func (o object) problems(into any) []Problem {
	return problemsIn(o.json, func(json []byte) error { return utiljson.Unmarshal(json, into) })
}

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

// strict is the decoder with which the API server finds fields that it does not know.
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
				m.Problems = append(m.Problems, Problem{field, "the field is there twice"})
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

// template reads the template of a CronJob as a Job of that name.
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
