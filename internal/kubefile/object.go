package kubefile

import (
	"cmp"
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
	missing string      // "spec" or "status", if it has none
	pod     *corev1.Pod // if it is one that can be decoded
	at      Place
}

// newObject returns an object that is of a type unless it says otherwise. Most are
// pods, which it decodes but for what nothing is decided on.
func newObject(json []byte, is metav1.TypeMeta) object {
	var pod struct {
		metav1.TypeMeta
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     *struct {
			corev1.PodSpec
			Containers skipped `json:"containers"`
			Volumes    skipped `json:"volumes"`
		} `json:"spec"`
		Status *corev1.PodStatus `json:"status"`
	}
	err := utiljson.Unmarshal(json, &pod)
	if err == nil && cmp.Or(pod.TypeMeta, is).Kind == "Pod" && pod.Spec != nil && pod.Status != nil {
		p := &corev1.Pod{ObjectMeta: pod.Metadata, Spec: pod.Spec.PodSpec, Status: *pod.Status}
		p.ManagedFields, p.Spec.EphemeralContainers = nil, nil
		return object{TypeMeta: cmp.Or(pod.TypeMeta, is), json: json, pod: p}
	}
	var says struct {
		metav1.TypeMeta
		Spec   *skipped `json:"spec"`
		Status *skipped `json:"status"`
	}
	_ = utiljson.Unmarshal(json, &says) // check and decode say what is wrong
	o := object{TypeMeta: cmp.Or(says.TypeMeta, is), json: json}
	switch {
	case says.Spec == nil:
		o.missing = "spec"
	case says.Status == nil:
		o.missing = "status"
	}
	return o
}

// skipped is a value that is not decoded.
type skipped struct{}

// UnmarshalJSON does nothing.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

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
