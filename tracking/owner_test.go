package tracking_test

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/tracking"
)

func ownerOf(t interface{ Fatalf(string, ...any) }, job *batchv1.Job) tracking.Owner {
	owner, err := tracking.OwnerOf(job)
	if err != nil {
		t.Fatalf("OwnerOf: %v", err)
	}
	return owner
}

func controlledBy(uid types.UID) edit {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "config", Controller: ptrTo(false)},
			{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: uid, Controller: ptrTo(true)},
		}
	}
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
		want   tracking.Relation
	}{
		{"controlled and selected", nil, nil, tracking.Owned},
		{"a Job that is being deleted still owns its pods", deletedJob, nil, tracking.Owned},
		{"and so does a finished one", finishedJob, nil, tracking.Owned},
		{"the controller reference decides, not the first one", nil, []edit{controlledBy("job-uid")}, tracking.Owned},
		{"k#124798: somebody else's", nil, []edit{controlledBy("other")}, tracking.Foreign},
		{"an earlier Job of the same name", nil, []edit{controlledBy("job-uid-before")}, tracking.Foreign},
		{"another namespace", nil, []edit{func(pod *corev1.Pod) { pod.Namespace = "other" }}, tracking.Foreign},
		{"controlled, but its label was changed", nil, []edit{label("app", "x")}, tracking.Releasable},
		{"a finished Job releases nothing: garbage collection needs the owner reference", finishedJob, []edit{label("app", "x")}, tracking.Orphaned},
		{"and has nothing to free", finishedJob, []edit{label("app", "x"), released}, tracking.Foreign},
		{"a Job that is being deleted releases nothing", deletedJob, []edit{label("app", "x")}, tracking.Foreign},

		{"KEP-2307 § Pod adoption: according to the existing adoption criteria", nil, []edit{ownerless}, tracking.Adoptable},
		{"this Pod might not have a finalizer", nil, []edit{ownerless, released}, tracking.Adoptable},
		{"owned, but not controlled", nil, []edit{controlledBy("job-uid"), func(pod *corev1.Pod) { pod.OwnerReferences[1].Controller = nil }}, tracking.Adoptable},
		{"an interim condition ends nothing yet", notFinishedJob, []edit{ownerless}, tracking.Adoptable},
		{"not selected", nil, []edit{ownerless, label("app", "x")}, tracking.Foreign},
		{"being deleted: not adopted, freed", nil, []edit{ownerless, deleted}, tracking.Orphaned},
		{"being deleted and free already", nil, []edit{ownerless, deleted, released}, tracking.Foreign},
		{"the Job is being deleted", deletedJob, []edit{ownerless}, tracking.Orphaned},
		{"the Job has ended", finishedJob, []edit{ownerless}, tracking.Orphaned},
		{"the Job has ended, free already", finishedJob, []edit{ownerless, released}, tracking.Foreign},
		{"not selected: nobody knows whose it was", deletedJob, []edit{ownerless, label("app", "x")}, tracking.Foreign},

		{"no selector: the controller reference decides", func(job *batchv1.Job) { job.Spec.Selector = nil }, []edit{label("app", "x")}, tracking.Owned},
		{"no selector: nothing is adopted", func(job *batchv1.Job) { job.Spec.Selector = nil }, []edit{ownerless}, tracking.Foreign},
		{"no UID: nothing is owned", func(job *batchv1.Job) { job.UID = "" }, []edit{controlledBy("")}, tracking.Foreign},
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
	for r, want := range map[tracking.Relation]string{
		tracking.Foreign: "foreign", tracking.Owned: "owned", tracking.Adoptable: "adoptable",
		tracking.Releasable: "releasable", tracking.Orphaned: "orphaned", 5: "Relation(5)", 77: "Relation(77)",
	} {
		if got := r.String(); got != want {
			t.Errorf("Relation %d is called %q, want %q", uint8(r), got, want)
		}
	}
}

func TestOwnerOf_badSelector(t *testing.T) {
	job := newJob()
	job.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	_, err := tracking.OwnerOf(job)
	if want := `spec.selector: "Near" is not a valid label selector operator`; err == nil || err.Error() != want {
		t.Errorf("OwnerOf = %v, want %s", err, want)
	}
}

func TestSelects(t *testing.T) {
	owner := ownerOf(t, newJob())
	if !owner.Selects(labels.Set{"app": "job", "more": "x"}) || owner.Selects(labels.Set{"app": "x"}) {
		t.Error("Selects does not follow the selector")
	}
	if !(tracking.Owner{}).Selects(nil) {
		t.Error("without a selector Selects(nil) = false, want true")
	}
}

// slowRelation tells whose a pod is in the order of the questions one would ask.
func slowRelation(job *batchv1.Job, pod *corev1.Pod) tracking.Relation {
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
		return tracking.Foreign
	case len(controllers) > 0 && controllers[0] != job.UID:
		return tracking.Foreign
	case len(controllers) > 0 && (selected || !hasSelector):
		return tracking.Owned
	case len(controllers) > 0 && !deleting && !ended:
		return tracking.Releasable
	case len(controllers) > 0 && ended && finalizer:
		return tracking.Orphaned
	case len(controllers) > 0 || !selected:
		return tracking.Foreign
	case !deleting && !ended && pod.DeletionTimestamp == nil:
		return tracking.Adoptable
	case finalizer:
		return tracking.Orphaned
	}
	return tracking.Foreign
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

