package referee

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// The controller reads a count that is no int32 as none. A random snapshot had 2147483648.
func TestNumber(t *testing.T) {
	const key = batchv1.JobIndexFailureCountAnnotation
	for text, want := range map[string]int64{"": 0, "3": 3, "-1": 0, "x": 0, "2147483647": 2147483647, "2147483648": 0} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: text}}}
		Same(t, text, number(pod, key), want)
	}
}

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
	Same(t, "without own names", translate(own, pod).ObjectMeta, want)
	Same(t, "the pod itself", pod, before)
	pod.Finalizers, pod.Annotations["example.com/part"] = append(pod.Finalizers, "example.com/counted"), "3"
	want = metav1.ObjectMeta{
		Finalizers: []string{"example.com/keep", "example.com/counted", batchv1.JobTrackingFinalizer},
		Annotations: map[string]string{
			batchv1.JobCompletionIndexAnnotation: "3", batchv1.JobIndexFailureCountAnnotation: "2", "example.com/note": "x", "example.com/part": "3",
		},
	}
	Same(t, "with own names", translate(own, pod).ObjectMeta, want)
}

// A pod is tampered with if another component changes its annotations, or one of its labels, even to or from an empty
// value. It may add labels.
func TestTampered(t *testing.T) {
	for _, c := range []struct {
		name              string
		oldNotes, notes   map[string]string
		oldLabels, labels map[string]string
		want              bool
	}{
		{name: "nothing"},
		{name: "an annotation is added", notes: map[string]string{"a": ""}, want: true},
		{name: "an empty annotation becomes another", oldNotes: map[string]string{"a": ""},
			notes: map[string]string{"b": ""}, want: true},
		{name: "a label is added", labels: map[string]string{"a": "1"}},
		{name: "a label is changed", oldLabels: map[string]string{"a": "1"}, labels: map[string]string{"a": "2"}, want: true},
		{name: "an empty label is removed", oldLabels: map[string]string{"a": ""}, want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, pod := &corev1.Pod{}, &corev1.Pod{}
			old.Annotations, pod.Annotations, old.Labels, pod.Labels = c.oldNotes, c.notes, c.oldLabels, c.labels
			Same(t, "tampered", tampered(old, pod), c.want)
		})
	}
}
