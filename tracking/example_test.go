package tracking_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/tracking"
)

// A controller with a finalizer of its own reads and removes it. The other names are those of Kubernetes.
func ExampleKeys() {
	keys := tracking.Keys{Finalizer: "example.com/counted"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: "pod-uid", Finalizers: []string{"example.com/counted"},
		Annotations: map[string]string{"batch.kubernetes.io/job-completion-index": "3"},
	}}
	fmt.Println(keys.HasFinalizer(pod), keys.IndexOf(pod))
	fmt.Println(string(keys.StripPatch(pod)))
	// Output:
	// true 3
	// {"metadata":{"uid":"pod-uid","$deleteFromPrimitiveList/finalizers":["example.com/counted"]}}
}
