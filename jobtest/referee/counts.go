package referee

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// checkActive checks that a status has no more active pods than the controller has observed or
// created. A pod that it has just created exists, unless another client removed its
// finalizer. Pods that it has deleted are no longer active, even if its cache lags. Writes that
// the view shows need no assumption any more.
func (g *Ghost) checkActive(s *cluster.Step) *Violation {
	g.observe(s.View)
	most, deleted := int32(0), int32(0)
	if g.Behind || g.StateLost {
		return nil
	}
	count := func(pod *corev1.Pod) {
		if most++; g.Deleted[pod.UID] {
			deleted++
		}
	}
	for _, pod := range s.View.Pods {
		if cluster.IsActive(pod) && concerns(pod, s.Job) {
			count(pod)
		}
	}
	if s.Job.Status.Active <= most-deleted {
		return nil
	}
	for _, pod := range s.Pods() {
		// A pod that the controller observed as owned by another Job was adopted after a later
		// read. A pod that it has created may be an orphan by now.
		seen := find(s.View.Pods, pod.UID)
		if seen == nil && concerns(pod, s.Job) || seen != nil && !concerns(seen, s.Job) && ownedBy(pod, s.Job) {
			count(pod)
		}
	}
	switch active := s.Job.Status.Active; {
	case active > most:
		return violated("S10", "active is %d, but at most %d pods can be active", active, most)
	case active > most-deleted:
		return violated("S21", "active is %d, but the controller has deleted %d of %d pods", active, deleted, most)
	}
	return nil
}

// checkKnown checks that a status leaves out no pod that the controller has created, deleted or
// observed, even if its cache lags: while such a pod runs it is counted as active, and from its
// deletion to its end as terminating. A status then contradicts the last one only if the pods
// have changed.
func (g *Ghost) checkKnown(s *cluster.Step) *Violation {
	if g.Behind || g.StateLost {
		return nil
	}
	active, terminating := int32(0), int32(0)
	for _, pod := range s.Pods() {
		seen := find(s.View.Pods, pod.UID)
		switch known := seen != nil || !g.Unknown[pod.UID]; {
		case !known || g.Tampered[pod.UID] || !ownedBy(pod, s.Job) || cluster.HasEnded(pod):
		case pod.DeletionTimestamp == nil:
			active++
		case g.Deleted[pod.UID] || seen != nil && seen.DeletionTimestamp != nil:
			terminating++
		}
	}
	st := &s.Job.Status
	switch {
	case st.Active < active:
		return violated("S21",
			"active is %d, but the controller has created or observed %d pods that are active", st.Active, active)
	case st.Terminating != nil && *st.Terminating < terminating:
		return violated("S21", "terminating is %d, but the controller has deleted or observed %d pods that "+
			"are terminating", *st.Terminating, terminating)
	}
	return nil
}
