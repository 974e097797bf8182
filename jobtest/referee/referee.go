package referee

import (
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// Rules holds the settings of the controller that the referee needs.
type Rules struct {
	// Backoff is the backoff policy of the controller; the zero value is the policy of
	// Kubernetes.
	Backoff backoff.Policy
	// Keys lists the names that the controller uses on the pods, as in [decide.Keys]; the
	// zero value has those of Kubernetes.
	Keys tracking.Keys
	// Owner is the kind of the objects that the controller runs as Jobs; the zero value is
	// Job.
	Owner schema.GroupKind
	// LostAfter is the time of [decide.FailLostPods], and ExitZero says that
	// [decide.SucceedOnExitZero] is set.
	LostAfter time.Duration
	ExitZero  bool
}

// runsKindOf reports whether an owner is of the kind that the controller runs.
func (r Rules) runsKindOf(owner *metav1.OwnerReference) bool {
	kind := r.Owner
	if kind.Empty() {
		kind = schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}
	}
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == kind
}

// Violation is a violated property.
type Violation struct {
	// Property is the name of the property in docs/reliability.md.
	Property string
	Text     string
}

// Error returns the property and a description of the violation.
func (v *Violation) Error() string { return v.Property + ": " + v.Text }

func violated(property, format string, args ...any) *Violation {
	return &Violation{property, fmt.Sprintf(format, args...)}
}

// See checks one change of the cluster and records it in the ghost. It returns the first
// violation, or nil. A controller that read live, or read its caches again, may decide on
// any of these reads. A write is correct if it is correct for one of them.
func (r Rules) See(g *Ghost, s *cluster.Step) *Violation {
	s = r.translated(s)
	if s.Read == nil && s.Earlier == nil {
		return r.check(g, s)
	}
	before := g.Clone()
	var found *Violation
	for view := range s.Views() {
		ghost := g
		if found != nil {
			other := before.Clone()
			ghost = &other
		}
		step := *s
		step.View, step.Read, step.Earlier = &view, nil, nil
		v := r.check(ghost, &step)
		if v == nil {
			*g = *ghost
			return nil
		}
		if found == nil {
			found = v
		}
	}
	return found
}

func (r Rules) check(g *Ghost, s *cluster.Step) *Violation {
	switch {
	case s.Refused != nil:
		return violated("S11", "the API server rejects the status: %v", s.Refused)
	case s.Pod == nil && s.OldPod == nil:
		return g.checkJob(s)
	case s.Request == nil:
		g.recordOthers(s)
		return nil
	case s.OldPod == nil:
		return r.checkCreation(g, s)
	}
	return r.checkWrite(g, s)
}

func (g *Ghost) checkJob(s *cluster.Step) *Violation {
	switch {
	case s.Job == nil:
		return nil
	case s.OldJob == nil || s.OldJob.UID != s.Job.UID:
		g.Started(s.Job)
		return nil
	case s.Request == nil:
		if !equality.Semantic.DeepEqual(s.OldJob.Status, s.Job.Status) {
			g.accept(&s.Job.Status)
		}
		g.spec(s.Job)
		return nil
	}
	for _, check := range []func(*cluster.Step) *Violation{
		checkStatus, g.checkCharges, g.checkIndexes, g.checkEnd, g.checkActive, g.checkKnown, g.checkLeft,
		checkKept,
	} {
		if v := check(s); v != nil {
			return v
		}
	}
	return nil
}

// recordOthers records a change of a pod that the controller did not make.
func (g *Ghost) recordOthers(s *cluster.Step) {
	switch old, pod := s.OldPod, s.Pod; {
	case old == nil:
		g.Tampered[pod.UID] = true
	case pod == nil:
		// The pod was removed with its finalizer.
		g.StateLost = g.StateLost || hasFinalizer(old)
	case ownedBy(old, s.Job) && (!ownedBy(pod, s.Job) || !selects(s.Job, pod)):
		g.release(pod.UID)
	case tampered(old, pod):
		g.Tampered[pod.UID], g.StateLost = true, true
	}
}

// tampered reports whether a change of a pod touched an annotation, label or finalizer that
// holds state of a Job.
func tampered(old, pod *corev1.Pod) bool {
	return hasFinalizer(old) != hasFinalizer(pod) ||
		!maps.Equal(old.Annotations, pod.Annotations) || anyDiffers(old.Labels, pod.Labels)
}

func anyDiffers(a, b map[string]string) bool {
	for key, value := range a {
		if now, has := b[key]; !has || now != value {
			return true
		}
	}
	return false
}

func ownedBy(pod *corev1.Pod, job *batchv1.Job) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && job != nil && owner.UID == job.UID
}

// delay returns the backoff delay of a Job or an index after its n-th failure.
func (r Rules) delay(n int32) time.Duration {
	base, limit := r.Backoff.Base, r.Backoff.Cap
	if base == 0 {
		base = 10 * time.Second
	}
	if limit == 0 {
		limit = 10 * time.Minute
	}
	if n <= 0 {
		return 0
	}
	wait := base
	for range n - 1 {
		if wait *= 2; wait >= limit {
			return limit
		}
	}
	return min(wait, limit)
}
