// Package kubefile reads Jobs and their pods from what kubectl prints.
//
// The input is YAML or JSON: single objects, lists (List, JobList, PodList), or several
// documents, in one file or in many, in any order. Events and Nodes are kept, and objects of
// other kinds and API groups are counted. Pods of other Jobs are kept as well, because this
// package does not decide which Job owns a pod. An object that occurs twice counts once.
//
// kubectl's parser converts YAML to JSON. Unlike in kubectl, duplicate keys are errors. Keys
// that become equal only in JSON, such as 1 and "1", are not errors: the parser keeps any
// one of them. A second parser finds the lines and columns of fields.
//
// A truncated or damaged document is left out as a whole, and reported: decisions on the rest may
// be wrong without it, so callers must tell users.
//
// The package knows nothing about decisions: only files, and the objects in them.
package kubefile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/jobfate/jobfate/failurepolicy"
)

// Source is a file, or something else to read from, with its name.
type Source struct {
	Name string
	io.Reader
	Size int // the number of bytes, if it is known
	// Progress, if set, is called with the format, and the number of bytes that have been
	// read.
	Progress func(format string, done, total int)
}

// Input is Jobs and their pods, with their places.
type Input struct {
	Jobs    []*Manifest // at least one, in the order of the input
	Pods    []*corev1.Pod
	PodsAt  []Place         // of the Pods
	Events  []*corev1.Event // with the Nodes, they may explain why a pod does not run
	Nodes   []*corev1.Node
	Skipped Kinds // the objects of other kinds
	// Unreadable says which parts of the input were left out because they cannot be read.
	Unreadable []error
}

// mostErrors is the maximum number of errors that Err joins.
const mostErrors = 10

// Err returns why parts of the input cannot be read, as one error that names the first of them; nil if
// all can.
func (in *Input) Err() error {
	errs := in.Unreadable
	if more := len(errs) - mostErrors; more > 0 {
		errs = append(slices.Clone(errs[:mostErrors]), fmt.Errorf("%d more parts of the input cannot be read", more))
	}
	return errors.Join(errs...)
}

// Kinds counts objects by their kind.
type Kinds map[string]int

// String returns the kinds in alphabetical order: "ConfigMap, Service (2)".
func (k Kinds) String() string {
	out := slices.Sorted(maps.Keys(k))
	for i, kind := range out {
		out[i] = strings.TrimSuffix(fmt.Sprintf("%s (%d)", kind, k[kind]), " (1)")
	}
	return strings.Join(out, ", ")
}

// reader reads an object of one kind.
type reader func(*Input, object) error

// Read reads Jobs and their pods. What cannot be read is left out: Input.Unreadable says why. It
// fails if there is no Job, and its errors name the sources.
func Read(sources ...Source) (*Input, error) {
	in, err := read(sources, "a Job and its pods",
		map[string]reader{"Job": (*Input).addComplete, "Pod": (*Input).addPod, "Event": (*Input).addEvent, "Node": (*Input).addNode})
	if err == nil {
		in.dropCopies()
	}
	return in, err
}

// ReadStart reads the Job with which a simulation starts, which may be new or the template of a
// CronJob, its pods, Events and Nodes. It fails if anything cannot be read.
func ReadStart(sources ...Source) (*Input, error) {
	in, err := read(sources, "a Job", map[string]reader{"Job": (*Input).addJob, "CronJob": (*Input).addTemplate,
		"Pod": (*Input).addPod, "Event": (*Input).addEvent, "Node": (*Input).addNode})
	if err == nil {
		err = in.Err()
	}
	if err != nil {
		return nil, err
	}
	if in.dropCopies(); len(in.Jobs) > 1 {
		return nil, fmt.Errorf("%s is a second Job; the first is %s", in.Jobs[1].At, in.Jobs[0].At)
	}
	return in, nil
}

// ReadManifests reads Jobs and the templates of CronJobs, with all their problems. It counts
// other objects. Like Read it leaves out what cannot be read.
func ReadManifests(sources ...Source) (*Input, error) {
	return read(sources, "a Job", map[string]reader{
		"Job":     func(in *Input, o object) error { in.Jobs = append(in.Jobs, o.manifest()); return nil },
		"CronJob": func(in *Input, o object) error { in.Jobs = append(in.Jobs, o.template()); return nil },
	})
}

// ReadDocument reads a source with a single document, and passes its JSON to decode. An error of
// decode gets the line of the field that decode rejects. want is what the source should contain.
func ReadDocument(s Source, want string, decode func([]byte) error) (Place, error) {
	all, wrong := objects(s, want)
	switch {
	case wrong != nil:
		return Place{}, wrong[0]
	case len(all) == 0:
		return Place{}, fmt.Errorf("%s: an empty list; want %s", s.Name, want)
	case all[0].Kind != "":
		return Place{}, fmt.Errorf("%s is a %s; want %s", all[0].at, all[0].Kind, want)
	case len(all) > 1:
		return Place{}, fmt.Errorf("%s: a second document; want %s", all[1].at.At(""), want)
	}
	return all[0].at, all[0].first(all[0].problems(decode))
}

