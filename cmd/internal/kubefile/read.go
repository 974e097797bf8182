// Package kubefile reads Jobs and their pods from what kubectl prints.
//
// The input is YAML or JSON: single objects, lists (List, JobList, PodList), or several
// documents, in one file or in many, in any order. Events and Nodes are kept, and other objects on
// request; the rest is counted. Pods of other Jobs are kept as well, because this
// package does not decide which Job owns a pod. An object that occurs twice counts once.
//
// kubectl's parser converts YAML to JSON. Of duplicate keys kubectl takes the last one; here they are
// errors, or [Oddities]. Keys that become equal only in JSON, such as 1 and "1", are not errors: the
// parser keeps any one of them. A second parser finds the lines and columns of fields.
//
// A truncated or damaged document is left out as a whole, and reported: decisions on the rest may
// be wrong without it, so callers must tell users.
package kubefile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Source is a file, or something else to read from, with its name.
type Source struct {
	Name string
	io.Reader
	Size int // the number of bytes, if it is known
	// Progress, if set, is called with the format, and the number of bytes that have been
	// read.
	Progress func(format string, done, total int)

	duplicates bool // keys of YAML may occur twice
}

// Input holds Jobs and their pods, with their places.
type Input struct {
	Jobs   []*Manifest // in the order of the input; there is at least one Job or CronJob
	Pods   []*corev1.Pod
	PodsAt []Place         // of the Pods
	Events []*corev1.Event // with the Nodes, they may explain why a pod does not run
	Nodes  []*corev1.Node
	// CronJobs lists those that [ReadWith] reads.
	CronJobs []*batchv1.CronJob
	Objects  []*unstructured.Unstructured // of the other kinds to read
	Skipped  Kinds                        // the objects of all others
	// Unreadable says which parts of the input were left out because they cannot be read. Each is an [Unreadable].
	Unreadable []error

	gone map[types.UID]bool // what a watch has seen deleted
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

// Read reads Jobs, CronJobs and their pods. What cannot be read is left out: Input.Unreadable says why. It
// fails if there is no Job or CronJob, and its errors name the sources; the Input then only says why.
func Read(sources ...Source) (*Input, error) { return ReadWith(nil, sources...) }

// ReadWith is Read, and keeps the objects of the other kinds that reads reports. The group of a kind is empty for
// the core of the API.
func ReadWith(reads func(group, kind string) bool, sources ...Source) (*Input, error) {
	in, err := read(sources, "a Job and its pods",
		map[string]reader{"Job": (*Input).addComplete, "Pod": (*Input).addPod, "Event": (*Input).addEvent,
			"Node": (*Input).addNode, "CronJob": (*Input).addCronJob}, reads)
	if err == nil {
		in.dropCopies()
	}
	return in, err
}

// ReadStart reads Jobs, one of which a simulation may start with, and which may be new or templates of
// CronJobs, their pods, Events and Nodes. It fails if anything cannot be read.
func ReadStart(sources ...Source) (*Input, error) {
	in, err := read(sources, "a Job", map[string]reader{"Job": (*Input).addWritten, "CronJob": (*Input).addTemplate,
		"Pod": (*Input).addPod, "Event": (*Input).addEvent, "Node": (*Input).addNode}, nil)
	if err = cmp.Or(err, in.Err()); err != nil {
		return nil, err
	}
	in.dropCopies()
	return in, nil
}

// ReadManifests reads Jobs and the templates of CronJobs, with all their problems. It counts
// other objects. Like Read it leaves out what cannot be read.
func ReadManifests(sources ...Source) (*Input, error) {
	sources = slices.Clone(sources)
	for i := range sources {
		sources[i].duplicates = true
	}
	return read(sources, "a Job", map[string]reader{
		"Job":     func(in *Input, o object) error { in.Jobs = append(in.Jobs, o.written()); return nil },
		"CronJob": func(in *Input, o object) error { in.Jobs = append(in.Jobs, o.template()); return nil },
	}, nil)
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
// must be at least one Job; otherwise the input only says what is Unreadable.
func read(sources []Source, want string, readers map[string]reader, reads func(group, kind string) bool) (*Input,
	error) {
	in, kinds := &Input{Skipped: Kinds{}, gone: map[types.UID]bool{}}, Kinds{}
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
			group, _, found := strings.Cut(o.APIVersion, "/")
			if !found {
				group = ""
			}
			err := o.check(want)
			switch {
			case err != nil:
			case read != nil:
				if err = o.checkVersion(); err == nil {
					err = read(in, o)
				}
			case o.misnamed():
				err = o.checkVersion()
			case reads != nil && reads(group, o.Kind):
				err = in.addObject(o)
			default:
				in.Skipped[kind]++
			}
			if err != nil {
				in.Unreadable = append(in.Unreadable, o.at.Unreadable(err))
			} else if o.gone {
				in.gone[o.uid()] = true
			}
		}
	}
	switch {
	case len(in.Jobs)+len(in.CronJobs) > 0:
		return in, nil
	case in.Unreadable != nil:
		return in, in.Err()
	}
	only := strings.TrimSuffix(", only "+kinds.String(), ", only ")
	err := fmt.Errorf("%s: the input has no Job%s; want %s%s", strings.Join(names, ", "), only, want, in.otherwise())
	first := Place{File: strings.Join(names[:min(1, len(names))], "")}
	in.Unreadable = []error{first.Unreadable(err)}
	return in, err
}

