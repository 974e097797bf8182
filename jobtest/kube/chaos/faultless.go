package chaos

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/kube"
)

const overQuotaForAWhile = "quota rejects creations for a while"

// runToEnd runs everything to its end without further faults. It calls Reconcile only when
// that is due. In some schedules a quota rejects creations at first; the controller gets no
// event when that is over.
func (s *schedule) runToEnd() {
	s.NoCreations = !s.Faultless && s.Allows(overQuotaForAWhile) && s.Chance(30, "quota")
	if s.NoCreations {
		s.Happened(overQuotaForAWhile)
	}
	s.Faultless = true
	idle, afterwards := 0, 0
	for round := range patience {
		time.Sleep(time.Second)
		s.NoCreations = s.NoCreations && round < 10
		s.Log.Begin(s.Step, time.Now(), "without faults")
		kube.Collector{Server: s.server}.Run()
		s.p.showAll()
		writes := s.Writes
		ran, moved := s.runDue(), false
		if !ran {
			for _, job := range s.jobs() {
				moved = s.advanceJob(job) || moved
			}
		}
		if !ran && !moved {
			idle++
			time.Sleep(max(0, time.Until(s.nextDue())))
		}
		if s.Writes != writes || moved {
			idle = 0
		}
		if s.judge(); s.Writes != writes && s.end != "" {
			afterwards++
		}
		switch {
		case s.Broken():
			return
		case afterwards > patienceAfterwards:
			s.Violate("C4", "everything has ended (%s), but the controller still writes", s.end)
			return
		case idle >= 3 && s.end != "":
			s.rest()
			return
		}
	}
	s.Violate("C4", "after %d rounds without faults not everything has ended. The last Reconcile %v", patience,
		s.p.last)
}

// rest checks the end, and that the controller sends no more writes.
func (s *schedule) rest() {
	writes := s.Writes
	time.Sleep(time.Second)
	for _, o := range s.owners {
		s.reconcile(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	}
	switch {
	case s.Broken():
	case s.Writes != writes:
		s.Violate("C4", "everything has ended and nothing has changed since the last Reconcile, but the "+
			"controller writes")
	case s.want != "" && s.end != s.want:
		s.Violate("C3", "the end is: %s. Without faults it is: %s", s.end, s.want)
	}
}

// runDue calls Reconcile for the objects that are due, and reports whether there were any.
func (s *schedule) runDue() bool {
	ran := false
	for _, o := range s.owners {
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
		if at, ok := s.p.due[request]; ok && !at.After(time.Now()) {
			s.reconcile(request)
			ran = true
		}
	}
	return ran
}

// nextDue returns the time when Reconcile is due next; now if it is not.
func (s *schedule) nextDue() time.Time {
	next := time.Time{}
	for _, at := range s.p.due {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// jobs returns the Jobs that owners control.
func (s *schedule) jobs() []*batchv1.Job {
	return slices.DeleteFunc(kube.List[*batchv1.Job](s.server, ""), func(job *batchv1.Job) bool {
		owner := metav1.GetControllerOfNoCopy(job)
		return owner == nil || owner.Kind != s.kind.Kind
	})
}

// advanceJob sets the interim condition of a Job, or ends it. A Job that is being deleted
// no longer changes.
func (s *schedule) advanceJob(job *batchv1.Job) bool {
	if job.DeletionTimestamp != nil || len(job.Status.Conditions) > 1 {
		return false
	}
	next := batchv1.JobCondition{Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		Reason: s.Outcome(s.seed, job), Message: "as the test says"}
	switch ends := len(job.Status.Conditions) == 1; {
	case next.Reason != "" && ends:
		next.Type = batchv1.JobFailed
	case next.Reason != "":
		next.Type = batchv1.JobFailureTarget
	case ends:
		next.Type, next.Reason = batchv1.JobComplete, batchv1.JobReasonCompletionsReached
	default:
		next.Type, next.Reason = batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached
	}
	return kube.Edit(s.server, job.Namespace, job.Name,
		func(j *batchv1.Job) { j.Status.Conditions = append(j.Status.Conditions, next) })
}
