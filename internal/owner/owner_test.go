package owner_test

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/owner"
	"github.com/jobfate/jobfate/internal/podtest"
)

type edit = podtest.Edit

var (
	after        = podtest.After
	newJob       = podtest.Job
	newPod       = podtest.Pod
	deleted      = podtest.Deleted
	released     = podtest.Released
	ownerless    = podtest.Ownerless
	controlledBy = podtest.ControlledBy
	label        = podtest.Label
	condition    = podtest.Condition
	same         = podtest.Same
)

func ptrTo[T any](v T) *T { return &v }

func ownerOf(t interface{ Fatalf(string, ...any) }, job *batchv1.Job) owner.Owner {
	of, err := owner.Of(job, keys.Keys{})
	if err != nil {
		t.Fatalf("owner.Of: %v", err)
	}
	return of
}

func oneIn(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(1, n).Draw(t, label) == n
}

func TestRelation(t *testing.T) {
	deletedJob := func(job *batchv1.Job) { job.DeletionTimestamp = ptrTo(after(0)) }
	finishedJob := func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailed, corev1.ConditionTrue)}
	}
	notFinishedJob := func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailed, corev1.ConditionFalse), condition(batchv1.JobFailureTarget, corev1.ConditionTrue)}
	}
	for _, tc := range []struct {
		reason string
		job    func(*batchv1.Job)
		pod    []edit
		want   owner.Relation
	}{
		{"controlled and selected", nil, nil, owner.Owned},
		{"a Job that is being deleted still owns its pods", deletedJob, nil, owner.Owned},
		{"a finished Job still owns its pods", finishedJob, nil, owner.Owned},
		{"the controller reference decides, not the first reference", nil, []edit{controlledBy("job-uid")}, owner.Owned},
		{"k#124798: another owner", nil, []edit{controlledBy("other")}, owner.Foreign},
		{"an earlier Job of the same name", nil, []edit{controlledBy("job-uid-before")}, owner.Foreign},
		{"another namespace", nil, []edit{func(pod *corev1.Pod) { pod.Namespace = "other" }}, owner.Foreign},
		{"controlled, but its label was changed", nil, []edit{label("app", "x")}, owner.Releasable},
		{"a finished Job releases nothing: garbage collection needs the owner reference", finishedJob, []edit{label("app", "x")}, owner.Orphaned},
		{"a finished Job, and the pod has no finalizer", finishedJob, []edit{label("app", "x"), released}, owner.Foreign},
		{"a Job that is being deleted releases nothing", deletedJob, []edit{label("app", "x")}, owner.Foreign},

		{"KEP-2307 § Pod adoption: according to the existing adoption criteria", nil, []edit{ownerless}, owner.Adoptable},
		{"this Pod might not have a finalizer", nil, []edit{ownerless, released}, owner.Adoptable},
		{"owned, but not controlled", nil, []edit{controlledBy("job-uid"), func(pod *corev1.Pod) { pod.OwnerReferences[1].Controller = nil }}, owner.Adoptable},
		{"a Job with an interim condition still adopts", notFinishedJob, []edit{ownerless}, owner.Adoptable},
		{"not selected", nil, []edit{ownerless, label("app", "x")}, owner.Foreign},
		{"the pod is being deleted: freed, not adopted", nil, []edit{ownerless, deleted}, owner.Orphaned},
		{"the pod is being deleted and has no finalizer", nil, []edit{ownerless, deleted, released}, owner.Foreign},
		{"the Job is being deleted", deletedJob, []edit{ownerless}, owner.Orphaned},
		{"the Job has ended", finishedJob, []edit{ownerless}, owner.Orphaned},
		{"the Job has ended, and the pod has no finalizer", finishedJob, []edit{ownerless, released}, owner.Foreign},
		{"not selected: its owner is unknown", deletedJob, []edit{ownerless, label("app", "x")}, owner.Foreign},

		{"no selector: the controller reference decides", func(job *batchv1.Job) { job.Spec.Selector = nil }, []edit{label("app", "x")}, owner.Owned},
		{"no selector: nothing is adopted", func(job *batchv1.Job) { job.Spec.Selector = nil }, []edit{ownerless}, owner.Foreign},
		{"an empty selector, unlike none, selects all pods", func(job *batchv1.Job) { job.Spec.Selector = &metav1.LabelSelector{} }, []edit{ownerless}, owner.Adoptable},
		{"no UID: nothing is owned", func(job *batchv1.Job) { job.UID = "" }, []edit{controlledBy("")}, owner.Foreign},
	} {
		job := newJob()
		if tc.job != nil {
			tc.job(job)
		}
		if got := ownerOf(t, job).Relation(newPod("uid", tc.pod...)); got != tc.want {
			t.Errorf("%s: Relation = %v, want %v", tc.reason, got, tc.want)
		}
	}
}

func TestRelation_names(t *testing.T) {
	for r, want := range map[owner.Relation]string{
		owner.Foreign: "foreign", owner.Owned: "owned", owner.Adoptable: "adoptable",
		owner.Releasable: "releasable", owner.Orphaned: "orphaned", 5: "Relation(5)", 77: "Relation(77)",
	} {
		if got := r.String(); got != want {
			t.Errorf("Relation(%d).String() = %q, want %q", uint8(r), got, want)
		}
	}
}

