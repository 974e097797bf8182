package decide

import (
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// Revise begins with the plan, whatever the caller has done with the lists.
func TestDecide_listsAreTheCallers(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 2"+indexed)
	d := Must(Job(s.Snapshot))
	d.Create[0].Index = 7
	Same(t, "index in the revised decision", d.Revise(Undone{}).Create[0].Index, 0)
	s.pod("a", 1, corev1.PodRunning, 0)
	s.pod("b", 2, corev1.PodRunning, 0)
	d = Must(Job(s.Snapshot))
	surplus := d.Delete[0].Pod
	d.Delete[0].Pod = nil
	Same(t, "pod in the revised decision", d.Revise(Undone{}).Delete[0].Pod, surplus)
}

// Settle goes on from the status that the caller stores, with what it has added.
func TestSettle_keepsWhatTheCallerAdds(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 2")
	s.pod("a", 1, corev1.PodFailed, 0)
	d := s.outcome(t)
	d.Status.Conditions = append(d.Status.Conditions, Yes("Checked"))
	settled := d.Settle("a").Status
	if n := len(settled.Conditions); n != 1 || settled.Conditions[0].Type != "Checked" || settled.Failed != 1 {
		t.Errorf("got %s, want one failure and the condition Checked", ToJSON(settled))
	}
}

// The status counts each pod in flight once: a created pod that the cache shows is active, a deleted
// one that it shows as terminating or finished is no longer active.
func TestCounts_shownWritesInFlight(t *testing.T) {
	s := newScene(t, "parallelism: 9\ncompletions: 9")
	s.pod("created", 1, corev1.PodRunning, 0)
	s.pod("deleted", 2, corev1.PodRunning, 0)
	s.pod("terminating", 3, corev1.PodRunning, 0, s.deletedAt(0))
	s.pod("finished", 4, corev1.PodSucceeded, 0)
	s.InFlight.Pods = []PodInFlight{{UID: "unknown"}}
	for _, pod := range s.Pods {
		s.InFlight.Pods = append(s.InFlight.Pods, PodInFlight{UID: pod.UID, Deleted: pod.Name != "created"})
	}
	s.InFlight.Creations, s.InFlight.Deletions = 2, 3
	Same(t, "counts", s.outcome(t).made.after, counts{Active: 2, Ready: 1, Terminating: 2})
}

// Ending is how the Job ends, and EndStored says that the status says so already.
func TestFacts_ending(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*scene)
		ending batchv1.JobConditionType
		stored bool
	}{
		"goes on":     {func(*scene) {}, "", false},
		"ends now":    {func(s *scene) { s.pod("a", 1, corev1.PodSucceeded, 0) }, batchv1.JobSuccessCriteriaMet, false},
		"was decided": {func(s *scene) { s.condition(batchv1.JobFailureTarget) }, batchv1.JobFailureTarget, true},
	} {
		s := newScene(t, "parallelism: 1\ncompletions: 1")
		tc.change(s)
		f := s.outcome(t).Facts()
		Same(t, name+": ending", f.End.Condition.Type, tc.ending)
		Same(t, name+": has a status", f.End.Condition.Status == corev1.ConditionTrue, tc.ending != "")
		Same(t, name+": is stored", f.EndStored(), tc.stored)
	}
}

// The next pod of an index replaces its failed pod.
func TestFacts_predecessor(t *testing.T) {
	s := newScene(t, "parallelism: 2\ncompletions: 2\nbackoffLimitPerIndex: 1"+indexed)
	failed := s.pod("a", 1, corev1.PodFailed, 0)
	f := s.outcome(t).Facts()
	Same(t, "the predecessor of index 0 is pod a", f.Predecessor(0).Pod == failed, true)
	Same(t, "the predecessor of index 1", f.Predecessor(1), nil)
}

// An InputError that a caller makes without fields does not panic.
func TestInputError_withoutFields(t *testing.T) {
	err := &InputError{}
	var one *field.Error
	if err.Error() == "" || errors.As(error(err), &one) {
		t.Errorf("got %q and the field %v, want a text and no field", err, one)
	}
}

// Options as one option replace those before them, and those after them change them.
func TestOptions(t *testing.T) {
	inner := Options(ManagedBy("inner"), BatchPeriod(time.Minute))
	before := Options(ManagedBy("before"), BatchPeriod(time.Hour), inner)
	after := Options(inner, ManagedBy("after"))
	for name, o := range map[string]Option{"inner": before, "after": after} {
		if got := o.Controller().Name; got != name || o.BatchPeriod() != time.Minute {
			t.Errorf("got %q and %v, want %q and %v", got, o.BatchPeriod(), name, time.Minute)
		}
	}
}
