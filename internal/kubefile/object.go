package kubefile

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/jobfate/jobfate/internal/document"
	"github.com/jobfate/jobfate/internal/parallel"
)

func core(kind string) metav1.TypeMeta  { return metav1.TypeMeta{Kind: kind, APIVersion: "v1"} }
func batch(kind string) metav1.TypeMeta { return metav1.TypeMeta{Kind: kind, APIVersion: "batch/v1"} }

var (
	typeJob     = batch("Job")
	typeCronJob = batch("CronJob")
	typePod     = core("Pod")
	typeEvent   = core("Event")
	typeNode    = core("Node")
)

// lists maps the kinds of lists to what an item is that does not say so itself.
var lists = map[metav1.TypeMeta]metav1.TypeMeta{
	core("List"):         {},
	core("PodList"):      typePod,
	core("EventList"):    typeEvent,
	core("NodeList"):     typeNode,
	batch("JobList"):     typeJob,
	batch("CronJobList"): typeCronJob,
}

func isList(t metav1.TypeMeta) bool {
	_, is := lists[t]
	return is
}

// header is what tells objects apart, and whether they are whole.
type header struct {
	metav1.TypeMeta
	Spec   *struct{} `json:"spec"`
	Status *struct{} `json:"status"`
}

// object is an object of the input: what it is, its JSON, and where it stands.
type object struct {
	header
	json []byte
	pod  *corev1.Pod // in place of the JSON, if it is a whole pod
	at   Place
}

// each calls add with each object of a source, those in lists included. want is
// what an error says should be there.
func each(s Source, want string, add func(object) error) error {
	empty := true
	err := document.Read(s, func(d document.Document) error {
		empty = false
		if !isList(d.TypeMeta) {
			o := newObject(d.JSON, d.TypeMeta)
			o.at = d.Place
			return add(o)
		}
		if d.NoItems {
			return fmt.Errorf("%s: the items of the %s are no list", d.Place, d.Kind)
		}
		element := lists[d.TypeMeta]
		for i, o := range parallel.InOrder(len(d.Items), func(i int) object { return newObject(d.Items[i], element) }) {
			o.at = d.ItemAt(d.Items[i])
			if err := add(o); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && empty {
		err = fmt.Errorf("%s: it is empty; want %s", s.Name, want)
	}
	return err
}

// newObject returns an object that is of a type unless it says otherwise. Most are
// pods, of which it keeps what something is decided on.
func newObject(json []byte, is metav1.TypeMeta) object {
	pod := struct {
		metav1.TypeMeta
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     *struct {
			corev1.PodSpec
			Containers skipped `json:"containers"`
			Volumes    skipped `json:"volumes"`
		} `json:"spec"`
		Status *corev1.PodStatus `json:"status"`
	}{}
	err := utiljson.Unmarshal(json, &pod)
	if pod.TypeMeta != (metav1.TypeMeta{}) {
		is = pod.TypeMeta
	}
	if err == nil && is == typePod && pod.Spec != nil && pod.Status != nil {
		p := &corev1.Pod{TypeMeta: is, ObjectMeta: pod.Metadata, Spec: pod.Spec.PodSpec, Status: *pod.Status}
		p.ManagedFields, p.Spec.EphemeralContainers = nil, nil
		return object{header: header{is, new(struct{}), new(struct{})}, pod: p}
	}
	o := object{json: json}
	_ = utiljson.Unmarshal(json, &o.header) // check says what is missing
	o.TypeMeta = is
	return o
}

// skipped is a value that is not decoded.
type skipped struct{}

// UnmarshalJSON does nothing.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// check fails unless the object has a kind and, if that is one of ours, its version.
func (o object) check(want string) error {
	switch {
	case o.pod == nil && o.json[0] != '{':
		return fmt.Errorf("%s is not an object; want %s", o.at, want)
	case o.Kind == "":
		return fmt.Errorf("%s has no kind; want %s", o.at, want)
	case isList(o.TypeMeta):
		return fmt.Errorf("%s is a %s; want %s", o.at, o.Kind, want)
	}
	for _, may := range []metav1.TypeMeta{typeJob, typeCronJob, typePod} {
		if o.Kind == may.Kind && o.TypeMeta != may {
			return fmt.Errorf("%s is a %s of apiVersion %q; want %s", o.at, o.Kind, o.APIVersion, may.APIVersion)
		}
	}
	return nil
}

// checkWhole fails unless the object is whole. Whatever kubectl prints has a spec and
// a status, at times empty, and the status comes last.
func (o object) checkWhole() error {
	missing := "spec"
	switch {
	case o.Spec == nil:
	case o.Status == nil:
		missing = "status"
	default:
		return nil
	}
	return fmt.Errorf("%s: the %s has no %s; has the input been cut short?", o.at, o.Kind, missing)
}

// decode decodes the object into a value of an API type, to which it gets a pointer.
func (o object) decode(into any) error { return firstOf(o.problems(into), o.at) }

// problems decodes likewise, and returns all that cannot be decoded.
func (o object) problems(into any) []Problem {
	err := utiljson.Unmarshal(o.json, into)
	return problemsIn(o.json, err, func(json []byte) error {
		return utiljson.Unmarshal(json, reflect.New(reflect.TypeOf(into).Elem()).Interface())
	})
}
