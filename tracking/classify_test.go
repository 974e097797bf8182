package tracking_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

func classify(t *testing.T, job *batchv1.Job, relation tracking.Relation, stripped bool, pod *corev1.Pod) tracking.PodRecord {
	t.Helper()
	of := Must(tracking.ClassifierOf(job, tracking.Keys{}, tracking.Options{}))
	return of.Classify(pod, relation, stripped, &tracking.Classes{})
}

// Whether a pod is finalized and tracked: the patch that adopts it adds the finalizer, and one that has been removed does
// not count, though the pod still shows it.
func TestClassify_finalizers(t *testing.T) {
	for _, tc := range []struct {
		name               string
		relation           tracking.Relation
		stripped           bool
		pod                *corev1.Pod
		finalized, tracked bool
	}{
		{"owned", tracking.Owned, false, Pod("a"), true, true},
		{"owned, freed", tracking.Owned, false, Pod("a", Released), false, false},
		{"owned, freed a moment ago", tracking.Owned, true, Pod("a"), true, false},
		{"to be adopted", tracking.Adoptable, false, Pod("a", Released), true, true},
	} {
		r := classify(t, Job(), tc.relation, tc.stripped, tc.pod)
		Same(t, tc.name+": finalized and tracked", []bool{r.Finalized, r.Tracked}, []bool{tc.finalized, tc.tracked})
	}
}

// The uncounted lists overrule the phase of finished pods with the finalizer, and of no others.
func TestClassify_listed(t *testing.T) {
	job := Job()
	job.Status.UncountedTerminatedPods = Lists(UIDs("s"), UIDs("f"))
	for _, tc := range []struct {
		name                      string
		pod                       *corev1.Pod
		listed, succeeded, failed bool
	}{
		{"failed, listed as succeeded", Pod("s", Failed), true, true, false},
		{"succeeded, listed as failed", Pod("f", Succeeded), true, false, true},
		{"running, listed as succeeded", Pod("s"), true, false, false},
		{"running, listed as failed", Pod("f"), true, false, false},
		{"failed, listed as succeeded, freed", Pod("s", Failed, Released), false, false, true},
	} {
		r := classify(t, job, tracking.Owned, false, tc.pod)
		Same(t, tc.name, []bool{r.Listed, r.Succeeded, r.Failed}, []bool{tc.listed, tc.succeeded, tc.failed})
	}
}

// Ignored failures do not use up the limit of an index, and an index whose failure is ignored does not fail.
func TestClassify_limitOfAnIndex(t *testing.T) {
	job := Job()
	indexed(5)(job)
	perIndex(1)(job)
	job.Spec.PodFailurePolicy = ExitCodePolicy()
	ignored := Annotation(batchv1.JobIndexIgnoredFailureCountAnnotation, "3")
	for _, tc := range []struct {
		name             string
		pod              *corev1.Pod
		exhausted, fails bool
	}{
		{"three ignored failures", Pod("a", Failed, Index("1"), Failures("0"), ignored), false, false},
		{"one failure", Pod("a", Failed, Index("1"), Failures("1"), ignored), true, true},
		{"one failure, and one that is ignored", Pod("a", Exit(ExitIgnore, After(0)), Index("1"), Failures("1")), true, false},
		{"FailIndex", Pod("a", Exit(ExitFailIndex, After(0)), Index("1"), Failures("0")), false, true},
	} {
		r := classify(t, job, tracking.Owned, false, tc.pod)
		Same(t, tc.name+": exhausted, and fails its index", []bool{r.Exhausted, r.FailsIndex()}, []bool{tc.exhausted, tc.fails})
	}
}

