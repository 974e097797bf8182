package referee

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// Ledgers holds the ghosts of the Jobs of a cluster, by the names of the Jobs.
type Ledgers map[types.NamespacedName]*Ghost

// Judge checks one change of a cluster with several Jobs, as See does for one Job. Each Job
// is judged by its own ghost. A write to a pod is judged by the ghost of the Job that
// controls the pod. A write to a pod without a controller is correct if it is correct for
// one of the Jobs. A write in the sync of one Job must not concern another Job. Judge
// returns the violation and the name of its Job.
func (r Rules) Judge(all Ledgers, s *cluster.Step) (types.NamespacedName, *Violation) {
	if of := s.Name(); of.Name != "" {
		if v := inWrongSync(s, of, "the status of "+of.String()+" is stored"); v != nil {
			return of, v
		}
		return of, r.checkFor(all, s, of)
	}
	of, known := r.owner(all, s)
	switch {
	case s.Request == nil && known:
		return of, r.checkFor(all, s, of)
	case s.Request == nil:
		for name := range all {
			_ = r.checkFor(all, s, name) // a change by others violates nothing
		}
		return of, nil
	case known:
		if controlled(s, of) {
			if s.For != of && seenAs(s, s.For) {
				// The pod has another owner since the controller observed it. For its Job, the
				// write is a change by others.
				other := *s
				other.Request = nil
				return of, r.checkFor(all, &other, of)
			}
			if v := inWrongSync(s, of, "a "+string(s.Request.Verb)+" of "+string(podOf(s).UID)+
				", which belongs to "+of.String()+", is sent"); v != nil {
				return of, v
			}
		}
		return of, r.checkFor(all, s, of)
	}
	return r.checkForAny(all, s)
}

// checkFor judges a step by the ghost of one Job.
func (r Rules) checkFor(all Ledgers, s *cluster.Step, name types.NamespacedName) *Violation {
	step := s.Of(name)
	return r.See(all[name], &step)
}

// checkForAny judges a write to a pod that no Job of the cluster controls. The write is
// correct if it is correct for one of the Jobs. Otherwise the violation is one of the
// synced Job.
func (r Rules) checkForAny(all Ledgers, s *cluster.Step) (of types.NamespacedName, found *Violation) {
	names := slices.SortedFunc(maps.Keys(all),
		func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range names {
		before := all[name].Clone()
		v := r.checkFor(all, s, name)
		if v == nil {
			return name, nil
		}
		*all[name] = before
		if found == nil || name == s.For {
			of, found = name, v
		}
	}
	return of, found
}

// owner returns the name of the Job that controlled the changed pod before the change, or
// controls it now. The owner may be an earlier Job of that name.
func (r Rules) owner(all Ledgers, s *cluster.Step) (types.NamespacedName, bool) {
	for _, pod := range []*corev1.Pod{s.OldPod, s.Pod} {
		if pod == nil {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			name := types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}
			return name, all[name] != nil && r.runsKindOf(owner)
		}
	}
	return types.NamespacedName{}, false
}

// controlled reports whether the named Job exists and controls the pod.
func controlled(s *cluster.Step, name types.NamespacedName) bool {
	step := s.Of(name)
	return s.OldPod != nil && ownedBy(s.OldPod, step.Job) || s.Pod != nil && ownedBy(s.Pod, step.Job)
}

// seenAs reports whether the controller may have observed the pod as controlled by the named
// Job.
func seenAs(s *cluster.Step, name types.NamespacedName) bool {
	step := s.Of(name)
	for v := range step.Views() {
		if pod := find(v.Pods, podOf(s).UID); pod != nil && ownedBy(pod, v.Job) {
			return true
		}
	}
	return false
}

func podOf(s *cluster.Step) *corev1.Pod {
	if s.OldPod != nil {
		return s.OldPod
	}
	return s.Pod
}

// inWrongSync returns a violation if a write that concerns one Job was made in the sync of
// another.
func inWrongSync(s *cluster.Step, of types.NamespacedName, what string) *Violation {
	if s.Request == nil || s.For.Name == "" || s.For == of {
		return nil
	}
	return violated("S15", "in the sync of %s %s", s.For, what)
}
