package stories

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Contradictory statuses that API servers have accepted. The next status is valid, and the Job
// runs to its end.
func TestInput_contradictoryStatuses(t *testing.T) {
	at := atMinute(0)
	for _, test := range []struct {
		name   string
		status batchv1.JobStatus
		phase  string
	}{
		{"more ready than active", batchv1.JobStatus{Active: 1, Ready: ptrTo[int32](5)}, "Complete"},
		{"more counted than completions", batchv1.JobStatus{Succeeded: 9}, "Complete"},
		{"resumed but never suspended", batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}}}, "Complete"},
		{"suspended and started", batchv1.JobStatus{StartTime: &at, Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}}, "Complete"},
		{"failed indexes without a limit per index", batchv1.JobStatus{FailedIndexes: ptrTo("1")}, "Complete"},
		{"a completion time, but not complete", batchv1.JobStatus{StartTime: &at, CompletionTime: &at}, "Complete"},
		{"about to fail, with all pods done", batchv1.JobStatus{StartTime: &at, Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "R"}}}, "Failed"},
		{"started in the future", batchv1.JobStatus{StartTime: ptrTo(metav1.NewTime(at.Add(24 * time.Hour)))}, "Complete"},
	} {
		for _, mode := range []string{"Indexed", "NonIndexed"} {
			t.Run(test.name+", "+mode, func(t *testing.T) {
				w := newWorld(t, "completions: 3\nparallelism: 3\ncompletionMode: "+mode)
				w.SetStatus(test.status)
				for range 3 {
					w.settle() // a rejected status ends the test
					for _, pod := range w.alive() {
						w.End(pod.UID, 0)
					}
				}
				w.settle()
				if last := w.Job().Status.Conditions[len(w.Job().Status.Conditions)-1]; string(last.Type) != test.phase {
					t.Errorf("it ends as %s, want %s\n%v", last.Type, test.phase, w.log)
				}
			})
		}
	}
}

// A zero time counts as unset: the API server writes it as null.
func TestInput_zeroTimes(t *testing.T) {
	w := newWorld(t, "completions: 1")
	w.settle()
	w.End("pod-1", 0)
	w.SetStatus(batchv1.JobStatus{StartTime: &metav1.Time{}, CompletionTime: &metav1.Time{}})
	w.sync() // a rejected status ends the test
	if st := w.Job().Status; st.StartTime.IsZero() || st.CompletionTime.IsZero() {
		t.Errorf("started %v, completed %v", st.StartTime, st.CompletionTime)
	}
}
