package kubefile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/jobfate/jobfate/failurepolicy"
)

// Manifest is a Job as a user wrote it, or as the API server returned it.
type Manifest struct {
	Job  *batchv1.Job
	At   Place
	Path string // the path of the Job template in a CronJob; empty for a Job
	Cron *Cron  // the CronJob with the template; nil for a Job
	// RuleNames lists the names of the rules of the Job's pod failure policy, which KEP-4443
	// proposes; nil if no rule has a name.
	RuleNames []string
	Oddities

	json    []byte   // the object as it was written; nil after Read
	unknown []string // the fields in it that this version of the API does not have
}

// Cron is a CronJob with its place. The Oddities are those outside its template.
type Cron struct {
	*batchv1.CronJob
	At Place
	Oddities
}

// Object is a Job or a CronJob.
type Object interface {
	runtime.Object
	metav1.Object
}

// Object returns the Job, or the CronJob if the Job is its template.
func (m *Manifest) Object() Object {
	if m.Cron != nil {
		return m.Cron.CronJob
	}
	return m.Job
}

// WithCron returns the manifest with another CronJob in the same place.
func (m *Manifest) WithCron(c *batchv1.CronJob) *Manifest {
	out, cron, template := *m, *m.Cron, c.Spec.JobTemplate.DeepCopy()
	cron.CronJob = c
	out.Cron, out.Job = &cron, &batchv1.Job{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	out.Job.Name, out.Job.GenerateName, out.Job.Namespace = c.Name, c.GenerateName, c.Namespace
	return &out
}

// Whole returns the place of the object: of the CronJob, if the Job is its template.
func (m *Manifest) Whole() Place {
	if m.Cron != nil {
		return m.Cron.At
	}
	return m.At
}

// Oddities lists the fields that a strict decoder rejects.
type Oddities struct {
	// Unknown lists the fields that this version of the API does not have. They are from a later
	// release, or misspelt.
	Unknown    []string
	Duplicates []string  // the fields that occur twice
	Problems   []Problem // the fields that cannot be read, which are not set in the object
}

// Fields returns the fields of the object as they were written, without those that are Unknown. A field that is null
// differs from one that is absent. It returns nil for a Job from [Read], which keeps no text.
func (m *Manifest) Fields() (out map[string]any) {
	_ = utiljson.Unmarshal(m.json, &out) // it is valid, as a Job was read from it
	for _, path := range m.unknown {
		removeField(out, path)
	}
	return out
}

// removeField removes the field at a path such as spec.rules[0].name. Its name may contain dots.
func removeField(out any, path string) {
	path = strings.TrimPrefix(path, ".")
	switch out := out.(type) {
	case []any:
		index, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(index); err == nil && i < len(out) {
			removeField(out[i], rest)
		}
	case map[string]any:
		delete(out, path)
		for name, value := range out {
			if rest, found := strings.CutPrefix(path, name); found && strings.ContainsAny((rest + " ")[:1], ".[") {
				removeField(value, rest)
			}
		}
	}
}

// strict is the decoder with which the API server finds unknown fields.
var strict = serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, runtime.NewScheme(),
	runtime.NewScheme(), serializer.SerializerOptions{Strict: true})

// namedPolicy has the names of rules, which the API types lack.
type namedPolicy struct {
	Spec struct {
		PodFailurePolicy *failurepolicy.Spec `json:"podFailurePolicy"`
	} `json:"spec"`
}

// manifest reads a Job.
func (o object) manifest() *Manifest {
	m := &Manifest{Job: &batchv1.Job{}, At: o.at}
	if _, _, err := strict.Decode(o.json, nil, m.Job); err == nil && o.duplicates == nil {
		m.RuleNames = ruleNames(failurepolicy.FromAPI(m.Job.Spec.PodFailurePolicy)) // nil until the API has names
		return m
	}
	var named namedPolicy
	m.Job = &batchv1.Job{}
	m.Oddities = o.strictly(m.Job, &named)
	m.RuleNames = ruleNames(named.Spec.PodFailurePolicy)
	return m
}

// strictly decodes the object into a type of the API, and into another one.
func (o object) strictly(into runtime.Object, more any) (out Oddities) {
	var rest []byte
	out.Problems, rest = o.problems(func(text []byte) error {
		return cmp.Or(utiljson.Unmarshal(text, into.DeepCopyObject()), utiljson.Unmarshal(text, more))
	})
	out.Duplicates = o.duplicates
	_, _, err := strict.Decode(rest, nil, into)
	if found, is := runtime.AsStrictDecodingError(err); is {
		for _, err := range found.Errors() {
			var what, field string
			if _, err := fmt.Sscanf(err.Error(), "%s field %q", &what, &field); err == nil && what == "unknown" {
				out.Unknown = append(out.Unknown, field)
			} else {
				out.Duplicates = append(out.Duplicates, field)
			}
		}
	}
	_ = utiljson.Unmarshal(rest, more)
	return out
}

// ruleNames returns the names of the rules; nil if no rule has one.
func ruleNames(policy *failurepolicy.Spec) (names []string) {
	if policy == nil {
		return nil
	}
	for _, rule := range policy.Rules {
		names = append(names, rule.Name)
	}
	if strings.Join(names, "") == "" {
		return nil
	}
	return names
}

