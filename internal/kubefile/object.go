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

// object is an object of the input: what it is, its JSON, and where it stands.
type object struct {
	header
	value json.RawMessage
	at    Place
	read  *corev1.Pod // when it has been read already
}

func readHeader(value json.RawMessage, at Place, want string) (header, error) {
	if len(value) == 0 || value[0] != '{' {
		return header{}, fmt.Errorf("%s is not an object; want %s", at, want)
	}
	var h header
	if err := utiljson.Unmarshal(value, &h); err != nil {
		return header{}, fieldError(at, err)
	}
	return h, nil
}

// check sees to it that the object is of one of the given types.
func (o object) check(want string, types ...objectType) error {
	t := o.typeOf()
	if slices.Contains(types, t) {
		return nil
	}
	if t.kind == "" {
		return fmt.Errorf("%s has no kind; want %s", o.at, want)
	}
	for _, may := range types {
		if t.kind == may.kind {
			return fmt.Errorf("%s is a %s of apiVersion %q; want %s", o.at, t.kind, t.apiVersion, may.apiVersion)
		}
	}
	return fmt.Errorf("%s is a %s; want %s", o.at, t.kind, want)
}

// checkWhole sees to it that the object is whole. Whatever kubectl prints has a
// spec and a status, at times empty, and the status comes last.
func (o object) checkWhole() error {
	for _, f := range []struct {
		name  string
		value json.RawMessage
	}{{"spec", o.Spec}, {"status", o.Status}} {
		if f.value == nil || string(f.value) == "null" {
			return fmt.Errorf("%s: the %s has no %s; has the input been cut short?", o.at, o.Kind, f.name)
		}
	}
	return nil
}

func (o object) pod() (*corev1.Pod, error) {
	if o.read != nil {
		return o.read, nil
	}
	pod := &corev1.Pod{}
	if err := utiljson.Unmarshal(o.value, pod); err != nil {
		return nil, fieldError(o.at, err)
	}
	return pod, nil
}

// job reads a Job, and the fields of it that are not known. A field may be from
// a later release, or misspelt; either way nothing is made of it.
func (o object) job() (*Manifest, error) {
	m := &Manifest{Job: &batchv1.Job{}, At: o.at}
	strict := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, nil, runtime.NewScheme(),
		serializer.SerializerOptions{Strict: true})
	_, _, err := strict.Decode(o.value, nil, m.Job)
	strictErrs, ok := runtime.AsStrictDecodingError(err)
	if err != nil && !ok {
		return nil, fieldError(o.at, err)
	}
	if !ok {
		return m, nil
	}
	if m.RuleNames, err = ruleNames(o.value); err != nil {
		return nil, fieldError(o.at, err)
	}
	for _, err := range strictErrs.Errors() {
		name, unknown := strings.CutPrefix(err.Error(), "unknown field ")
		if !unknown {
			return nil, fieldError(o.at, err)
		}
		if name = strings.Trim(name, `"`); !known.MatchString(name) {
			m.Unknown = append(m.Unknown, name)
		}
	}
	return m, nil
}

// known matches the fields that need no mention though the API type lacks them:
// the names of rules are read, and what the template says decides nothing.
var known = regexp.MustCompile(`^spec\.(template\..*|podFailurePolicy\.rules\[\d+\]\.name)$`)

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

// structField matches how an error names a field: with the type around it, and
// without the positions in lists.
var structField = regexp.MustCompile(`Go struct field [A-Za-z]+\.(\S+) of type`)

// fieldError says which field has a value of the wrong type, and on which line.
func fieldError(at Place, err error) error {
	if m := structField.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%s: %s: %s", at.At(m[1]), m[1], plain(err))
	}
	return fmt.Errorf("%s: %s", at, plain(err))
}
