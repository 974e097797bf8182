package tracking_test

import (
	"fmt"
	"math"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// Like the Job controller, IndexOf reads decimal numbers only: no other base, no
// separators. Leading zeros are ignored.
func TestIndexOf_isDecimal(t *testing.T) {
	for text, want := range map[string]int32{
		"0": 0, "12": 12, "010": 10, "+1": 1, "2147483648": math.MaxInt32,
		"": tracking.NoIndex, "-1": tracking.NoIndex, "0x1": tracking.NoIndex, "0b1": tracking.NoIndex, "0o1": tracking.NoIndex,
		"1_0": tracking.NoIndex, "1.0": tracking.NoIndex, "1e1": tracking.NoIndex, " 1": tracking.NoIndex,
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: text}}}
		Same(t, fmt.Sprintf("%q", text), names.IndexOf(pod), want)
	}
}

// The annotation has the index of a pod. A label with another index shows that one of the
// two was edited (k#140839). Pods of old versions have no label and thus no conflict.
func TestIndexConflict(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation, label string
		labelled, want    bool
	}{
		"the same":            {"1", "1", true, false},
		"the same, padded":    {"1", "01", true, false},
		"another":             {"1", "2", true, true},
		"an invalid label":    {"1", "x", true, true},
		"an empty label":      {"1", "", true, true},
		"only the label":      {"", "1", true, true},
		"only the annotation": {"1", "", false, false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: tc.annotation}}}
		if tc.labelled {
			pod.Labels = map[string]string{batchv1.JobCompletionIndexAnnotation: tc.label}
		}
		Same(t, name, names.IndexConflict(pod), tc.want)
	}
	if names.IndexConflict(nil) || names.IndexOf(nil) != tracking.NoIndex {
		t.Error("a nil pod has an index or a conflict")
	}
}
