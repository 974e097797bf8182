// Package bugs holds bugs that the tests of several kits inject into a caller, to check
// that the kits find them. Each bug changes a decision before it is carried out.
//
// The package does not know the kits that must find the bugs.
package bugs

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/tracking"
)

// Draft is the part of a decision that a bug may change.
type Draft struct {
	Status  *batchv1.JobStatus // nil if there is none to store; a bug may change it
	Strip   []*corev1.Pod
	Delete  []decide.Deletion
	Backoff backoff.Record
	Requeue time.Duration
}

// Amend returns a function that decides and then applies a bug to the decision.
func Amend(bug func(decide.Input, *Draft)) func(decide.Input, decide.Config) (*decide.Outcome, error) {
	return func(in decide.Input, c decide.Config) (*decide.Outcome, error) {
		o, err := decide.Decide(in, c)
		if err != nil {
			return nil, err
		}
		d := Draft{Strip: slices.Clone(o.Strip), Delete: slices.Clone(o.Plan.Work.Delete), Backoff: o.Backoff,
			Requeue: o.Requeue}
		if o.Changed && !o.PutOff {
			d.Status = o.Status.DeepCopy()
		}
		bug(in, &d)
		if o.Changed = d.Status != nil; o.Changed {
			o.Status, o.PutOff = *d.Status, false
		}
		o.Strip, o.Plan.Work.Delete, o.Backoff, o.Requeue = d.Strip, d.Delete, d.Backoff, d.Requeue
		return o, nil
	}
}

// ForgetVerdict counts the pods with a FailJob verdict like other pods, although the status
// lacks the verdict (kept-verdict in docs/divergences.md).
func ForgetVerdict(s decide.Input, d *Draft) {
	if s.InFlight.Status {
		return
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
func ForgetUnobserved(in decide.Input, c decide.Config) (*decide.Outcome, error) {
	in.InFlight.Pods = nil
	return decide.Decide(in, c)
}
