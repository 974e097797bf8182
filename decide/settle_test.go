package decide

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// ignoring returns a scene of a failing Job with failed pods that a rule ignores, so that no list holds them.
func ignoring(t *testing.T, names ...string) *scene {
	s := newScene(t, "parallelism: 1\ncompletions: 1")
	s.Job.Spec.PodFailurePolicy = ExitCodePolicy()
	s.Job.Status.StartTime = s.stored(0)
	s.condition(batchv1.JobFailureTarget)
	for _, name := range names {
		s.pod(name, 1, corev1.PodFailed, 0).Status.ContainerStatuses[0].State.Terminated.ExitCode = ExitIgnore
	}
	return s
}

// The Job ends once the finalizers of all its pods are gone: of those in Strip, and of those that a cap leaves.
func TestSettle_waitsForEveryFinalizer(t *testing.T) {
	d := ignoring(t, "a").outcome(t)
	Same(t, "finished before, and after", []bool{d.Settle().Finished, d.Settle("a").Finished}, []bool{false, true})
	s := ignoring(t, "a", "b")
	s.config.RemovalsCap = 1
	d = s.outcome(t)
	Same(t, "finished while a cap leaves a pod", d.Settle(UIDsOf(d.Strip)...).Finished, false)
}

// A status that the throttle puts off is not settled either.
func TestSettle_whilePutOff(t *testing.T) {
	s := newScene(t, "parallelism: 2\ncompletions: 3")
	s.Job.Status.StartTime, s.LastStatus, s.Now = s.stored(0), s.at(0), s.at(4)
	s.config.Throttle.Every, s.config.Throttle.Share = 10*time.Second, 1
	s.pod("a", 1, corev1.PodSucceeded, 2)
	Same(t, "settled", s.outcome(t).Settle("a"), Settled{})
}

// What a caller changes in one result is not in another: that of Settle, of Revise, and the facts.
func TestSettle_andReviseShareNothing(t *testing.T) {
	s := newScene(t, "parallelism: 2\ncompletions: 5\nsuspend: false")
	s.Job.Status.Conditions = []batchv1.JobCondition{Yes("Own")}
	s.pod("a", 1, corev1.PodFailed, 0)
	s.Now = s.at(60)
	d := s.outcome(t)
	settled := d.Settle("a").Status
	settled.Conditions[0].Reason = "changed"
	Same(t, "the reason in the decision", d.Status.Conditions[0].Reason, "OwnReason")
	d.Status.Conditions[0].Reason, d.Status.Active = "changed", 99
	Same(t, "in the facts", []any{d.Facts().Status.Conditions[0].Reason, d.Facts().Status.Active}, []any{"OwnReason", int32(2)})
	active := d.made.status.Active
	revised := d.Revise(Undone{Creations: 2})
	Same(t, "active in the decision, and in the revised one", []int32{d.made.status.Active, revised.made.status.Active}, []int32{active, 0})
	revised.Create[0].Index = 7
	Same(t, "the index in another revision", d.Revise(Undone{}).Create[0].Index, int32(-1))

	s.condition(batchv1.JobComplete)
	ended := s.outcome(t)
	ended.Revise(Undone{}).Strip[0] = nil
	Same(t, "the pod in the decision about an ended Job", ended.Strip[0], s.Pods[0])
}

// The start time of a new Job is now. That of a Job that has started stays.
func TestStatus_startTime(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 1")
	Same(t, "the start", s.outcome(t).Status.StartTime.Time.Equal(s.Now), true)
	s.Job.Status.StartTime = &metav1.Time{} // the API server writes it as null
	Same(t, "the start with a zero time", s.outcome(t).Status.StartTime.Time.Equal(s.Now), true)
	s.Job.Status.StartTime, s.Now = s.stored(2), s.at(9)
	Same(t, "the start later", s.outcome(t).Status.StartTime.Time.Equal(s.at(2)), true)
}

// The event says which of the two has happened.
func TestSuspend_events(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 1\nsuspend: true")
	d := s.outcome(t)
	Same(t, "suspended", d.Events, []Event{{corev1.EventTypeNormal, "Suspended", "Job suspended"}})
	s.Job.Status = *d.Status
	*s.Job.Spec.Suspend = false
	Same(t, "resumed", s.outcome(t).Events, []Event{{corev1.EventTypeNormal, "Resumed", "Job resumed"}})
}

// In doubt, a failure that was counted before may be later than one that is not counted yet. The later one counts.
func TestBackoff_inDoubtWithALaterFailure(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 5\nbackoffLimit: 9")
	s.Job.Status.Failed, s.Backoff, s.Now = 1, backoff.Record{}, s.at(31)
	s.pod("counted", 1, corev1.PodFailed, 30, Released)
	s.pod("new", 1, corev1.PodFailed, 20)
	Same(t, "the record", s.outcome(t).Backoff, backoff.Record{Job: s.Job.UID, Failures: 2, LastFailure: s.at(30)})
}
