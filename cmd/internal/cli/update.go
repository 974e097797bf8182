package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/validation"
)

// way is a command of kubectl that updates a Job from a manifest.
type way struct {
	name string // of the command, and of the value of --by
	send func(m *kubefile.Manifest, live *batchv1.Job) sent
}

// ways are the commands. The answer to the first one decides, unless --by names another. kubectl
// apply is the client-side one: with --server-side the answer also depends on the managers of the
// fields.
var ways = []way{
	{"apply", applied},
	{"replace", replaced},
}

// sent is what the API server does with an update before it validates the Job.
type sent struct {
	job     *batchv1.Job // with its defaults; nil if the API server does not get as far as that
	refused finding      // why it does not
	same    bool         // kubectl sends nothing, because nothing changes
}

// selected returns the ways that a value of --by names.
func selected(by string) []way {
	for _, w := range ways {
		if w.name == by {
			return []way{w}
		}
	}
	return ways
}

// update sends the manifest, which must name the old Job.
func (w way) update(m *kubefile.Manifest, live *batchv1.Job) sent {
	name, namespace := m.Job.Name, cmp.Or(m.Job.Namespace, live.Namespace)
	switch {
	case name == "":
		return refuse(string(field.ErrorTypeRequired), "metadata.name",
			"Required value: kubectl %s needs a name", w.name)
	case name != live.Name:
		return refuse("OtherJob", "metadata.name", "kubectl %s updates the Job %s, not %s", w.name, name, live.Name)
	case namespace != live.Namespace:
		return refuse("OtherJob", "metadata.namespace",
			"kubectl %s updates the Job in the namespace %s, not in %s", w.name, namespace, live.Namespace)
	}
	return w.send(m, live)
}

func refuse(rule, name, format string, args ...any) sent {
	return sent{refused: finding{Rule: rule, Field: name, Message: fmt.Sprintf(format, args...)}}
}

// applied merges the manifest into the old Job: kubectl compares the manifest with the
// configuration in the annotation of the old Job, and with the old Job, and sends the difference.
func applied(m *kubefile.Manifest, live *batchv1.Job) sent {
	job := &batchv1.Job{}
	patch, err := patchFor(m, live)
	if err == nil && string(patch) == "{}" {
		return sent{job: live, same: true}
	}
	var merged []byte
	if err == nil {
		merged, err = strategicpatch.StrategicMergePatch(textOf(live), patch, batchv1.Job{})
	}
	if err == nil {
		err = utiljson.Unmarshal(merged, job)
	}
	if err != nil {
		return refuse("NotMerged", "", "kubectl cannot merge the Job: %s", oneLine(err))
	}
	return onVersion(job, live)
}

// patchFor returns the strategic merge patch that kubectl sends.
func patchFor(m *kubefile.Manifest, live *batchv1.Job) ([]byte, error) {
	schema, err := strategicpatch.NewPatchMetaFromStruct(batchv1.Job{})
	if err != nil {
		return nil, err
	}
	original, err := lastApplied(live)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateThreeWayMergePatch(original, configured(m, live.Namespace), textOf(live), schema, true)
}

// lastApplied returns the configuration in the annotation of kubectl apply, without fields that
// the API types lack; nil if there is none.
func lastApplied(live *batchv1.Job) ([]byte, error) {
	text := live.Annotations[corev1.LastAppliedConfigAnnotation]
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
	return textOf(&object)
}

// textOf returns the JSON of an object.
func textOf(object any) []byte {
	text, _ := json.Marshal(object) // cannot fail for what was JSON before
	return text
}

// replaced is the manifest itself. In particular, kubectl replace does not add the selector and
// the labels that the API server generates for a new Job.
func replaced(m *kubefile.Manifest, live *batchv1.Job) sent {
	job := m.Job.DeepCopy()
	if job.UID != "" && job.UID != live.UID {
		return refuse("Conflict", "metadata.uid",
			"Precondition failed: UID in precondition: %s, UID in object meta: %s", job.UID, live.UID)
	}
	job.ResourceVersion = cmp.Or(job.ResourceVersion, live.ResourceVersion)
	return onVersion(job, live)
}

// onVersion returns the Job as it is validated, unless it is meant for another version of the old
// Job.
func onVersion(job, live *batchv1.Job) sent {
	if job.ResourceVersion != "" && job.ResourceVersion != live.ResourceVersion {
		return refuse("Conflict", "metadata.resourceVersion",
			"the object has been modified; please apply your changes to the latest version and try again")
	}
	job.ResourceVersion = live.ResourceVersion
	return sent{job: identified(job, live)}
}

// live returns the old Job as the API server stores it. An old Job without a UID is a manifest
// that kubectl apply has created. If the old Job does not say what identifies it, next does.
func live(old *kubefile.Manifest, next *batchv1.Job) *batchv1.Job {
	job := old.Job.DeepCopy()
	if job.UID == "" && old.Fields() != nil {
		job = &batchv1.Job{}
		_ = utiljson.Unmarshal(configured(old, "default"), job) // it is the old Job with an annotation
	}
	created := job.UID == ""
	job.UID = cmp.Or(job.UID, next.UID)
	job.ResourceVersion = cmp.Or(job.ResourceVersion, next.ResourceVersion, "1")
	if job = defaulted(named(job)); created {
		job = validation.GenerateSelector(job)
	}
	return job
}

// identified returns a new version of a Job with what the API server keeps of the old one.
func identified(job, live *batchv1.Job) *batchv1.Job {
	job = defaulted(job)
	job.Name, job.Namespace = cmp.Or(job.Name, live.Name), cmp.Or(job.Namespace, live.Namespace)
	job.UID = types.UID(cmp.Or(string(job.UID), string(live.UID)))
	job.ResourceVersion = cmp.Or(job.ResourceVersion, live.ResourceVersion)
	job.Generation, job.CreationTimestamp = live.Generation, live.CreationTimestamp
	job.DeletionTimestamp = live.DeletionTimestamp
	return job
}

// defaulted returns a Job with all defaults. The API server shows a service account under both
// names.
func defaulted(job *batchv1.Job) *batchv1.Job {
	job = validation.Default(job)
	spec := validation.DefaultPodSpec(&job.Spec.Template.Spec)
	spec.ServiceAccountName = cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	job.Spec.Template.Spec = *spec
	return job
}

// oneLine returns the text of an error without its further lines.
func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
