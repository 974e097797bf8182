package referee

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

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
			if got := tampered(old, pod); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
