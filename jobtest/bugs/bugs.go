// Package bugs holds bugs that the tests of several kits plant in the reference caller, to check
// that the kits find them. Each bug changes a decision before it is carried out.
package bugs

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/tracking"
)

// ForgetVerdict counts the pods with a FailJob verdict like other pods, although the status
// lacks the verdict (kept-verdict in docs/divergences.md).
func ForgetVerdict(s decide.Snapshot, d *decide.Decision) {
	if s.InFlight.Status {
		return
	}
	if len(d.Delete) > 0 && d.Delete[0].Cause == decide.CauseJobEnds { // the deletions wait for the verdict
		var undone decide.Undone
		for _, deletion := range d.Delete {
			undone.Deletions = append(undone.Deletions, deletion.Pod.UID)
		}
		*d = d.Revise(undone)
		d.Delete = nil
	}
	policy := failurepolicy.FromAPI(s.Job.Spec.PodFailurePolicy)
	for _, pod := range s.Pods {
		counted := slices.Contains(d.Strip, pod) || slices.Contains(s.InFlight.Stripped, pod.UID)
		if pod.Status.Phase != corev1.PodFailed || !(tracking.Keys{}).HasFinalizer(pod) ||
			!metav1.IsControlledBy(pod, s.Job) ||
			counted || policy.Match(pod).Action != batchv1.PodFailurePolicyActionFailJob {
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

// ForgetUnobserved decides like the Job controller without its consistency store: the status
// counts the pods of the cache, even if writes of the controller are not observed yet.
func ForgetUnobserved(s decide.Snapshot, o decide.Option, _ inside.Usual) (decide.Decision, error) {
	s.InFlight.Pods = nil
	return decide.Job(s, o)
}

// StripFirst removes the finalizer of each ended pod, whether or not the status records the pod.
func StripFirst(_ *Caller, client *cluster.Client) {
	for _, pod := range client.Pods {
		if cluster.HasEnded(pod) && (tracking.Keys{}).HasFinalizer(pod) {
			_, _ = client.PatchPod(pod, tracking.Keys{}.StripPatch(pod))
		}
	}
}

// ForgetInFlight makes a Machine forget its writes in flight.
func ForgetInFlight(c *Caller, _ *cluster.Client) {
	m := inside.Memory(c.Machine)
	m.Known, m.Shown, m.ReadFirst, m.Created, m.Deleted, m.Stripped, m.Lost = "", "", false, nil, nil, nil, nil
}
