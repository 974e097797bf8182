package kubefile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/jobfate/jobfate/failurepolicy"
)

// objectType is the version and kind of an object.
type objectType struct{ apiVersion, kind string }

var (
	typeJob = objectType{"batch/v1", "Job"}
	typePod = objectType{"v1", "Pod"}
)

// lists maps the kinds of lists to what an item is that does not say so itself.
var lists = map[objectType]objectType{
	{"v1", "List"}:          {},
	{"v1", "PodList"}:       typePod,
	{"batch/v1", "JobList"}: typeJob,
}

// header is what tells objects apart, and whether they are whole.
type header struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Spec       json.RawMessage   `json:"spec"`
	Status     json.RawMessage   `json:"status"`
	Items      []json.RawMessage `json:"items"`
}

func (h header) typeOf() objectType { return objectType{h.APIVersion, h.Kind} }

func readHeader(value json.RawMessage, at Place) (header, error) {
	if len(value) == 0 || value[0] != '{' {
		return header{}, fmt.Errorf("%s is not an object; want a Job and its pods", at)
	}
	var h header
	if err := utiljson.Unmarshal(value, &h); err != nil {
		return header{}, fieldError(at, err)
	}
	return h, nil
}

// check sees to it that the object is a Job or a pod, and whole. Whatever
// kubectl prints has a spec and a status, at times empty, and the status comes
// last.
func (h header) check(at Place) error {
	switch t := h.typeOf(); {
	case t == typeJob, t == typePod:
	case t.kind == "":
		return fmt.Errorf("%s has no kind; want a Job and its pods", at)
	case t.kind == typeJob.kind, t.kind == typePod.kind:
		return fmt.Errorf("%s is a %s of apiVersion %q; want %s for a Job and %s for a pod",
			at, t.kind, t.apiVersion, typeJob.apiVersion, typePod.apiVersion)
	default:
		return fmt.Errorf("%s is a %s; want a Job and its pods", at, t.kind)
	}
	for _, f := range []struct {
		name  string
		value json.RawMessage
	}{{"spec", h.Spec}, {"status", h.Status}} {
		if f.value == nil || string(f.value) == "null" {
			return fmt.Errorf("%s: the %s has no %s; has the input been cut short?", at, h.Kind, f.name)
		}
	}
	return nil
}

func decodePod(value json.RawMessage, at Place) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := utiljson.Unmarshal(value, pod); err != nil {
		return nil, fieldError(at, err)
	}
	return pod, nil
}

// setJob takes the Job, and the fields of it that are not known. A field may be
// from a later release, or misspelt; either way the decision knows nothing of it.
func (in *Input) setJob(value json.RawMessage, at Place) error {
	job := &batchv1.Job{}
	strict := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, nil, runtime.NewScheme(),
		serializer.SerializerOptions{Strict: true})
	_, _, err := strict.Decode(value, nil, job)
	strictErrs, ok := runtime.AsStrictDecodingError(err)
	if err != nil && !ok {
		return fieldError(at, err)
	}
	in.Job, in.JobAt = job, at
	if !ok {
		return nil
	}
	if in.RuleNames, err = ruleNames(value); err != nil {
		return fieldError(at, err)
	}
	for _, err := range strictErrs.Errors() {
		name, unknown := strings.CutPrefix(err.Error(), "unknown field ")
		if !unknown {
			return fieldError(at, err)
		}
		if name = strings.Trim(name, `"`); !read.MatchString(name) {
			in.Unknown = append(in.Unknown, name)
		}
	}
	return nil
}

// read matches the fields that need no mention though the API type lacks them:
// the names of rules are read, and what the template says decides nothing.
var read = regexp.MustCompile(`^spec\.(template\..*|podFailurePolicy\.rules\[\d+\]\.name)$`)

// ruleNames returns the names of the rules of a Job's pod failure policy, nil
// when there are none.
func ruleNames(job json.RawMessage) ([]string, error) {
	var named struct {
		Spec struct {
			PodFailurePolicy failurepolicy.Spec `json:"podFailurePolicy"`
		} `json:"spec"`
	}
	if err := utiljson.Unmarshal(job, &named); err != nil {
		return nil, err
	}
	rules := named.Spec.PodFailurePolicy.Rules
	if !slices.ContainsFunc(rules, func(r failurepolicy.Rule) bool { return r.Name != "" }) {
		return nil, nil
	}
	names := make([]string, len(rules))
	for i, rule := range rules {
		names[i] = rule.Name
	}
	return names, nil
}

// fieldError says which field has a value of the wrong type.
func fieldError(at Place, err error) error {
	return fmt.Errorf("%s: %s", at, strings.TrimPrefix(err.Error(), "json: "))
}