func TestManages(t *testing.T) {
	for _, tc := range []struct {
		name      string
		managedBy *string
		want      bool
	}{
		{"", nil, true},
		{"", ptrTo("kubernetes.io/job-controller"), true},
		{"", ptrTo("example.com/queue"), false},
		{"", ptrTo(""), false},
		{"kubernetes.io/job-controller", nil, true},
		{"example.com/queue", nil, false},
		{"example.com/queue", ptrTo("example.com/queue"), true},
		{"example.com/queue", ptrTo("example.com/other"), false},
	} {
		job := newJob()
		job.Spec.ManagedBy = tc.managedBy
		if got := (tracking.Controller{Name: tc.name}).Manages(job); got != tc.want {
			t.Errorf("%q manages a Job of %v: %v, want %v", tc.name, tc.managedBy, got, tc.want)
		}
	}
}

func TestReference(t *testing.T) {
	same(t, "reference", tracking.Controller{}.Reference(newJob()), metav1.OwnerReference{
		APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid", Controller: ptrTo(true), BlockOwnerDeletion: ptrTo(true),
	})
	own := tracking.Controller{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Run"}}
	same(t, "own kind", own.Reference(newJob()).APIVersion+" "+own.Reference(newJob()).Kind, "example.com/v1 Run")
}

func TestFrees(t *testing.T) {
	run := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Run"}
	job := func(edits ...func(*batchv1.Job)) *batchv1.Job {
		j := newJob()
		for _, e := range edits {
			e(j)
		}
		return j
	}
	finished := func(t batchv1.JobConditionType) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{condition(t, corev1.ConditionTrue)}
		}
	}
	managedBy := func(name string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Spec.ManagedBy = &name }
	}
	another := func(j *batchv1.Job) { j.UID = "job-uid-2" }
	reference := func(apiVersion, kind string) edit {
		return func(pod *corev1.Pod) {
			pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind = apiVersion, kind
		}
	}
	for _, tc := range []struct {
		reason     string
		controller tracking.Controller
		pod        *corev1.Pod
		job        *batchv1.Job
		want       bool
	}{
		{"KEP-2307 § Deleted Jobs: the Job doesn't exist", tracking.Controller{}, newPod("a"), nil, true},
		{"nothing to remove", tracking.Controller{}, newPod("a", released), nil, false},
		{"the Job runs: it counts the pod itself", tracking.Controller{}, newPod("a"), job(), false},
		{"the Job is ending: it counts the pod itself", tracking.Controller{}, newPod("a"), job(finished(batchv1.JobFailureTarget)), false},
		{"the Job is complete", tracking.Controller{}, newPod("a"), job(finished(batchv1.JobComplete)), true},
		{"the Job has failed", tracking.Controller{}, newPod("a"), job(finished(batchv1.JobFailed)), true},
		{"another Job of the name has come", tracking.Controller{}, newPod("a"), job(another), true},
		{"garbage collection removed the reference", tracking.Controller{}, newPod("a", ownerless), nil, true},
		{"an orphan, whatever Job there is", tracking.Controller{}, newPod("a", ownerless), job(), true},
		{"k#124798: another kind controls it", tracking.Controller{}, newPod("a", reference("example.com/v1", "Run")), nil, false},
		{"k#124798: another Job kind controls it", tracking.Controller{}, newPod("a", reference("example.com/v1", "Job")), nil, false},
		{"the caller's own kind", tracking.Controller{Kind: run}, newPod("a", reference("example.com/v1", "Run")), nil, true},
		{"a batch Job is not the caller's kind", tracking.Controller{Kind: run}, newPod("a"), nil, false},
		{"finished, but managed by somebody else", tracking.Controller{}, newPod("a"), job(finished(batchv1.JobFailed), managedBy("example.com/queue")), false},
		{"finished and managed by the caller", tracking.Controller{Name: "example.com/queue"}, newPod("a"), job(finished(batchv1.JobFailed), managedBy("example.com/queue")), true},
		{"finished and managed by the built-in controller", tracking.Controller{Name: "example.com/queue"}, newPod("a"), job(finished(batchv1.JobFailed)), false},
	} {
		if got := tc.controller.Frees(tc.pod, tc.job); got != tc.want {
			t.Errorf("%s: Frees = %v, want %v", tc.reason, got, tc.want)
		}
	}
}

// KEP-2307 § Monitoring Pods with finalizers: "a gauge that tracks the number of
// terminated pods (.status.phase=(Succeeded|Failed)) that currently have a job
// tracking finalizer".
func TestGauge(t *testing.T) {
	for _, tc := range []struct {
		reason string
		pod    *corev1.Pod
		want   bool
	}{
		{"succeeded", newPod("a", succeeded), true},
		{"failed", newPod("a", failed), true},
		{"running", newPod("a"), false},
		{"terminating", newPod("a", deleted), false},
		{"succeeded and released", newPod("a", succeeded, released), false},
		{"failed and released", newPod("a", failed, released), false},
		{"no pod", nil, false},
	} {
		if got := tracking.Gauge(tc.pod); got != tc.want {
			t.Errorf("%s: Gauge = %v, want %v", tc.reason, got, tc.want)
		}
	}
}
