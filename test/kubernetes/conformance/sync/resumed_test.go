package sync

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// The divergence whole-status can change the verdict. A Job that was created suspended is being
// deleted when it is resumed. It keeps its condition Suspended, so only its start time changes. The
// real controller does not write that, so for it the deadline never passes. jobfate stores it, and
// the Job fails at its deadline, as with the real controller if the start time is stored.
func TestDivergence_deadlineOfADeletedJobThatIsResumed(t *testing.T) {
	resumed := func(change ...func(*trial)) *trial {
		suspended := conditions(batchv1.JobSuspended, corev1.ConditionTrue)
		return newTrial(append([]func(*trial){suspended, onJob(func(j *batchv1.Job) {
			j.DeletionTimestamp, j.Finalizers = new(at(-10)), []string{"example.com/keep"}
			j.Spec.ActiveDeadlineSeconds, j.Status.StartTime = new(int64(60)), nil
		})}, change...)...)
	}
	late := func(c *trial) { c.snapshot.Now = c.snapshot.Now.Add(time.Hour) }
	for name, change := range map[string]func(*trial){"resumed": func(*trial) {}, "an hour later": late} {
		if out := real.Sync(resumed(change).input()); len(out.Statuses()) > 0 || len(out.Events) > 0 {
			t.Errorf("%s: the real controller writes %+v, events %v; want nothing", name, out.Statuses(), out.Events)
		}
	}
	stored := mustDecide(t, resumed()).decision.Status
	if stored == nil || !stored.StartTime.Equal(new(at(0))) || len(stored.Conditions) != 1 {
		t.Fatalf("jobfate stores %+v, want the start time alone", stored)
	}
	c := resumed(late, func(c *trial) { c.snapshot.Job.Status = *stored.DeepCopy() })
	o := sameOnBothSides(t, c)
	conditions := o.Statuses[len(o.Statuses)-1].Status.Conditions
	if end := conditions[len(conditions)-1]; end.Type != batchv1.JobFailed || end.Reason != batchv1.JobReasonDeadlineExceeded || len(o.Events) == 0 {
		t.Errorf("an hour later jobfate stores %+v, events %v; want Failed with DeadlineExceeded", end, o.Events)
	}
}