// read reads each object with the reader for its kind, and counts the objects of other kinds. There
// must be at least one Job.
func read(sources []Source, want string, readers map[string]reader) (*Input, error) {
	in, kinds := &Input{Skipped: Kinds{}}, Kinds{}
	var names []string
	for _, s := range sources {
		names = append(names, s.Name)
		all, wrong := objects(s, want)
		in.Unreadable = append(in.Unreadable, wrong...)
		for _, o := range all {
			kind, read := o.Kind, readers[o.Kind]
			if group := o.foreign(); read != nil && group != "" {
				kind, read = o.Kind+"."+group, nil
			}
			kinds[kind]++
			err := o.check(want)
			if err == nil && read == nil {
				in.Skipped[kind]++
				continue
			}
			if err == nil {
				err = o.checkVersion()
			}
			if err == nil {
				err = read(in, o)
			}
			if err != nil {
				in.Unreadable = append(in.Unreadable, err)
			}
		}
	}
	switch {
	case len(in.Jobs) > 0:
		return in, nil
	case in.Unreadable != nil:
		return nil, in.Err()
	}
	only := strings.TrimSuffix(", only "+kinds.String(), ", only ")
	return nil, fmt.Errorf("%s: the input has no Job%s; want %s", strings.Join(names, ", "), only, want)
}

// object is an object of the input, with its JSON and its place. Most objects are pods, so it
// has the fields of a pod that influence decisions.
type object struct {
	metav1.TypeMeta
	Items    []json.RawMessage `json:"items"` // the items of a list
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     *struct {
		corev1.PodSpec
		Containers []struct{} `json:"containers"`
		Volumes    []struct{} `json:"volumes"`
	} `json:"spec"`
	Status *corev1.PodStatus `json:"status"`
	json   []byte
	wrong  error // why it cannot be decoded as a pod; type and items are set anyway
	at     Place
}

// newObject decodes JSON, or a YAML list of one item. If the text is not valid YAML, the object has
// no json.
func newObject(text []byte, format string) (o object) {
	if o.json = text; format == "YAML" {
		o.json, o.wrong = toJSON(text)
	}
	if o.wrong = cmp.Or(o.wrong, utiljson.Unmarshal(o.json, &o)); o.wrong != nil {
		_ = utiljson.Unmarshal(o.json, &struct {
			*metav1.TypeMeta
			Items *[]json.RawMessage `json:"items"`
		}{&o.TypeMeta, &o.Items})
	}
	return o
}

// isList reports whether the object is a list. Other kinds may also have a name that ends in List.
func (o object) isList() bool {
	return o.Kind == "List" || strings.HasSuffix(o.Kind, "List") && (o.Items != nil || o.has("items"))
}

// foreign returns the API group of the object if others than Kubernetes can define kinds in it; else
// it is empty. Volcano, for one, has a kind Job.
func (o object) foreign() string {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	if !strings.Contains(group, ".") {
		return ""
	}
	return group
}

// check fails unless the object has a kind, and is not a list.
func (o object) check(want string) error {
	switch {
	case o.Kind == "":
		return o.at.insteadOf(fmt.Errorf("%s has no kind; want %s", o.at, want))
	case o.isList():
		return fmt.Errorf("%s is a %s; want %s", o.at, o.Kind, want)
	}
	return nil
}

// checkVersion fails unless the object has the version of its kind that this package reads.
func (o object) checkVersion() error {
	version := "v1"
	if o.Kind == "Job" || o.Kind == "CronJob" {
		version = "batch/v1"
	}
	if o.APIVersion != version {
		return fmt.Errorf("%s is a %s of apiVersion %q; want %s", o.at, o.Kind, o.APIVersion, version)
	}
	return nil
}

// has reports whether the object has a field whose value is not null.
func (o object) has(field string) bool {
	var fields map[string]*json.RawMessage
	_ = utiljson.Unmarshal(o.json, &fields)
	return fields[field] != nil
}

// complete fails unless the object has a spec and a status. Objects from kubectl always have
// both, perhaps empty. The status comes last, so it is missing if the input is truncated.
func (o object) complete() error {
	for _, field := range []string{"spec", "status"} {
		if !o.has(field) {
			return fmt.Errorf("%s: the %s has no %s; is the input truncated, or not from kubectl get?", o.at, o.Kind, field)
		}
	}
	return nil
}

func (in *Input) addComplete(o object) error {
	if err := o.complete(); err != nil {
		return err
	}
	return in.addJob(o)
}

func (in *Input) addJob(o object) error { return in.addManifest(o, o.manifest()) }

func (in *Input) addTemplate(o object) error {
	m := o.template()
	o.at = m.At
	return in.addManifest(o, m)
}

func (in *Input) addManifest(o object, m *Manifest) error {
	err := o.first(m.Problems, nil)
	if err == nil {
		in.Jobs = append(in.Jobs, m)
	}
	return err
}

