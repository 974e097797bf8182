package kubefile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// raw is the text of a JSON value.
type raw = json.RawMessage

// header says what an object is.
type header struct {
	metav1.TypeMeta
	Items []raw `json:"items"` // of a list
}

// object is an object of the input, with its JSON and its place. Most objects are pods, so it
// has the fields of a pod that influence decisions.
type object struct {
	header
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     *struct {
		corev1.PodSpec
		Containers skipped `json:"containers"`
		Volumes    skipped `json:"volumes"`
	} `json:"spec"`
	Status *corev1.PodStatus `json:"status"`
	json   raw
	wrong  error // why it is not a pod; header is set all the same
	at     Place
}

// skipped is a value that is not decoded.
type skipped struct{}

// UnmarshalJSON does nothing.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// newObject decodes an object; is is its type if the JSON names none.
func newObject(json raw, is metav1.TypeMeta) object {
	o := object{header: header{TypeMeta: is}, json: json}
	if o.wrong = utiljson.Unmarshal(json, &o); o.wrong != nil {
		_ = utiljson.Unmarshal(json, &o.header)
	}
	return o
}

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
			return fmt.Errorf("%s: the %s has no %s; is the input truncated, or not from kubectl get?", o.at, o.Kind, field)
		}
	}
	return nil
}

// add adds an object to the input.
func (in *Input) add(o object) error {
	switch o.APIVersion + " " + o.Kind {
	case "v1 Pod":
		if o.wrong != nil || o.Spec == nil || o.Status == nil {
			return cmp.Or(o.complete(), o.decode(new(corev1.Pod)))
		}
		p := &corev1.Pod{ObjectMeta: o.Metadata, Spec: o.Spec.PodSpec, Status: *o.Status}
		p.ManagedFields, p.Spec.EphemeralContainers = nil, nil
		in.Pods, in.PodsAt = append(in.Pods, p), append(in.PodsAt, o.at)
	case "batch/v1 Job":
		m := o.manifest()
		in.Jobs = append(in.Jobs, m)
		return firstOf(m.Problems, o.at)
	case "v1 Event":
		in.Events = append(in.Events, &corev1.Event{})
		return o.decode(in.Events[len(in.Events)-1])
	case "v1 Node":
		in.Nodes = append(in.Nodes, &corev1.Node{})
		return o.decode(in.Nodes[len(in.Nodes)-1])
	default:
		in.Skipped[o.Kind]++
	}
	return nil
}

// decode decodes the object into the API type that v points to.
func (o object) decode(v any) error { return firstOf(o.problems(into(v)), o.at) }

// into returns a decoder into v.
func into(v any) func([]byte) error {
	return func(json []byte) error { return utiljson.Unmarshal(json, v) }
}
