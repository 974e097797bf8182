package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// way is a command of kubectl that updates a Job or a CronJob from a manifest.
type way struct {
	name string // of the command, and of the value of --by
	send func(m *kubefile.Manifest, live kubefile.Object) sent
}

// ways lists the commands. The answer to the first one decides, unless --by names another. kubectl
// apply is without --server-side, where the answer also depends on the managers of the fields.
var ways = []way{
	{"apply", applied},
	{"replace", replaced},
}

// sent is what the API server does with an update before it validates the object.
type sent struct {
	object  kubefile.Object // with the defaults of a Job; nil if the API server does not get as far as that
	refused finding         // why it does not
	same    bool            // kubectl sends nothing, because nothing changes
}

// update sends the manifest, which must name the old object.
func (w way) update(m *kubefile.Manifest, live kubefile.Object) sent {
	name, namespace := m.Job.Name, cmp.Or(m.Job.Namespace, live.GetNamespace())
	switch {
	case name == "":
		return refuse(string(field.ErrorTypeRequired), "metadata.name",
			"Required value: kubectl %s needs a name", w.name)
	case name != live.GetName():
		return refuse("OtherJob", "metadata.name", "kubectl %s updates the %s %s, not %s", w.name, kindOf(m), name,
			live.GetName())
	case namespace != live.GetNamespace():
		return refuse("OtherJob", "metadata.namespace", "kubectl %s updates the %s in the namespace %s, not in %s",
			w.name, kindOf(m), namespace, live.GetNamespace())
	}
	return w.send(m, live)
}

func refuse(rule, name, format string, args ...any) sent {
	return sent{refused: finding{Rule: rule, Field: name, Message: fmt.Sprintf(format, args...)}}
}

// applied merges the manifest into the old object: kubectl compares the manifest with the configuration in the
// annotation of the old object, and with the old object, and sends the difference.
func applied(m *kubefile.Manifest, live kubefile.Object) sent {
	next := emptyLike(live)
	same, err := merge(m, live, next)
	switch {
	case err != nil:
		text, _, _ := strings.Cut(err.Error(), "\n")
		return refuse("NotMerged", "", "kubectl cannot merge the %s: %s", kindOf(m), text)
	case same:
		return sent{object: live, same: true}
	}
	return onVersion(next, live)
}

