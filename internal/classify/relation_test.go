package classify_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// names holds the names of Kubernetes.
var names = tracking.Keys{}.WithDefaults()

func classifierOf(job *batchv1.Job) *classify.Classifier {
	return new(Must(classify.Of(job, names, classify.Options{})))
}

func TestRelation(t *testing.T) {
	deletedJob := func(job *batchv1.Job) { job.DeletionTimestamp = new(After(0)) }
	finishedJob := Has(batchv1.JobFailed)
	notFinishedJob := func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{No(batchv1.JobFailed), Yes(batchv1.JobFailureTarget)}
	}
	for _, tc := range []struct {
		reason string
		job    func(*batchv1.Job)
		pod    []Edit
		want   classify.Relation
	}{
		{"controlled and selected", nil, nil, classify.Owned},
		{"a Job that is being deleted still owns its pods", deletedJob, nil, classify.Owned},
		{"a finished Job still owns its pods", finishedJob, nil, classify.Owned},
		{"the controller reference decides, not the first reference", nil, []Edit{ControlledBy("job-uid")}, classify.Owned},
		{"k#124798: another owner", nil, []Edit{ControlledBy("other")}, classify.Foreign},
		{"an earlier Job of the same name", nil, []Edit{ControlledBy("job-uid-before")}, classify.Foreign},
		{"the UID of the Job, but another name", nil, []Edit{func(pod *corev1.Pod) { pod.OwnerReferences[0].Name = "x" }}, classify.Foreign},
		{"another namespace", nil, []Edit{func(pod *corev1.Pod) { pod.Namespace = "other" }}, classify.Foreign},
		{"controlled, but its label was changed", nil, []Edit{Label("app", "x")}, classify.Releasable},
		{"a finished Job releases nothing: garbage collection needs the owner reference", finishedJob, []Edit{Label("app", "x")}, classify.Orphaned},
		{"a finished Job, and the pod has no finalizer", finishedJob, []Edit{Label("app", "x"), Released}, classify.Foreign},
		{"a Job that is being deleted releases nothing", deletedJob, []Edit{Label("app", "x")}, classify.Foreign},

		{"KEP-2307 § Pod adoption: according to the existing adoption criteria", nil, []Edit{Ownerless}, classify.Adoptable},
		{"this Pod might not have a finalizer", nil, []Edit{Ownerless, Released}, classify.Adoptable},
		{"owned, but not controlled", nil, []Edit{ControlledBy("job-uid"), func(pod *corev1.Pod) { pod.OwnerReferences[1].Controller = nil }}, classify.Adoptable},
		{"a Job with an interim condition still adopts", notFinishedJob, []Edit{Ownerless}, classify.Adoptable},
		{"not selected", nil, []Edit{Ownerless, Label("app", "x")}, classify.Foreign},
		{"the pod is being deleted: freed, not adopted", nil, []Edit{Ownerless, Deleted}, classify.Orphaned},
		{"the pod is being deleted and has no finalizer", nil, []Edit{Ownerless, Deleted, Released}, classify.Foreign},
		{"the Job is being deleted", deletedJob, []Edit{Ownerless}, classify.Orphaned},
		{"the Job has ended", finishedJob, []Edit{Ownerless}, classify.Orphaned},
		{"the Job has ended, and the pod has no finalizer", finishedJob, []Edit{Ownerless, Released}, classify.Foreign},
		{"not selected: its owner is unknown", deletedJob, []Edit{Ownerless, Label("app", "x")}, classify.Foreign},

		{"no selector: the controller reference decides", func(job *batchv1.Job) { job.Spec.Selector = nil }, []Edit{Label("app", "x")}, classify.Owned},
		{"no selector: nothing is adopted", func(job *batchv1.Job) { job.Spec.Selector = nil }, []Edit{Ownerless}, classify.Foreign},
		{"an empty selector, unlike none, selects all pods", func(job *batchv1.Job) { job.Spec.Selector = &metav1.LabelSelector{} }, []Edit{Ownerless}, classify.Adoptable},
		{"no UID: nothing is owned", func(job *batchv1.Job) { job.UID = "" }, []Edit{ControlledBy("")}, classify.Foreign},
	} {
		job := NewJob()
		if tc.job != nil {
			tc.job(job)
		}
		Same(t, tc.reason+": Relation", classifierOf(job).Relation(Pod("uid", tc.pod...)), tc.want)
	}
	Same(t, "no pod: Relation", classifierOf(NewJob()).Relation(nil), classify.Foreign)
	Same(t, "no pod: Selects", classify.Selects(NewJob(), nil), false)
}

func TestOf_badSelector(t *testing.T) {
	job := NewJob()
	job.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	c, err := classify.Of(job, names, classify.Options{})
	if want := `spec.selector: "Near" is not a valid label selector operator`; err == nil || err.Error() != want {
		t.Errorf("Of = %v, want %s", err, want)
	}
	Same(t, "relation of a pod of the Job", c.Relation(Pod("uid")), classify.Foreign)
}

// Fields without their defaults caused panics.
func TestLesson_k121147_k122235_noJob(t *testing.T) {
	if _, err := classify.Of(nil, names, classify.Options{}); err == nil {
		t.Error("Of(nil): got no error")
	}
	Same(t, "relation to the zero Classifier", (&classify.Classifier{}).Relation(Pod("a")), classify.Foreign)
	Same(t, "selected without a selector", (&classify.Classifier{}).Selects(nil), true)
	Same(t, "selected by no Job", classify.Selects(nil, Pod("a")), false)
}
