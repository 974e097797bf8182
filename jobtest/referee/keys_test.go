package referee

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/tracking"
)

// The names of the controller become those of Kubernetes. A field that already had such a name
// belongs to another controller.
func TestTranslate(t *testing.T) {
	own := tracking.Keys{Finalizer: "example.com/counted", Index: "example.com/part"}.WithDefaults()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Finalizers: []string{batchv1.JobTrackingFinalizer, "example.com/keep"},
		Annotations: map[string]string{
			batchv1.JobCompletionIndexAnnotation: "7", batchv1.JobIndexFailureCountAnnotation: "2", "example.com/note": "x",
		},
	}}
	before := pod.DeepCopy()
	want := metav1.ObjectMeta{
		Finalizers:  []string{"example.com/keep"},
		Annotations: map[string]string{batchv1.JobIndexFailureCountAnnotation: "2", "example.com/note": "x"},
	}
	if diff := cmp.Diff(want, translate(own, pod).ObjectMeta); diff != "" {
		t.Errorf("without own names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("the pod was changed:\n%s", diff)
	}
	pod.Finalizers, pod.Annotations["example.com/part"] = append(pod.Finalizers, "example.com/counted"), "3"
	want = metav1.ObjectMeta{
		Finalizers: []string{"example.com/keep", "example.com/counted", batchv1.JobTrackingFinalizer},
		Annotations: map[string]string{
			batchv1.JobCompletionIndexAnnotation: "3", batchv1.JobIndexFailureCountAnnotation: "2", "example.com/note": "x", "example.com/part": "3",
		},
	}
	if diff := cmp.Diff(want, translate(own, pod).ObjectMeta); diff != "" {
		t.Errorf("with own names (-want +got):\n%s", diff)
	}
}
