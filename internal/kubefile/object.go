package kubefile

import (
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// object is an object of the input: what it is, its JSON, and where it stands.
type object struct {
	metav1.TypeMeta
	json    []byte
	missing string // "spec" or "status", if it has none
	pod     *corev1.Pod
	at      Place
}

// newObject returns an object that is of a type unless it says otherwise. A pod is
// decoded at once: most objects are pods, and this is done on all cores.
func newObject(json []byte, is metav1.TypeMeta) object {
	var says struct {
		metav1.TypeMeta
		Spec   *struct{} `json:"spec"`
		Status *struct{} `json:"status"`
	}
	_ = utiljson.Unmarshal(json, &says) // check and decode say what is wrong
	if says.TypeMeta != (metav1.TypeMeta{}) {
		is = says.TypeMeta
	}
	o := object{TypeMeta: is, json: json}
	switch {
	case says.Spec == nil:
		o.missing = "spec"
	case says.Status == nil:
		o.missing = "status"
	case is.Kind == "Pod":
		o.pod = decodePod(json)
	}
	return o
}

// decodePod decodes a pod, and drops what nothing is decided on, which is most of it.
// It returns nil if the pod cannot be decoded.
func decodePod(json []byte) *corev1.Pod {
	pod := &corev1.Pod{}
	if utiljson.Unmarshal(json, pod) != nil {
		return nil
	}
	pod.ManagedFields = nil
	pod.Spec.Containers, pod.Spec.EphemeralContainers, pod.Spec.Volumes = nil, nil, nil
	return pod
}

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

// decode decodes the object into a value of an API type, to which it gets a pointer.
func (o object) decode(into any) error { return firstOf(o.problems(into), o.at) }

// problems decodes likewise, and returns all that cannot be decoded.
func (o object) problems(into any) []Problem {
	if utiljson.Unmarshal(o.json, into) == nil {
		return nil
	}
	return problemsIn(o.json, func(json []byte) error {
		return utiljson.Unmarshal(json, reflect.New(reflect.TypeOf(into).Elem()).Interface())
	})
}