// otherwise names the command that prints the Job of the pods or events; empty if they name none.
func (in *Input) otherwise() string {
	get := func(name, namespace string) string {
		return fmt.Sprintf("; get it with kubectl get job/%s -n %s -o yaml", name, namespace)
	}
	for _, pod := range in.Pods {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && ref.Kind == "Job" {
			return get(ref.Name, pod.Namespace)
		}
	}
	for _, e := range in.Events {
		if about := &e.InvolvedObject; about.Kind == "Job" {
			return get(about.Name, about.Namespace)
		}
	}
	return ""
}

func (in *Input) addComplete(o object) error {
	if err := o.complete(); err != nil {
		return err
	}
	return in.addManifest(o, o.manifest())
}

func (in *Input) addWritten(o object) error { return in.addManifest(o, o.written()) }

func (in *Input) addTemplate(o object) error {
	m := o.template()
	problems := m.Cron.Problems
	if reflect.DeepEqual(m.Cron.Spec.JobTemplate, batchv1.JobTemplateSpec{}) {
		problems = append(problems, Problem{m.Path, "the CronJob has no template"})
	}
	if err := o.first(problems, nil); err != nil {
		return err
	}
	o.at = m.At
	return in.addManifest(o, m)
}

func (in *Input) addManifest(o object, m *Manifest) error {
	problems := m.Problems
	for _, field := range m.Duplicates {
		problems = append(problems, Problem{field, "the field occurs twice"})
	}
	err := o.first(problems, nil)
	if err == nil {
		in.Jobs = append(in.Jobs, m)
	}
	return err
}

func (in *Input) addPod(o object) error {
	p := o.pod
	if p == nil {
		p = &corev1.Pod{}
		if err := cmp.Or(o.complete(), o.decode(p)); err != nil {
			return err
		}
		p.ManagedFields, p.Spec.EphemeralContainers = nil, nil
	}
	in.Pods, in.PodsAt = append(in.Pods, p), append(in.PodsAt, o.at)
	return nil
}

func (in *Input) addObject(o object) error {
	u := &unstructured.Unstructured{}
	err := o.decode(&u.Object)
	if err == nil {
		unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
		u.SetKind(o.Kind)
		u.SetAPIVersion(o.APIVersion)
		in.Objects = append(in.Objects, u)
	}
	return err
}

func (in *Input) addEvent(o object) error { return addDecoded(&in.Events, o) }

func (in *Input) addCronJob(o object) error { return addDecoded(&in.CronJobs, o) }

func (in *Input) addNode(o object) error { return addDecoded(&in.Nodes, o) }

func addDecoded[T any](all *[]*T, o object) error {
	next := new(T)
	err := o.decode(next)
	if err == nil {
		*all = append(*all, next)
	}
	return err
}

// dropCopies keeps one copy of each object, and none of what is gone, except Jobs, CronJobs and Events, which still
// tell what happened. Copies have the same UID.
func (in *Input) dropCopies() {
	in.Jobs = pick(in.Jobs, newest(in.Jobs, func(m *Manifest) metav1.Object { return m.Job }))
	pods := newest(in.Pods, func(p *corev1.Pod) metav1.Object { return p })
	pods = slices.DeleteFunc(pods, func(i int) bool { return in.isGone(in.Pods[i]) })
	in.Pods, in.PodsAt = pick(in.Pods, pods), pick(in.PodsAt, pods)
	in.Events = pick(in.Events, newest(in.Events, func(e *corev1.Event) metav1.Object { return e }))
	in.Nodes = pick(in.Nodes, newest(in.Nodes, func(n *corev1.Node) metav1.Object { return n }))
	in.CronJobs = pick(in.CronJobs, newest(in.CronJobs, func(c *batchv1.CronJob) metav1.Object { return c }))
	in.Objects = pick(in.Objects, newest(in.Objects, func(u *unstructured.Unstructured) metav1.Object { return u }))
	in.Nodes = slices.DeleteFunc(in.Nodes, func(n *corev1.Node) bool { return in.isGone(n) })
	in.Objects = slices.DeleteFunc(in.Objects, func(u *unstructured.Unstructured) bool { return in.isGone(u) })
}

// isGone reports whether a watch has seen the deletion of an object.
func (in *Input) isGone(o metav1.Object) bool { return o.GetUID() != "" && in.gone[o.GetUID()] }

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
		this, that := of(all[i]).GetResourceVersion(), of(all[before]).GetResourceVersion()
		order, err := resourceversion.CompareResourceVersion(this, that)
		if !twice || err != nil || order >= 0 {
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

func pick[T any](all []T, at []int) (out []T) {
	for _, i := range at {
		out = append(out, all[i])
	}
	return out
}
