package chaos

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/kube"
)

// judge calls Judge if anything has changed.
func (s *schedule) judge() {
	if s.judged == s.server.Revision() || s.Broken() {
		return
	}
	s.judged = s.server.Revision()
	s.stored.CatchUp()
	end, err := s.Judge(s.stored)
	if s.end = end; err != nil {
		s.Violate("own", "%v", err)
	}
}

// observe handles every change.
func (s *schedule) observe(c kube.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := cmp.Or(c.New, c.Old)
	kind := gvkOf(o)
	if kind.Kind == "Event" {
		return
	}
	if !slices.Contains(s.kinds, kind) {
		s.kinds = append(s.kinds, kind)
	}
	if kind == s.kind {
		s.uids[o.GetUID()] = types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	}
	by := c.Request != nil && c.Request.UserAgent == agent
	if s.Log.On {
		s.Log.Say("%s%s", map[bool]string{true: "writes: "}[by], s.changeLine(&c))
	}
	if by {
		s.Writes++
		s.checkOwner(&c)
	}
	if job, ok := o.(*batchv1.Job); ok {
		s.checkPurpose(&c, job, by)
	}
}

// checkOwner checks that the controller writes only to the object that it reconciles, and
// to objects which that object controls.
func (s *schedule) checkOwner(c *kube.Change) {
	o := cmp.Or(c.Old, c.New)
	if gvkOf(o) == s.kind {
		if s.uids[o.GetUID()] != s.p.request.NamespacedName {
			s.Violate("C2", "Reconcile for %s writes to %s", s.p.request, nameOf(o))
		}
		return
	}
	owner := metav1.GetControllerOfNoCopy(o)
	switch {
	case owner != nil && s.uids[owner.UID] == s.p.request.NamespacedName:
	case c.Old == nil:
		s.Violate("C2", "Reconcile for %s creates %s without it as the controller", s.p.request, nameOf(o))
	default:
		s.Violate("C2", "Reconcile for %s writes to %s, which it does not control", s.p.request, nameOf(o))
	}
}

// checkPurpose checks that each Job is created once.
func (s *schedule) checkPurpose(c *kube.Change, job *batchv1.Job, by bool) {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil {
		return
	}
	of := string(owner.UID) + " " + s.Purpose(job)
	last := s.made[of]
	switch {
	case c.Old == nil && by:
		if last != nil && !last.gone {
			s.Violate("C1", "%s is the second Job for %s, after %s", job.Name, s.Purpose(job), last.name)
		}
		s.made[of] = &purpose{job.Name, job.UID, false}
	case c.Old != nil && !by && last != nil && last.uid == job.UID && c.Old.GetDeletionTimestamp() == nil:
		last.gone = last.gone || c.New == nil || c.New.GetDeletionTimestamp() != nil
	}
}
