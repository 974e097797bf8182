package kubefile

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// object is an object of the input, with its JSON and its place.
type object struct {
	metav1.TypeMeta
	Items  []json.RawMessage `json:"items"` // the items of a list
	Type   string            `json:"type"`  // of an event of a watch
	Object json.RawMessage   `json:"object"`
	Spec   *present          `json:"spec"`
	Status *present          `json:"status"`
	json   []byte            // nil if the text is invalid, and if pod is set
	pod    *corev1.Pod       // a pod that is complete, with the fields that influence decisions
	copied int               // the bytes of JSON that only aliases of YAML explain
	wrong  error             // why it cannot be decoded; type and items are set anyway
	at     Place
	gone   bool // a watch has seen its deletion
	// duplicates lists the keys that occur twice in the YAML. The JSON has the last one, as in kubectl.
	duplicates []string
}

// present is the value of a field that is not null.
type present struct{}

// UnmarshalJSON accepts any value.
func (*present) UnmarshalJSON([]byte) error { return nil }

// newObject decodes JSON, or a YAML list of one item. kind is the kind of an object that names none.
// If the text is invalid, the object has no json.
func newObject(text []byte, format, kind string) (o object) {
	if o.json = text; format == "YAML" {
		if o.json, o.wrong = toJSON(text); o.wrong != nil {
			return object{wrong: o.wrong}
		}
		o.copied = max(0, len(o.json)-10*len(text)) // without aliases JSON is at most 10 times as long
	}
	if o.Kind = kind; kindOf(o.json, kind) == "Pod" && o.readPod() {
		return o
	}
	o.wrong = utiljson.Unmarshal(o.json, &o)
	return o
}

// uid returns the UID of the object; empty if it has none.
func (o object) uid() types.UID {
	if o.pod != nil {
		return o.pod.UID
	}
	var of metav1.PartialObjectMetadata
	_ = json.Unmarshal(o.json, &of)
	return of.UID
}

// invalid reports whether the text of the object cannot be parsed.
func (o object) invalid() bool { return o.json == nil && o.pod == nil }

// resources is what is read of a container: what it is, what it takes of a node, and whether it does anything.
type resources struct {
	Name      string                      `json:"name"`
	Image     string                      `json:"image"`
	Resources corev1.ResourceRequirements `json:"resources"`
	Command   []string                    `json:"command"`
	Args      []string                    `json:"args"`
	Ports     []corev1.ContainerPort      `json:"ports"`
}

// volume is what is read of a volume: the claim that it is, or that is made for it.
type volume struct {
	Name      string                                    `json:"name"`
	Claim     *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim"`
	Ephemeral *struct{}                                 `json:"ephemeral"`
}

// readPod reports whether the object is a pod that can be decoded and has a spec and a status. It then keeps the
// pod instead of the JSON.
func (o *object) readPod() bool {
	var pod corev1.Pod
	type spec struct {
		*corev1.PodSpec
		Containers []resources `json:"containers"`
		Volumes    []volume    `json:"volumes"`
	}
	of := struct {
		*metav1.TypeMeta
		Metadata *metav1.ObjectMeta `json:"metadata"`
		Spec     *spec              `json:"spec"`
		Status   *corev1.PodStatus  `json:"status"`
	}{&o.TypeMeta, &pod.ObjectMeta, &spec{PodSpec: &pod.Spec}, &pod.Status}
	if utiljson.Unmarshal(o.json, &of) != nil || o.Kind != "Pod" || of.Spec == nil || of.Spec.Containers == nil ||
		of.Status == nil || pod.Status.Phase == "" {
		return false
	}
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed { // they keep others waiting
		for _, c := range of.Spec.Containers {
			of := corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, Ports: c.Ports}
			const most = 3 // words of a command that does nothing
			if len(c.Command)+len(c.Args) <= most {
				of.Command, of.Args = c.Command, c.Args
			}
			pod.Spec.Containers = append(pod.Spec.Containers, of)
		}
	}
	for _, v := range of.Spec.Volumes {
		of := corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: v.Claim}}
		if v.Ephemeral != nil {
			of.Ephemeral = &corev1.EphemeralVolumeSource{}
		}
		if v.Claim != nil || v.Ephemeral != nil {
			pod.Spec.Volumes = append(pod.Spec.Volumes, of)
		}
	}
	pod.ManagedFields, pod.Spec.EphemeralContainers = nil, nil
	o.pod, o.json = &pod, nil
	return true
}

// isList reports whether the object is a list. Other kinds may also have a name that ends in List.
func (o object) isList() bool {
	return o.Kind == "List" || strings.HasSuffix(o.Kind, "List") && (o.Items != nil || o.wrong != nil)
}

// foreign returns the API group of the object if others than Kubernetes can define kinds in it;
// otherwise it is empty. Volcano, for example, has a kind Job.
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
	case o.Kind == "Status" && o.APIVersion == "v1":
		var says metav1.Status
		_ = json.Unmarshal(o.json, &says)
		return fmt.Errorf("%s is an answer of the API server, %q; want %s", o.at, says.Message, want)
	case o.isList():
		return fmt.Errorf("%s is a %s; want %s", o.at, o.Kind, want)
	}
	return nil
}

// misnamed reports whether Kubernetes does not know the kind of the object, although it looks like a Job or a CronJob:
// by its API group, or as "job" does.
func (o object) misnamed() bool {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	fold := strings.EqualFold(o.Kind, "Job") || strings.EqualFold(o.Kind, "CronJob")
	known := o.Kind == "Job" || o.Kind == "CronJob" || strings.HasSuffix(o.Kind, "List")
	return !known && o.foreign() == "" && (group == "batch" || fold)
}

// checkVersion fails unless the object has the version of its kind that this package reads.
func (o object) checkVersion() error {
	version := "v1"
	if o.misnamed() {
		want := "a Job or a CronJob"
		for _, kind := range []string{"Job", "CronJob"} {
			if strings.EqualFold(o.Kind, kind) {
				want = "the kind " + kind
			}
		}
		return fmt.Errorf("%s is a %s of apiVersion %q; want %s", o.at, o.Kind, o.APIVersion, want)
	}
	if o.Kind == "Job" || o.Kind == "CronJob" {
		version = "batch/v1"
	}
	if o.APIVersion != version {
		return fmt.Errorf("%s is a %s of apiVersion %q; want %s", o.at, o.Kind, o.APIVersion, version)
	}
	return nil
}

// complete fails unless the object has a spec and a status. Objects from kubectl always have
// both, perhaps empty. The status comes last, so it is missing if the input is truncated.
func (o object) complete() error {
	missing := "spec"
	switch {
	case o.Spec == nil:
	case o.Status == nil:
		missing = "status"
	default:
		return nil
	}
	return fmt.Errorf("%s: the %s has no %s; is the input truncated, or not from kubectl get?", o.at, o.Kind, missing)
}

// decode decodes the object into the API type that v points to.
func (o object) decode(v any) error {
	return o.first(o.problems(func(text []byte) error { return utiljson.Unmarshal(text, v) }))
}
