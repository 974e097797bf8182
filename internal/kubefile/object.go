package kubefile

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// objectType is the version and kind of an object.
type objectType struct{ apiVersion, kind string }

var (
	typeJob     = objectType{"batch/v1", "Job"}
	typeCronJob = objectType{"batch/v1", "CronJob"}
	typePod     = objectType{"v1", "Pod"}
	typeEvent   = objectType{"v1", "Event"}
	typeNode    = objectType{"v1", "Node"}
)

// lists maps the kinds of lists to what an item is that does not say so itself.
var lists = map[objectType]objectType{
	{"v1", "List"}:              {},
	{"v1", "PodList"}:           typePod,
	{"v1", "EventList"}:         typeEvent,
	{"v1", "NodeList"}:          typeNode,
	{"batch/v1", "JobList"}:     typeJob,
	{"batch/v1", "CronJobList"}: typeCronJob,
}

// header is what tells objects apart, and whether they are whole.
type header struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Spec       present `json:"spec"`
	Status     present `json:"status"`
}

func (h header) typeOf() objectType { return objectType{h.APIVersion, h.Kind} }

func (h header) isList() bool {
	_, is := lists[h.typeOf()]
	return is
}

// present says that a field is there and is not null.
type present bool

// UnmarshalJSON looks no further than at the first byte.
func (p *present) UnmarshalJSON(value []byte) error {
	*p = len(value) > 0 && value[0] != 'n'
	return nil
}

// skipped is a value that is not read.
type skipped struct{}

// UnmarshalJSON does nothing.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// object is an object of the input: what it is, its JSON, and where it stands.
type object struct {
	header
	json []byte
	at   Place
	pod  *corev1.Pod // in place of the JSON
}

// podDocument is a pod without what nothing is decided on, which is most of it.
type podDocument struct {
	metav1.TypeMeta
	Metadata struct {
		metav1.ObjectMeta
		ManagedFields skipped `json:"managedFields"`
	} `json:"metadata"`
	Spec *struct {
		corev1.PodSpec
		Containers          skipped `json:"containers"`
		EphemeralContainers skipped `json:"ephemeralContainers"`
		Volumes             skipped `json:"volumes"`
		InitContainers      []struct {
			Name          string                         `json:"name"`
			RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy"`
		} `json:"initContainers"`
	} `json:"spec"`
	Status *corev1.PodStatus `json:"status"`
}

// pod returns the pod, which has a spec and a status.
func (p *podDocument) pod() *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: p.TypeMeta, ObjectMeta: p.Metadata.ObjectMeta, Spec: p.Spec.PodSpec, Status: *p.Status}
	for _, c := range p.Spec.InitContainers {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy})
	}
	return pod
}

// newObject returns an item of a list: a pod if it is a whole one, as most are, and
// anything else as JSON.
func newObject(value []byte) object {
	var p podDocument
	err := kjson.UnmarshalCaseSensitivePreserveInts(value, &p)
	if err == nil && p.Kind == typePod.kind && p.APIVersion == typePod.apiVersion && p.Spec != nil && p.Status != nil {
		return object{header: header{p.APIVersion, p.Kind, true, true}, pod: p.pod()}
	}
	o := object{json: value}
	_ = kjson.UnmarshalCaseSensitivePreserveInts(value, &o.header) // check tells what is missing
	return o
}

// check sees to it that the object has a kind, and if that is one of ours, its
// version.
func (o object) check(want string) error {
	t := o.typeOf()
	if o.pod == nil && (len(o.json) == 0 || o.json[0] != '{') {
		return fmt.Errorf("%s is not an object; want %s", o.at, want)
	}
	if t.kind == "" {
		return fmt.Errorf("%s has no kind; want %s", o.at, want)
	}
	for _, may := range []objectType{typeJob, typeCronJob, typePod} {
		if t.kind == may.kind && t != may {
			return fmt.Errorf("%s is a %s of apiVersion %q; want %s", o.at, t.kind, t.apiVersion, may.apiVersion)
		}
	}
	if o.isList() {
		return fmt.Errorf("%s is a %s; want %s", o.at, t.kind, want)
	}
	return nil
}

// checkWhole sees to it that the object is whole. Whatever kubectl prints has a
// spec and a status, at times empty, and the status comes last.
func (o object) checkWhole() error {
	for _, f := range []struct {
		name  string
		there present
	}{{"spec", o.Spec}, {"status", o.Status}} {
		if !f.there {
			return fmt.Errorf("%s: the %s has no %s; has the input been cut short?", o.at, o.Kind, f.name)
		}
	}
	return nil
}

// decode decodes the object into a value of an API type, to which it gives a
// pointer.
func (o object) decode(into any) error {
	if problems := o.problems(into); problems != nil {
		return problems[0].at(o.at)
	}
	return nil
}

// problems decodes likewise, and returns all that cannot be decoded.
func (o object) problems(into any) []Problem {
	err := kjson.UnmarshalCaseSensitivePreserveInts(o.json, into)
	if err == nil {
		return nil
	}
	return problemsIn(o.json, err, func(part []byte) error {
		return kjson.UnmarshalCaseSensitivePreserveInts(part, reflect.New(reflect.TypeOf(into).Elem()).Interface())
	})
}