func (in *Input) addPod(o object) error {
	p := &corev1.Pod{}
	if o.wrong == nil && o.Spec != nil && o.Status != nil {
		p.ObjectMeta, p.Spec, p.Status = o.Metadata, o.Spec.PodSpec, *o.Status
	} else if err := cmp.Or(o.complete(), o.decode(p)); err != nil {
		return err
	}
	p.ManagedFields, p.Spec.EphemeralContainers = nil, nil
	in.Pods, in.PodsAt = append(in.Pods, p), append(in.PodsAt, o.at)
	return nil
}

func (in *Input) addEvent(o object) error { return addDecoded(&in.Events, o) }

func (in *Input) addNode(o object) error { return addDecoded(&in.Nodes, o) }

func addDecoded[T any](all *[]*T, o object) error {
	next := new(T)
	err := o.decode(next)
	if err == nil {
		*all = append(*all, next)
	}
	return err
}

// dropCopies keeps one copy of each object. Copies have the same UID.
func (in *Input) dropCopies() {
	in.Jobs = pick(in.Jobs, newest(in.Jobs, func(m *Manifest) metav1.Object { return m.Job }))
	pods := newest(in.Pods, func(p *corev1.Pod) metav1.Object { return p })
	in.Pods, in.PodsAt = pick(in.Pods, pods), pick(in.PodsAt, pods)
	in.Events = pick(in.Events, newest(in.Events, func(e *corev1.Event) metav1.Object { return e }))
	in.Nodes = pick(in.Nodes, newest(in.Nodes, func(n *corev1.Node) metav1.Object { return n }))
}

// newest returns the positions of the newest copy of each object, in the order of the input. A
// copy is newer if its resourceVersion is higher (KEP-5504), or else if it comes later.
func newest[T any](all []T, of func(T) metav1.Object) (at []int) {
	identity := func(i int) [3]string {
		o := of(all[i])
		return [3]string{string(o.GetUID()), o.GetNamespace(), o.GetName()}
	}
	last := make(map[[3]string]int, len(all))
	for i := range all {
		before, twice := last[identity(i)]
		if !twice || !older(of(all[i]).GetResourceVersion(), of(all[before]).GetResourceVersion()) {
			last[identity(i)] = i
		}
	}
	for i := range all {
		if of(all[i]).GetUID() == "" || last[identity(i)] == i {
			at = append(at, i)
		}
	}
	return at
}

// older reports whether both resource versions are numbers, and the first is less.
func older(version, than string) bool {
	a, wrongA := strconv.ParseUint(version, 10, 64)
	b, wrongB := strconv.ParseUint(than, 10, 64)
	return wrongA == nil && wrongB == nil && a < b
}

func pick[T any](all []T, at []int) (out []T) {
	for _, i := range at {
		out = append(out, all[i])
	}
	return out
}

// decode decodes the object into the API type that v points to.
func (o object) decode(v any) error {
	return o.first(o.problems(func(text []byte) error { return utiljson.Unmarshal(text, v) }))
}

// Manifest is a Job as a user wrote it, or as the API server returned it.
type Manifest struct {
	Job  *batchv1.Job
	At   Place
	Path string // the path of the Job template in a CronJob; empty for a Job
	// RuleNames are the names of the rules of the Job's pod failure policy, which KEP-4443
	// proposes; nil if no rule has a name.
	RuleNames []string
	// Unknown are the fields of the Job that this version of the API does not have. They are
	// from a later release, or misspelt.
	Unknown  []string
	Problems []Problem // the fields that cannot be read, which are not set in Job
}

// strict is the decoder with which the API server finds unknown fields.
var strict = serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, runtime.NewScheme(), runtime.NewScheme(), serializer.SerializerOptions{Strict: true})

// namedPolicy has the names of rules, which the API types lack.
type namedPolicy struct {
	Spec struct {
		PodFailurePolicy failurepolicy.Spec `json:"podFailurePolicy"`
	} `json:"spec"`
}

// manifest reads a Job.
func (o object) manifest() *Manifest {
	m := &Manifest{Job: &batchv1.Job{}, At: o.at}
	var named namedPolicy
	var rest []byte
	m.Problems, rest = o.problems(func(text []byte) error {
		return cmp.Or(utiljson.Unmarshal(text, &batchv1.Job{}), utiljson.Unmarshal(text, &namedPolicy{}))
	})
	_, _, err := strict.Decode(rest, nil, m.Job)
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
	_ = utiljson.Unmarshal(rest, &named)
	var names []string
	for _, rule := range named.Spec.PodFailurePolicy.Rules {
		names = append(names, rule.Name)
	}
	if strings.Join(names, "") != "" {
		m.RuleNames = names
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
	m := &Manifest{Job: &batchv1.Job{}, At: o.at}
	m.Problems, _ = o.problems(func(text []byte) error { return utiljson.Unmarshal(text, &cron) })
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
		if len(found) > known {
			return part
		}
		found = append(found, Problem{strings.TrimPrefix(path, "."), parserNoise.ReplaceAllString(err.Error(), "")})
		return json.RawMessage("null")
	}
	rest = narrow("", "", o.json, "")
	return found, rest
}
