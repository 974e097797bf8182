package diagnose

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Evidence is additional information besides the snapshot. All of it is optional. Objects
// that do not concern the Job are ignored. Events are about the object whose UID they name.
type Evidence struct {
	// Events lists the events of the Job, its pods, its owners, and the objects that its pods need.
	Events []*corev1.Event
	// Nodes show why a pod does not run or does not terminate. AllNodes says that they are all of the cluster, so that
	// any other does not exist.
	Nodes    []*corev1.Node
	AllNodes bool
	// OtherPods, of any owner, may hold a volume or a quota that the Job needs. Without them, the snapshot has these.
	OtherPods []*corev1.Pod
	// Objects lists the owners of the Job and the objects that its pods need: see [Reads]. They have Go types of
	// the API, or are *unstructured.Unstructured. Events of events.k8s.io belong here, too.
	Objects []runtime.Object
	// NextRun returns the first run of a CronJob's schedule after a time; zero if there is none. It must be pure.
	// An empty timeZone is that of the CronJob controller, usually UTC. Without NextRun no explanation says when
	// a CronJob creates its next Job.
	NextRun func(schedule, timeZone string, after time.Time) time.Time

	ready *world
}

// Prepared returns the evidence in a form that saves time if many Jobs are explained with it. Later changes of
// its lists have no effect.
func (e Evidence) Prepared() Evidence {
	w := newWorld([]Evidence{e})
	e.ready = &w
	return e
}

// object is an object of any kind, or a part of it. Its zero value is empty.
type object map[string]any

// at returns the part at a path; empty if there is none.
func (o object) at(path ...string) object {
	part, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	inner, _ := part.(map[string]any)
	return inner
}

// text returns the string at a path; empty if there is none.
func (o object) text(path ...string) string {
	text, _, _ := unstructured.NestedString(o, path...)
	return text
}

// number returns the number at a path, and whether there is one.
func (o object) number(path ...string) (int64, bool) {
	value, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	}
	return 0, false
}

// numbers returns the numbers of a list.
func (o object) numbers(name string) (all []int64) {
	items, _ := o[name].([]any)
	for _, item := range items {
		n, _ := object{"": item}.number("")
		all = append(all, n)
	}
	return all
}

// list returns the objects of the list at a path.
func (o object) list(path ...string) (all []object) {
	value, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	items, _ := value.([]any)
	for _, item := range items {
		if inner, ok := item.(map[string]any); ok {
			all = append(all, inner)
		}
	}
	return all
}

// time returns the time at a path; zero if there is none.
func (o object) time(path ...string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, o.text(path...))
	return t
}

// condition returns the condition of a type; empty if there is none.
func (o object) condition(kind string) object {
	return firstOf(o.list("status", "conditions"), func(c object) bool { return c.text("type") == kind })
}

// name returns the name of the object, and its kind before it: "JobSet train".
func (o object) name() string {
	return joined(" ", o.text("kind"), o.text("metadata", "name"))
}

func (o object) uid() types.UID { return types.UID(o.text("metadata", "uid")) }

// groupOf returns the group of a version of the API; empty for the core.
func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	return textIf(found, group)
}

