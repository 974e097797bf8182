// Package bugs holds bugs that the tests of more than one kit put into a caller, to
// see that they are found. Each changes a decision before it is carried out.
package bugs

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/tracking"
)

// ForgetVerdict counts the pods that carry a FailJob verdict like any others,
// although the status does not hold the verdict (kept-verdict in
// docs/divergences.md).
func ForgetVerdict(s jobfate.Snapshot, d *jobfate.Decision) {
	if s.InFlight.Status {
		return
	}
	policy := failurepolicy.Compile(failurepolicy.FromAPI(s.Job.Spec.PodFailurePolicy))
	for _, pod := range s.Pods {
		counted := slices.Contains(d.Strip, pod) || slices.Contains(s.InFlight.Stripped, pod.UID)
		if pod.Status.Phase != corev1.PodFailed || !tracking.HasFinalizer(pod) || !metav1.IsControlledBy(pod, s.Job) ||
			counted || !policy.Match(pod).FailsJob() {
			continue
		}
		if d.Status == nil {
			d.Status = s.Job.Status.DeepCopy()
		}
		if d.Status.UncountedTerminatedPods == nil {
			d.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
		}
		if failed := &d.Status.UncountedTerminatedPods.Failed; !slices.Contains(*failed, pod.UID) {
			*failed = append(*failed, pod.UID)
		}
		d.Strip = append(d.Strip, pod)
	}
}
