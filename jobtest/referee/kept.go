package referee

import "github.com/jobfate/jobfate/jobtest/cluster"

// These checks verify that a verdict that was acted on is kept. What shows a verdict may be gone a
// moment later: the restarts that exceed a limit count only while their pods run, and the controller
// deletes these pods. So the interim condition must be stored first. From then on the Job can end
// in no other way.

// checkDeletion checks that the interim condition is stored when the controller deletes a pod because
// the Job ends. Only these pods keep their finalizers, since they must still be counted (KEP-2307 §
// Deleted Pods). The controller may also have removed the finalizer of a pod that another client
// then orphaned, and that got a new one when it was adopted.
func (g *Ghost) checkDeletion(s *cluster.Step) *Violation {
	pod, job := s.OldPod, s.Job
	switch {
	case s.Request.Verb != cluster.Delete || !hasFinalizer(pod) || g.Adopted[pod.UID]:
	case job == nil || !ownedBy(pod, job) || job.DeletionTimestamp != nil || Decided(job):
	default:
		return violated("S22", "%s is deleted with its finalizer, but the Job has no interim condition", pod.UID)
	}
	return nil
}

// checkKept checks that a Job ends for the reason that was stored first.
func checkKept(s *cluster.Step) *Violation {
	old, now := &s.OldJob.Status, &s.Job.Status
	for i, interim := range verdicts[:2] {
		terminal := verdicts[i+2]
		reason := reasonOf(now, interim)
		if was := reasonOf(old, interim); isTrue(old, interim) && reason != was {
			return violated("S22", "the reason of %s was %q and becomes %q", interim, was, reason)
		}
		if end := reasonOf(now, terminal); isTrue(now, terminal) && end != reason {
			return violated("S22", "the reason of %s is %q, that of %s %q", interim, reason, terminal, end)
		}
	}
	return nil
}