// merge sets next to the old object with the manifest merged into it, unless that is the same.
func merge(m *kubefile.Manifest, live, next kubefile.Object) (same bool, err error) {
	defer func() {
		if recover() != nil { // so does kubectl
			err = errors.New("it panics, for example on null in place of an item of a list")
		}
	}()
	patch, err := patchFor(m, live)
	if err != nil || string(patch) == "{}" {
		return err == nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(encode(live), patch, live)
	if err != nil {
		return false, err
	}
	return false, utiljson.Unmarshal(merged, next)
}

// emptyLike returns a new object of the same type.
func emptyLike[T kubefile.Object](o T) T {
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(T)
}

// patchFor returns the strategic merge patch that kubectl sends.
func patchFor(m *kubefile.Manifest, live kubefile.Object) ([]byte, error) {
	schema, err := strategicpatch.NewPatchMetaFromStruct(live)
	if err != nil {
		return nil, err
	}
	original, err := lastApplied(live)
	if err != nil {
		return nil, err
	}
	modified := configured(m, live.GetNamespace())
	return strategicpatch.CreateThreeWayMergePatch(original, modified, encode(live), schema, true)
}

// lastApplied returns the configuration in the annotation of kubectl apply, without fields that
// the API types lack; nil if there is none.
func lastApplied(live kubefile.Object) ([]byte, error) {
	text := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	if text == "" {
		return nil, nil
	}
	const name = "the annotation " + corev1.LastAppliedConfigAnnotation
	in, err := kubefile.ReadManifests(kubefile.Source{Name: name, Reader: strings.NewReader(text)})
	if err != nil {
		return nil, err
	}
	return json.Marshal(in.Jobs[0].Fields())
}

// configured returns the manifest as kubectl apply sends it: with a namespace, and with itself in
// an annotation.
func configured(m *kubefile.Manifest, namespace string) []byte {
	object := unstructured.Unstructured{Object: m.Fields()}
	object.SetNamespace(cmp.Or(object.GetNamespace(), namespace))
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	object.SetAnnotations(annotations)
	plain, _ := object.MarshalJSON() // as kubectl writes it, with a line break at the end
	annotations[corev1.LastAppliedConfigAnnotation] = string(plain)
	object.SetAnnotations(annotations)
	return encode(&object)
}

// replaced sends the manifest as it is: kubectl replace does not add the selector and the labels
// that the API server generates for a new Job.
func replaced(m *kubefile.Manifest, live kubefile.Object) sent {
	if uid := m.Object().GetUID(); uid != "" && uid != live.GetUID() {
		return refuse("Conflict", "metadata.uid",
			"Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, live.GetUID())
	}
	return onVersion(m.Object(), live)
}

// onVersion returns the object as it is validated, unless it is meant for another version of the old one.
func onVersion(next, live kubefile.Object) sent {
	if version := next.GetResourceVersion(); version != "" && version != live.GetResourceVersion() {
		return refuse("Conflict", "metadata.resourceVersion",
			"the object has been modified; please apply your changes to the latest version and try again")
	}
	return sent{object: identified(next, live)}
}

// live returns the old object as the API server stores it. An old one without a UID is a manifest that kubectl apply
// has created. If the old object has no UID or version, it gets those of next.
func live[T kubefile.Object](old *kubefile.Manifest, next T) T {
	out := old.Object().DeepCopyObject().(T)
	if out.GetUID() == "" && old.Fields() != nil {
		out = emptyLike(out)
		_ = utiljson.Unmarshal(configured(old, "default"), out) // it is the old object with an annotation
	}
	created := out.GetUID() == ""
	out.SetUID(cmp.Or(out.GetUID(), next.GetUID(), newUID))
	out.SetResourceVersion(cmp.Or(out.GetResourceVersion(), next.GetResourceVersion(), "1"))
	out.SetNamespace(cmp.Or(out.GetNamespace(), "default"))
	if job, is := any(out).(*batchv1.Job); is {
		if job = defaulted(named(job)); created {
			job = defaulting.WithGeneratedSelector(job)
		}
		return any(job).(T)
	}
	return out
}

// identified returns a new version of an object with what the API server keeps of the old one.
func identified[T kubefile.Object](next, live T) T {
	out := next.DeepCopyObject().(T)
	if job, is := any(out).(*batchv1.Job); is {
		out = any(defaulted(job)).(T)
	}
	out.SetName(cmp.Or(out.GetName(), live.GetName()))
	out.SetNamespace(cmp.Or(out.GetNamespace(), live.GetNamespace()))
	out.SetUID(cmp.Or(out.GetUID(), live.GetUID()))
	out.SetResourceVersion(cmp.Or(out.GetResourceVersion(), live.GetResourceVersion()))
	out.SetGeneration(live.GetGeneration())
	out.SetCreationTimestamp(live.GetCreationTimestamp())
	out.SetDeletionTimestamp(live.GetDeletionTimestamp())
	if out.GetDeletionGracePeriodSeconds() == nil {
		out.SetDeletionGracePeriodSeconds(live.GetDeletionGracePeriodSeconds())
	}
	return out
}

// defaulted returns a Job with all defaults. The API server shows a service account under both
// names.
func defaulted(job *batchv1.Job) *batchv1.Job {
	job = defaulting.Job(job)
	spec := defaulting.PodSpec(&job.Spec.Template.Spec)
	spec.ServiceAccountName = cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	job.Spec.Template.Spec = *spec
	return job
}
