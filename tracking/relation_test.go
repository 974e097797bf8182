package tracking_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

func classifierOf(t interface{ Fatalf(string, ...any) }, job *batchv1.Job) *tracking.Classifier {
	c, err := tracking.ClassifierOf(job, names, tracking.Options{})
	if err != nil {
		t.Fatalf("ClassifierOf: %v", err)
	}
	return &c
}

func TestRelation(t *testing.T) {
	deletedJob := func(job *batchv1.Job) { job.DeletionTimestamp = new(After(0)) }
	finishedJob := has(batchv1.JobFailed)
	notFinishedJob := func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{Condition(batchv1.JobFailed, corev1.ConditionFalse), Condition(batchv1.JobFailureTarget, corev1.ConditionTrue)}
	}
	for _, tc := range []struct {
		reason string
		job    func(*batchv1.Job)
		pod    []Edit
		want   tracking.Relation
	}{
		{"controlled and selected", nil, nil, tracking.Owned},
		{"a Job that is being deleted still owns its pods", deletedJob, nil, tracking.Owned},
		{"a finished Job still owns its pods", finishedJob, nil, tracking.Owned},
		{"the controller reference decides, not the first reference", nil, []Edit{ControlledBy("job-uid")}, tracking.Owned},
		{"k#124798: another owner", nil, []Edit{ControlledBy("other")}, tracking.Foreign},
		{"an earlier Job of the same name", nil, []Edit{ControlledBy("job-uid-before")}, tracking.Foreign},
		{"the UID of the Job, but another name", nil, []Edit{func(pod *corev1.Pod) { pod.OwnerReferences[0].Name = "x" }}, tracking.Foreign},
		{"another namespace", nil, []Edit{func(pod *corev1.Pod) { pod.Namespace = "other" }}, tracking.Foreign},
		{"controlled, but its label was changed", nil, []Edit{Label("app", "x")}, tracking.Releasable},
		{"a finished Job releases nothing: garbage collection needs the owner reference", finishedJob, []Edit{Label("app", "x")}, tracking.Orphaned},
		{"a finished Job, and the pod has no finalizer", finishedJob, []Edit{Label("app", "x"), Released}, tracking.Foreign},
		{"a Job that is being deleted releases nothing", deletedJob, []Edit{Label("app", "x")}, tracking.Foreign},

		{"KEP-2307 § Pod adoption: according to the existing adoption criteria", nil, []Edit{Ownerless}, tracking.Adoptable},
		{"this Pod might not have a finalizer", nil, []Edit{Ownerless, Released}, tracking.Adoptable},
		{"owned, but not controlled", nil, []Edit{ControlledBy("job-uid"), func(pod *corev1.Pod) { pod.OwnerReferences[1].Controller = nil }}, tracking.Adoptable},
		{"a Job with an interim condition still adopts", notFinishedJob, []Edit{Ownerless}, tracking.Adoptable},
		{"not selected", nil, []Edit{Ownerless, Label("app", "x")}, tracking.Foreign},
		{"the pod is being deleted: freed, not adopted", nil, []Edit{Ownerless, Deleted}, tracking.Orphaned},
		{"the pod is being deleted and has no finalizer", nil, []Edit{Ownerless, Deleted, Released}, tracking.Foreign},
		{"the Job is being deleted", deletedJob, []Edit{Ownerless}, tracking.Orphaned},
		{"the Job has ended", finishedJob, []Edit{Ownerless}, tracking.Orphaned},
		{"the Job has ended, and the pod has no finalizer", finishedJob, []Edit{Ownerless, Released}, tracking.Foreign},
		{"not selected: its owner is unknown", deletedJob, []Edit{Ownerless, Label("app", "x")}, tracking.Foreign},

		{"no selector: the controller reference decides", func(job *batchv1.Job) { job.Spec.Selector = nil }, []Edit{Label("app", "x")}, tracking.Owned},
		{"no selector: nothing is adopted", func(job *batchv1.Job) { job.Spec.Selector = nil }, []Edit{Ownerless}, tracking.Foreign},
		{"an empty selector, unlike none, selects all pods", func(job *batchv1.Job) { job.Spec.Selector = &metav1.LabelSelector{} }, []Edit{Ownerless}, tracking.Adoptable},
		{"no UID: nothing is owned", func(job *batchv1.Job) { job.UID = "" }, []Edit{ControlledBy("")}, tracking.Foreign},
	} {
		job := NewJob()
		if tc.job != nil {
			tc.job(job)
		}
		Same(t, tc.reason+": Relation", classifierOf(t, job).Relation(Pod("uid", tc.pod...)), tc.want)
	}
	Same(t, "no pod: Relation", classifierOf(t, NewJob()).Relation(nil), tracking.Foreign)
	Same(t, "no pod: Selects", tracking.Selects(NewJob(), nil), false)
}

func TestRelation_names(t *testing.T) {
	for r, want := range map[tracking.Relation]string{
		tracking.Foreign: "foreign", tracking.Owned: "owned", tracking.Adoptable: "adoptable",
		tracking.Releasable: "releasable", tracking.Orphaned: "orphaned", 5: "Relation(5)", 77: "Relation(77)",
	} {
		Same(t, fmt.Sprintf("Relation(%d).String()", uint8(r)), r.String(), want)
	}
}

func TestClassifierOf_badSelector(t *testing.T) {
	job := NewJob()
	job.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	c, err := tracking.ClassifierOf(job, names, tracking.Options{})
	if want := `spec.selector: "Near" is not a valid label selector operator`; err == nil || err.Error() != want {
		t.Errorf("ClassifierOf = %v, want %s", err, want)
	}
	Same(t, "relation of a pod of the Job", c.Relation(Pod("uid")), tracking.Foreign)
}

func TestSelects(t *testing.T) {
	of := classifierOf(t, NewJob())
	if !of.Selects(labels.Set{"app": "job", "more": "x"}) || of.Selects(labels.Set{"app": "x"}) {
		t.Error("Selects differs from the selector")
	}
	if !(&tracking.Classifier{}).Selects(nil) {
		t.Error("without a selector Selects(nil) = false, want true")
	}
}

// Fields without their defaults caused panics.
func TestLesson_k121147_k122235_noJob(t *testing.T) {
	if _, err := tracking.ClassifierOf(nil, names, tracking.Options{}); err == nil {
		t.Error("ClassifierOf(nil): got no error")
	}
	Same(t, "relation to the zero Classifier", (&tracking.Classifier{}).Relation(Pod("a")), tracking.Foreign)
	Same(t, "selected by no Job", tracking.Selects(nil, Pod("a")), false)
}
