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

// Ledgers are the ghosts of the Jobs of a cluster, by the names of the Jobs.
type Ledgers map[types.NamespacedName]*Ghost

// Judge looks at one change of a cluster with several Jobs, as See does for one. Each Job is
// judged by its own ghost: a write to a pod by that of the Job that controls it. A write to a
// pod without a controller is right if it is for one of the Jobs. What a controller does
// while it syncs a Job must not concern another one. Judge returns the Job whose property
// does not hold.
func (r Rules) Judge(all Ledgers, s *cluster.Step) (types.NamespacedName, *Violation) {
	if of := s.Name(); of.Name != "" {
		if v := strays(s, of, "the status of "+of.String()+" is stored"); v != nil {
			return of, v
		}
		return of, r.seeFor(all, s, of)
	}
	of, known := r.owner(all, s)
	switch {
	case s.Request == nil && known:
		return of, r.seeFor(all, s, of)
	case s.Request == nil:
		for name := range all {
			_ = r.seeFor(all, s, name) // what others do breaks nothing
		}
		return of, nil
	case known:
		if controlled(s, of) {
			if s.For != of && seenAs(s, s.For) {
				// The pod has changed hands since: to its Job this is what others do to it.
				other := *s
				other.Request = nil
				return of, r.seeFor(all, &other, of)
			}
			if v := strays(s, of, "a "+string(s.Request.Verb)+" of "+string(podOf(s).UID)+", which belongs to "+of.String()+", is asked for"); v != nil {
				return of, v
			}
		}
		return of, r.seeFor(all, s, of)
	}
	return r.seeForAny(all, s)
}

// seeFor judges a step by the ghost of one Job.
func (r Rules) seeFor(all Ledgers, s *cluster.Step, name types.NamespacedName) *Violation {
	step := s.Of(name)
	return r.See(all[name], &step)
}

// seeForAny judges a write to a pod that no Job of the cluster controls: it is right for the
// first Job of which it is. If there is none, the Job that was synced breaks the property.
func (r Rules) seeForAny(all Ledgers, s *cluster.Step) (of types.NamespacedName, found *Violation) {
	names := slices.SortedFunc(maps.Keys(all), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range names {
		before := all[name].Clone()
		v := r.seeFor(all, s, name)
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

// owner returns the Job that controls the pod that has changed, or controls it now; by name,
// so that it may be a predecessor of the Job that there is.
func (r Rules) owner(all Ledgers, s *cluster.Step) (types.NamespacedName, bool) {
	for _, pod := range []*corev1.Pod{s.OldPod, s.Pod} {
		if pod == nil {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			name := types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}
			return name, all[name] != nil && r.treats(owner)
		}
	}
	return types.NamespacedName{}, false
}

// controlled reports whether the Job of a name exists and controls the pod.
func controlled(s *cluster.Step, name types.NamespacedName) bool {
	step := s.Of(name)
	return s.OldPod != nil && ownedBy(s.OldPod, step.Job) || s.Pod != nil && ownedBy(s.Pod, step.Job)
}

// seenAs reports whether the controller may have seen the pod as one of the Job of a name.
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

// strays returns a violation if a write that concerns a Job was made in the sync of another.
func strays(s *cluster.Step, of types.NamespacedName, what string) *Violation {
	if s.Request == nil || s.For.Name == "" || s.For == of {
		return nil
	}
	return violated("S15", "in the sync of %s %s", s.For, what)
}