// written reads a Job, and keeps its text.
func (o object) written() *Manifest {
	m := o.manifest()
	m.json, m.unknown = o.json, m.Unknown
	return m
}

// template reads the template of a CronJob as a Job with the name of the CronJob.
func (o object) template() *Manifest {
	const path = "spec.jobTemplate"
	m := &Manifest{At: o.at, Path: path, Cron: &Cron{CronJob: &batchv1.CronJob{}, At: o.at}, json: o.json}
	m.At.path += "." + path
	var named struct {
		Spec struct {
			JobTemplate namedPolicy `json:"jobTemplate"`
		} `json:"spec"`
	}
	all := o.strictly(m.Cron.CronJob, &named)
	m.unknown = all.Unknown
	m.Unknown, m.Cron.Unknown = below(path, all.Unknown)
	m.Duplicates, m.Cron.Duplicates = below(path, all.Duplicates)
	for _, p := range all.Problems {
		if field, found := strings.CutPrefix(p.Field, path+"."); found {
			m.Problems = append(m.Problems, Problem{field, p.Message})
		} else {
			m.Cron.Problems = append(m.Cron.Problems, p)
		}
	}
	m.RuleNames = ruleNames(named.Spec.JobTemplate.Spec.PodFailurePolicy)
	return m.WithCron(m.Cron.CronJob)
}

// below returns the fields below a path, relative to it, and the others.
func below(path string, fields []string) (inside, others []string) {
	for _, field := range fields {
		if rest, found := strings.CutPrefix(field, path+"."); found {
			inside = append(inside, rest)
		} else {
			others = append(others, field)
		}
	}
	return inside, others
}

// Problem says why a field of an object cannot be read. Field is empty for the whole object.
type Problem struct{ Field, Message string }

// first returns the first of the problems, with its place.
func (o object) first(problems []Problem, _ json.RawMessage) error {
	for _, p := range problems {
		return fmt.Errorf("%s: %s", o.at.At(p.Field), strings.TrimPrefix(p.Field+": "+p.Message, ": "))
	}
	return nil
}

var parserNoise = regexp.MustCompile(`^(error (unmarshaling JSON|converting YAML to JSON): )?(while decoding JSON: )?(json: |yaml: (unmarshal errors:\s*)?)?|Go (struct field \S+|value) of type `)

// problems returns the smallest parts of the object that decode rejects on their own, and the
// rest of the object. A decoder reports only the first error, and not always its position.
// There are none if decode accepts the object.
func (o object) problems(decode func([]byte) error) (found []Problem, rest json.RawMessage) {
	// narrow decodes a part of the object within its parents, without other fields. It
	// returns the part with null for what decode rejects.
	var narrow func(path, before string, part json.RawMessage, after string) json.RawMessage
	narrow = func(path, before string, part json.RawMessage, after string) json.RawMessage {
		around := func(part string) error { return decode([]byte(before + part + after)) }
		err, known := around(string(part)), len(found)
		if err == nil {
			return part
		}
		var fields map[string]json.RawMessage
		var items []json.RawMessage
		if json.Unmarshal(part, &fields) == nil && around("{}") == nil {
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				key, _ := json.Marshal(name)
				fields[name] = narrow(path+"."+name, before+"{"+string(key)+":", fields[name], "}"+after)
			}
			part, _ = json.Marshal(fields)
		} else if json.Unmarshal(part, &items) == nil && around("[]") == nil {
			for i, item := range items {
				items[i] = narrow(fmt.Sprintf("%s[%d]", path, i), before+"[", item, "]"+after)
			}
			part, _ = json.Marshal(items)
		}
		if len(found) > known || around(string(part)) == nil {
			return part
		}
		if again := plainNumber(part); again != nil && around(string(again)) == nil {
			return again
		}
		path = strings.TrimPrefix(path, ".")
		found = append(found, Problem{path, o.message(path, part, err)})
		return json.RawMessage("null")
	}
	rest = narrow("", "", o.json, "")
	if len(found) == 0 && !bytes.Equal(rest, o.json) {
		_ = decode(rest) // as kubectl sends it
	}
	return found, rest
}

// plainNumber returns a number as kubectl sends it: 3.0 becomes 3, because kubectl decodes what is not an integer into
// a float64. It returns nil for what is not a number.
func plainNumber(part []byte) []byte {
	var number float64
	if bytes.Equal(part, []byte("null")) || json.Unmarshal(part, &number) != nil {
		return nil
	}
	again, _ := json.Marshal(number) // cannot fail
	return again
}

// message says why a field cannot be read.
func (o object) message(path string, part []byte, err error) string {
	message := parserNoise.ReplaceAllString(err.Error(), "")
	if strings.HasSuffix(message, "into string") && strings.ContainsAny(string(part[:1]), "-0123456789tf") {
		message += "; quote it: " + strconv.Quote(o.at.written(path, string(part)))
	}
	return cmp.Or(Unrendered(string(part), part[0] == '"'), message)
}
