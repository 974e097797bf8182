package referee

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The controller reads a count that is no int32 as none. A random snapshot had 2147483648.
func TestNumber(t *testing.T) {
	const key = batchv1.JobIndexFailureCountAnnotation
	for text, want := range map[string]int64{"": 0, "3": 3, "-1": 0, "x": 0, "2147483647": 2147483647, "2147483648": 0} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: text}}}
		if got := number(pod, key); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