// Records of pods in one class share the rule that they match, but each names its own pod.
func TestMatch_namesItsPod(t *testing.T) {
	job := Job()
	job.Spec.PodFailurePolicy = ExitCodePolicy()
	of := Must(tracking.ClassifierOf(job, tracking.Keys{}, tracking.Options{}))
	var shared tracking.Classes
	fail := Exit(ExitFailJob, After(0))
	a, b := of.Classify(Pod("a", fail), tracking.Owned, false, &shared), of.Classify(Pod("b", fail), tracking.Owned, false, &shared)
	if a.Class != b.Class {
		t.Error("two pods that fail alike are not in one class")
	}
	first, second := a.Match(), b.Match()
	Same(t, "the pods", []types.NamespacedName{first.Pod, second.Pod, a.Match().Pod},
		[]types.NamespacedName{{Namespace: "ns", Name: "pod-a"}, {Namespace: "ns", Name: "pod-b"}, {Namespace: "ns", Name: "pod-a"}})
	if a.Class != b.Class || *a.Class != *b.Class {
		t.Error("Match has changed the class")
	}
	// A pod that is classified later is still in their class.
	if c := of.Classify(Pod("c", fail), tracking.Owned, false, &shared); c.Class != a.Class {
		t.Error("after Match, a third pod is in another class")
	}
}

// Without a limit per index, the limit of the Job stays; a failure policy asks for failed pods even if the replacement
// policy is switched off.
func TestClassifierOf_withoutFeatures(t *testing.T) {
	job := Job()
	job.Spec.BackoffLimit, job.Spec.BackoffLimitPerIndex = new(int32(3)), new(int32(1))
	of, _ := tracking.ClassifierOf(job, tracking.Keys{}, tracking.Options{WithoutPerIndex: true})
	Same(t, "the limit", of.Limit, backoff.Limit{Target: backoff.TargetJob, PerJob: 3})
	job.Spec.PodFailurePolicy = ExitCodePolicy()
	of, _ = tracking.ClassifierOf(job, tracking.Keys{}, tracking.Options{WithoutReplacement: true})
	Same(t, "replaces failed pods only", of.ReplaceFailedOnly, true)
}

// An Account is full once it has removed as many finalizers as it may. The other pods are deferred.
func TestAccount_fullByRemovals(t *testing.T) {
	of, _ := tracking.ClassifierOf(Job(), tracking.Keys{}, tracking.Options{})
	pods := []*corev1.Pod{Pod("a", Failed), Pod("b", Failed)}
	for removals, want := range map[int][]any{1: {1, 1, true}, 2: {2, 0, true}, 3: {2, 0, false}} {
		a := tracking.AccountOf(of, tracking.AccountInputs{Removals: removals}, pods...)
		Same(t, "stripped, deferred, full", []any{len(a.Strip), a.Deferred, a.Full}, want)
	}
}

// "The caller owns it": a Status that Count or Settle has returned is no part of the Job, nor of the next one.
func TestCount_statusIsTheCallers(t *testing.T) {
	for name, edit := range map[string]func(*batchv1.Job){
		"running": func(*batchv1.Job) {}, "finished": has(batchv1.JobComplete),
	} {
		job := Job()
		job.Status = *FullStatus()
		edit(job)
		before := job.DeepCopy()
		counted := tracking.Keys{}.Count(job, []*corev1.Pod{Pod("s", Succeeded), Pod("f", Failed)})
		spoil := func(st *batchv1.JobStatus) {
			st.Conditions[0].Reason, st.StartTime.Time, *st.Ready = "spoilt", Noon(), 99
			st.Failed = 99
		}
		settled := counted.Settle()
		want := settled.DeepCopy()
		spoil(settled)
		Same(t, name+": settled again", counted.Settle(), want)
		spoil(counted.Status)
		Same(t, name+": the Job", job, before)
	}
}

// An index that completes with this status is not failed, although the status did not know it.
func TestCount_failedIndexThatCompletes(t *testing.T) {
	job := Job()
	indexed(5)(job)
	perIndex(1)(job)
	job.Status.FailedIndexes = new("1,2")
	st := tracking.Keys{}.Count(job, []*corev1.Pod{Pod("a", Succeeded, Index("2"))}).Status
	Same(t, "completed; failed", st.CompletedIndexes+"; "+*st.FailedIndexes, "2; 1")
}

// For each label that keeps its default name, the pods also get the label without the prefix.
func TestLabels_legacy(t *testing.T) {
	for keys, want := range map[tracking.Keys][]bool{
		{}: {true, true}, {ControllerUID: "example.com/uid"}: {false, true}, {JobName: "example.com/name"}: {true, false},
	} {
		labels := keys.Labels(Job())
		Same(t, "controller-uid and job-name", []bool{labels["controller-uid"] == "job-uid", labels["job-name"] == "job"}, want)
	}
}