// plain returns an object of any Go type as maps; nil if that is not possible.
func plain(of runtime.Object) object {
	if u, ok := of.(*unstructured.Unstructured); ok {
		if u == nil {
			return nil
		}
		return u.Object
	}
	value := reflect.ValueOf(of)
	if value.Kind() != reflect.Pointer || value.IsNil() {
		return nil
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
	if err != nil {
		return nil
	}
	named := object{"kind": value.Elem().Type().Name()} // what clients decode has none
	maps.Copy(named, o)
	return named
}

// key is the kind, the namespace and the name of an object.
type key struct{ kind, namespace, name string }

// world holds the evidence, ready for look-ups.
type world struct {
	events  map[types.UID][]*corev1.Event // in the order of time
	byKey   map[key][]*corev1.Event       // the same, except for those of Jobs
	nodes   map[string]*corev1.Node
	objects []object
	names   map[key]object
	uids    map[types.UID]object
	nextRun func(schedule, timeZone string, after time.Time) time.Time // see [Evidence]; perhaps nil
	taints  map[string][]string                                        // by key, the nodes that keep pods away

	podsOf map[key][]string  // by a Job, the pods with events that have such a name
	makers map[key]types.UID // by a pod, the Job whose events name it
	making map[key]object    // by a Secret, what makes it

	around    map[string]*crowd           // by namespace
	served    map[types.UID][]*corev1.Pod // by a Service that selects pods, those that have not ended
	addresses map[string]object           // Services, by their IP address; that of one without is no name of a server

	allNodes bool // there is no node besides those given
}

func newWorld(evidence []Evidence) (w world) {
	switch {
	case len(evidence) == 0:
		return w
	case len(evidence) == 1 && evidence[0].ready != nil:
		return *evidence[0].ready
	}
	w = world{events: map[types.UID][]*corev1.Event{}, byKey: map[key][]*corev1.Event{},
		nodes: map[string]*corev1.Node{}, names: map[key]object{}, uids: map[types.UID]object{},
		taints: map[string][]string{}, podsOf: map[key][]string{}, makers: map[key]types.UID{},
		making: map[key]object{},
		around: map[string]*crowd{}, served: map[types.UID][]*corev1.Pod{}, addresses: map[string]object{}}
	pods := map[string][]*corev1.Pod{}
	for _, given := range evidence {
		w.allNodes = w.allNodes || given.AllNodes
		if given.NextRun != nil {
			w.nextRun = given.NextRun
		}
		for _, node := range given.Nodes {
			if node != nil {
				w.nodes[node.Name] = node
			}
		}
		for _, event := range given.Events {
			w.addEvent(event)
		}
		for _, pod := range given.OtherPods {
			if pod != nil {
				pods[pod.Namespace] = append(pods[pod.Namespace], pod)
			}
		}
		for _, of := range given.Objects {
			o := plain(of)
			switch {
			case o == nil:
			case o.text("kind") == "Event":
				w.addEvent(eventOf(o))
			default:
				w.objects = append(w.objects, o)
				w.names[key{o.text("kind"), o.text("metadata", "namespace"), o.text("metadata", "name")}] = o
				if path := makes[o.text("kind")]; path != nil {
					secret := cmp.Or(o.text(path...), o.text("metadata", "name"))
					w.making[key{"Secret", o.text("metadata", "namespace"), secret}] = o
				}
				if o.uid() != "" {
					w.uids[o.uid()] = o
				}
			}
		}
	}
	for namespace, of := range pods {
		w.around[namespace] = crowdOf(of)
	}
	for _, o := range w.objects {
		if o.text("kind") == "Service" {
			w.addresses[o.text("spec", "clusterIP")] = o
			if in := w.around[o.text("metadata", "namespace")]; in != nil {
				w.served[o.uid()] = selectedBy(o, in.all)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		for _, t := range w.nodes[name].Spec.Taints {
			of := w.taints[t.Key]
			if t.Effect != corev1.TaintEffectPreferNoSchedule && (len(of) == 0 || of[len(of)-1] != name) {
				w.taints[t.Key] = append(of, name)
			}
		}
	}
	for _, all := range w.events {
		slices.SortStableFunc(all, byTime)
	}
	for _, all := range w.byKey {
		slices.SortStableFunc(all, byTime)
	}
	return w
}

// selectedBy returns the pods that a Service selects and that have not ended; nil if it selects none by labels.
func selectedBy(service object, pods []*corev1.Pod) []*corev1.Pod {
	selector := service.at("spec", "selector")
	if len(selector) == 0 {
		return nil
	}
	all := []*corev1.Pod{}
	for _, pod := range pods {
		if !hasEnded(pod) && selects(selector, func(name string) string { return pod.Labels[name] }) {
			all = append(all, pod)
		}
	}
	return all
}

func selects(selector object, label func(string) string) bool {
	return !slices.ContainsFunc(slices.Collect(maps.Keys(selector)),
		func(name string) bool { return selector.text(name) != label(name) })
}

func byTime(a, b *corev1.Event) int { return timeOf(a).Compare(timeOf(b)) }

func (w *world) addEvent(event *corev1.Event) {
	if event == nil {
		return
	}
	about := &event.InvolvedObject
	w.events[about.UID] = append(w.events[about.UID], event)
	if about.Kind == "Job" {
		if pod := madePod(event); pod != "" {
			w.makers[key{"Pod", about.Namespace, pod}] = about.UID
		}
		return
	}
	k := key{about.Kind, about.Namespace, about.Name}
	if about.Kind == "Pod" && w.byKey[k] == nil {
		w.addPod(about)
	}
	w.byKey[k] = append(w.byKey[k], event)
}

// coreNames has the names in the core of fields that have another one in events.k8s.io.
var coreNames = map[string]string{"note": "message", "regarding": "involvedObject", "deprecatedSource": "source",
	"deprecatedFirstTimestamp": "firstTimestamp", "deprecatedLastTimestamp": "lastTimestamp",
	"deprecatedCount": "count", "reportingController": "reportingComponent"}

// eventOf reads an Event of either API; nil if it does not fit the type.
func eventOf(o object) *corev1.Event {
	e, core := &corev1.Event{}, maps.Clone(o)
	for name, value := range o {
		if coreNames[name] != "" {
			core[coreNames[name]] = value
		}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(core, e); err != nil {
		return nil
	}
	return e
}

// timeOf returns when an event last happened. The Event API has changed the fields that
// hold this time twice. It is zero without an event.
func timeOf(event *corev1.Event) (at time.Time) {
	if event == nil {
		return at
	}
	series := cmp.Or(event.Series, &corev1.EventSeries{})
	return cmp.Or(latest(event.LastTimestamp.Time, series.LastObservedTime.Time), event.EventTime.Time,
		event.FirstTimestamp.Time, event.CreationTimestamp.Time)
}

// about returns the events about an object that is known by its name.
func (w *world) about(kind, namespace, name string) []*corev1.Event {
	return w.byKey[key{kind, namespace, name}]
}

// find returns an object that is known by its name; nil if it is not given.
func (w *world) find(kind, namespace, name string) object {
	if o := w.names[key{kind, namespace, name}]; o != nil {
		return o
	}
	return w.names[key{kind, "", name}] // no namespace, or none written
}

// namesOf returns the names of the objects of a kind in a namespace that are given.
func (w *world) namesOf(kind, namespace string) (names []string) {
	for k := range w.names {
		if k.kind == kind && k.namespace == namespace {
			names = append(names, k.name)
		}
	}
	slices.Sort(names)
	return names
}

// has reports whether any object of the kind is given. If so, one that is not given is missing.
func (w *world) has(kind string) bool {
	return slices.ContainsFunc(w.objects, func(o object) bool { return o.text("kind") == kind })
}

// owner is an object above the Job. Object is empty if it is not given.
type owner struct {
	group, kind, name string
	uid               types.UID
	object            object
}

func (o owner) String() string { return joined(" ", o.kind, o.name) }

// ownersOf returns the controllers above an object, the next one first.
func (w *world) ownersOf(of metav1.Object) (all []owner) {
	seen := map[types.UID]bool{}
	for ref := metav1.GetControllerOfNoCopy(of); ref != nil && !seen[ref.UID]; {
		seen[ref.UID] = true
		o := w.uids[ref.UID]
		all = append(all, owner{groupOf(ref.APIVersion), ref.Kind, ref.Name, ref.UID, o})
		ref = metav1.GetControllerOfNoCopy(&unstructured.Unstructured{Object: o})
	}
	return all
}

// isOwnedBy reports whether one of the objects with these UIDs owns the object.
func (o object) isOwnedBy(uids ...types.UID) bool {
	return slices.ContainsFunc(o.list("metadata", "ownerReferences"),
		func(r object) bool { return slices.Contains(uids, types.UID(r.text("uid"))) })
}