func TestOf_badSelector(t *testing.T) {
	job := newJob()
	job.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	_, err := owner.Of(job, keys.Keys{})
	if want := `spec.selector: "Near" is not a valid label selector operator`; err == nil || err.Error() != want {
		t.Errorf("Of = %v, want %s", err, want)
	}
}

func TestSelects(t *testing.T) {
	of := ownerOf(t, newJob())
	if !of.Selects(labels.Set{"app": "job", "more": "x"}) || of.Selects(labels.Set{"app": "x"}) {
		t.Error("Selects differs from the selector")
	}
	if !(owner.Owner{}).Selects(nil) {
		t.Error("without a selector Selects(nil) = false, want true")
	}
}

// slowRelation is a slow and obvious implementation of Relation.
func slowRelation(job *batchv1.Job, pod *corev1.Pod) owner.Relation {
	var controllers []types.UID
	for _, ref := range pod.OwnerReferences {
		if ref.Controller != nil && *ref.Controller {
			controllers = append(controllers, ref.UID)
		}
	}
	hasSelector := job.Spec.Selector != nil
	selected := hasSelector && pod.Labels["app"] == job.Spec.Selector.MatchLabels["app"]
	ended := slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == "True" && (c.Type == "Complete" || c.Type == "Failed")
	})
	deleting := job.DeletionTimestamp != nil
	finalizer := slices.Contains(pod.Finalizers, "batch.kubernetes.io/job-tracking")
	switch {
	case job.Namespace != pod.Namespace:
		return owner.Foreign
	case len(controllers) > 0 && controllers[0] != job.UID:
		return owner.Foreign
	case len(controllers) > 0 && (selected || !hasSelector):
		return owner.Owned
	case len(controllers) > 0 && !deleting && !ended:
		return owner.Releasable
	case len(controllers) > 0 && ended && finalizer:
		return owner.Orphaned
	case len(controllers) > 0 || !selected:
		return owner.Foreign
	case !deleting && !ended && pod.DeletionTimestamp == nil:
		return owner.Adoptable
	case finalizer:
		return owner.Orphaned
	}
	return owner.Foreign
}

func TestRandom_relation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flip := rapid.Bool()
		job, pod := newJob(), newPod("uid", label("app", rapid.SampledFrom([]string{"job", "job", "x"}).Draw(t, "label")))
		if flip.Draw(t, "job deleted") {
			job.DeletionTimestamp = ptrTo(after(0))
		}
		if oneIn(t, 4, "no selector") {
			job.Spec.Selector = nil
		}
		for range rapid.IntRange(0, 2).Draw(t, "conditions") {
			job.Status.Conditions = append(job.Status.Conditions, condition(
				rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget}).Draw(t, "condition"),
				rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "status")))
		}
		if oneIn(t, 5, "other namespace") {
			pod.Namespace = "other"
		}
		if flip.Draw(t, "pod deleted") {
			deleted(pod)
		}
		if flip.Draw(t, "released") {
			released(pod)
		}
		pod.OwnerReferences = nil
		for range rapid.IntRange(0, 2).Draw(t, "references") {
			ref := metav1.OwnerReference{UID: rapid.SampledFrom([]types.UID{"job-uid", "job-uid", "other"}).Draw(t, "owner")}
			if flip.Draw(t, "controller set") {
				ref.Controller = ptrTo(rapid.IntRange(0, 2).Draw(t, "controller") > 0)
			}
			pod.OwnerReferences = append(pod.OwnerReferences, ref)
		}
		same(t, "Relation", ownerOf(t, job).Relation(pod).String(), slowRelation(job, pod).String())
	})
}

// The finalizer of an orphan was never removed, or its removal was not retried. Here the
// pod stays orphaned until the removal succeeds.
func TestLesson_k108645_k109429_k141329_orphansStayOrphanedUntilFreed(t *testing.T) {
	for name, state := range map[string]func(*batchv1.Job){
		"finished": func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobComplete, corev1.ConditionTrue)}
		},
		"deleted": func(job *batchv1.Job) { job.DeletionTimestamp = ptrTo(after(0)) },
	} {
		job := newJob()
		state(job)
		orphan := newPod("orphan", ownerless)
		for try := range 3 {
			if got := ownerOf(t, job).Relation(orphan); got != owner.Orphaned {
				t.Errorf("%s Job, try %d: the pod is %v, want orphaned", name, try, got)
			}
		}
		released(orphan)
		if got := ownerOf(t, job).Relation(orphan); got != owner.Foreign {
			t.Errorf("%s Job: the freed pod is %v, want foreign", name, got)
		}
	}
}

// The Job controller removed the finalizer from pods of another controller.
func TestLesson_k124798_otherOwners(t *testing.T) {
	other := newPod("other", controlledBy("other"), deleted)
	other.OwnerReferences[1].APIVersion = "example.com/v1"
	if got := ownerOf(t, newJob()).Relation(other); got != owner.Foreign {
		t.Errorf("the pod is %v, want foreign", got)
	}
}

// Fields without their defaults caused panics.
func TestLesson_k121147_k122235_nothingPanics(t *testing.T) {
	if _, err := owner.Of(nil, keys.Keys{}); err == nil {
		t.Error("Of(nil): got no error")
	}
	same(t, "relation to the zero Owner", owner.Owner{}.Relation(newPod("a")), owner.Foreign)
}
