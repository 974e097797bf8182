package decisions

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/tracking"
)

// For an invalid input Decide returns an error that names the field. It never panics and
// returns an empty decision.
func TestInput_rejected(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*decide.Snapshot)
		want   string // the dots stand for the value, whose format depends on the release
	}{
		{"no Job", func(s *decide.Snapshot) { s.Job = nil }, "job: Required value: the snapshot has no Job"},
		{"no time", func(s *decide.Snapshot) { s.Now = time.Time{} }, "now: Required value: timestamps in the status are set to it"},
		{"no name", func(s *decide.Snapshot) { s.Job.Name = "" }, "metadata.name: Required value: pods are named after the Job"},
		{"no UID", func(s *decide.Snapshot) { s.Job.UID = "" }, "metadata.uid: Required value: pods are recognised by the UID of their Job"},
		{"managed by another controller", func(s *decide.Snapshot) { s.Job.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") },
			"spec.managedBy: the Job is managed by another controller: kueue.x-k8s.io/multikueue"},
		{"nil pod", func(s *decide.Snapshot) { s.Pods[1] = nil }, "pods[1]: Required value: the pod is nil"},
		{"pod without UID", func(s *decide.Snapshot) { s.Pods[1].UID = "" }, "pods[1].metadata.uid: Required value: pods are counted by their UID"},
		{"two pods without UID", func(s *decide.Snapshot) { s.Pods[0].UID, s.Pods[1].UID = "", "" },
			"[pods[0].metadata.uid: Required value: pods are counted by their UID, pods[1].metadata.uid: Required value: pods are counted by their UID]"},
		{"two pods with the same UID", func(s *decide.Snapshot) { s.Pods[1].UID = s.Pods[0].UID }, `pods[1].metadata.uid: Duplicate value: "pod-1"`},
		{"two foreign pods with the same UID", func(s *decide.Snapshot) {
			for _, pod := range s.Pods {
				pod.UID, pod.OwnerReferences[0].UID = "same", "other"
			}
		}, `pods[1].metadata.uid: Duplicate value: "same"`},
		{"unknown mode", func(s *decide.Snapshot) { s.Job.Spec.CompletionMode = new(batchv1.CompletionMode("Sometimes")) },
			`spec.completionMode: Unsupported value: "Sometimes": supported values: "Indexed", "NonIndexed"`},
		{"empty mode", func(s *decide.Snapshot) { s.Job.Spec.CompletionMode = new(batchv1.CompletionMode("")) },
			`spec.completionMode: Unsupported value: "": supported values: "Indexed", "NonIndexed"`},
		{"indexed without completions", func(s *decide.Snapshot) { s.Job.Spec.Completions = nil }, "spec.completions: Required value: when completion mode is Indexed"},
		{"negative parallelism", func(s *decide.Snapshot) { s.Job.Spec.Parallelism = new(int32(-1)) },
			"spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
		{"negative completions", func(s *decide.Snapshot) { s.Job.Spec.Completions = new(int32(math.MinInt32)) },
			"spec.completions: Invalid value: -2147483648: must be greater than or equal to 0"},
		{"negative limits", func(s *decide.Snapshot) {
			s.Job.Spec.BackoffLimit, s.Job.Spec.BackoffLimitPerIndex, s.Job.Spec.MaxFailedIndexes = new(int32(-1)), new(int32(-2)), new(int32(-3))
		}, "[spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0, spec.backoffLimitPerIndex: Invalid value: -2: must be greater than or equal to 0, spec.maxFailedIndexes: Invalid value: -3: must be greater than or equal to 0]"},
		{"negative deadline", func(s *decide.Snapshot) { s.Job.Spec.ActiveDeadlineSeconds = new(int64(-7)) },
			"spec.activeDeadlineSeconds: Invalid value: -7: must be greater than or equal to 0"},
		{"negative counters", func(s *decide.Snapshot) {
			s.Job.Status = batchv1.JobStatus{Active: -1, Succeeded: -2, Failed: -3, Ready: new(int32(-4)), Terminating: new(int32(-5))}
		}, "[status.active: Invalid value: -1: must be greater than or equal to 0, status.succeeded: Invalid value: -2: must be greater than or equal to 0, status.failed: Invalid value: -3: must be greater than or equal to 0, status.ready: Invalid value: -4: must be greater than or equal to 0, status.terminating: Invalid value: -5: must be greater than or equal to 0]"},
		{"both ends decided", func(s *decide.Snapshot) {
			s.Job.Status.Conditions = []batchv1.JobCondition{
				{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue}, {Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue},
			}
		}, "status.conditions: Invalid value: SuccessCriteriaMet and FailureTarget are both True; the API server lets neither be removed"},
		{"an invalid selector", func(s *decide.Snapshot) {
			s.Job.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Perhaps"}}}
		}, `spec.selector: Invalid value: ...: "Perhaps" is not a valid label selector operator`},
		{"a selector that does not match the template", func(s *decide.Snapshot) { s.Job.Spec.Template.Labels = map[string]string{"app": "x"} },
			"spec.template.metadata.labels: Invalid value: ...: the selector does not match them"},
		{"several", func(s *decide.Snapshot) { s.Job.Name = ""; s.Job.Spec.Parallelism = new(int32(-1)); s.Pods[0] = nil },
			"[metadata.name: Required value: pods are named after the Job, spec.parallelism: Invalid value: -1: must be greater than or equal to 0, pods[0]: Required value: the pod is nil]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := decidetest.SpecJob(t, "completions: 2\nparallelism: 2\ncompletionMode: Indexed")
			s := decide.Snapshot{Job: job, Pods: []*corev1.Pod{decidetest.PodIn(job, 1, corev1.PodRunning), decidetest.PodIn(job, 2, corev1.PodFailed)}, Now: job.CreationTimestamp.Time}
			test.change(&s)
			d, err := decide.Job(s)
			head, tail, _ := strings.Cut(test.want, "...")
			if got := fmt.Sprint(err); !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) || head == test.want && got != head {
				t.Errorf("the error is\n%s\nwant\n%s", got, test.want)
			}
			if !d.Idle() || d.Requeue != 0 || len(d.Events)+len(d.Metrics) != 0 || explain.Of(d).Job().Code != "" {
				t.Errorf("the decision with the error is not empty: %+v", d)
			}
		})
	}
}

// All errors about the input are InputErrors.
func TestInput_errorsHaveOneShape(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 2")
	bad := job.DeepCopy()
	bad.Name, bad.Spec.Completions = "", new(int32(-1))
	for _, test := range []struct {
		name string
		s    decide.Snapshot
		opts []decide.Option
		want []string
	}{
		{"no Job", decide.Snapshot{Now: jobtest.Noon()}, nil, []string{"job"}},
		{"no time", decide.Snapshot{Job: job}, nil, []string{"now"}},
		// Objects of typed clients and caches have an empty kind. If that meant the default, the pods
		// would be owned by a Job that does not exist, and would be garbage collected.
		{"no kind", decide.Snapshot{Job: job, Now: jobtest.Noon()}, []decide.Option{decide.OwnerKind(schema.GroupVersionKind{})}, []string{"OwnerKind.kind"}},
		{"a group without a kind", decide.Snapshot{Job: job, Now: jobtest.Noon()},
			[]decide.Option{decide.OwnerKind(schema.GroupVersionKind{Group: "example.com", Version: "v1"})}, []string{"OwnerKind.kind"}},
		{"keys", decide.Snapshot{Job: job, Now: jobtest.Noon()}, []decide.Option{decide.Keys(tracking.Keys{Finalizer: "mine", JobName: "a/b", Index: "a/b"})}, []string{"Keys.Finalizer", "Keys.Index"}},
		{"two fields", decide.Snapshot{Job: bad, Now: jobtest.Noon()}, nil, []string{"metadata.name", "spec.completions"}},
		{"a pod", decide.Snapshot{Job: job, Now: jobtest.Noon(), Pods: []*corev1.Pod{nil}}, nil, []string{"pods[0]"}},
	} {
		d, err := decide.Job(test.s, test.opts...)
		if got := fieldsOf(err); !slices.Equal(got, test.want) || !d.Idle() {
			t.Errorf("%s: %v names the fields %q, want %q; the decision is %v", test.name, err, got, test.want, d)
		}
		var field *field.Error
		if !errors.As(err, &field) || field.Field != test.want[0] {
			t.Errorf("%s: errors.As finds the field %v, want %s", test.name, field, test.want[0])
		}
		if errors.Is(err, decide.ErrNotManaged) {
			t.Errorf("%s: %v is ErrNotManaged", test.name, err)
		}
	}
}

// fieldsOf returns the fields that an InputError names; none for another error.
func fieldsOf(err error) []string {
	if input := (*decide.InputError)(nil); errors.As(err, &input) {
		return Fields(input.Fields)
	}
	return nil
}

func TestInput_managedBy(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1")
	ours, builtIn := "example.com/ours", batchv1.JobControllerName
	for _, test := range []struct {
		managedBy *string
		opts      []decide.Option
		want      string // the error
	}{
		{nil, nil, "<nil>"},
		{&builtIn, nil, "<nil>"},
		{&ours, nil, "spec.managedBy: the Job is managed by another controller: example.com/ours"},
		{&ours, []decide.Option{decide.ManagedBy(ours)}, "<nil>"},
		{nil, []decide.Option{decide.ManagedBy(ours)}, "spec.managedBy: the Job is managed by another controller: kubernetes.io/job-controller"},
		{&builtIn, []decide.Option{decide.ManagedBy("")}, "<nil>"},
	} {
		job.Spec.ManagedBy = test.managedBy
		_, err := decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()}, test.opts...)
		Same(t, "the error about managedBy", fmt.Sprint(err), test.want)
		if err != nil && !errors.Is(err, decide.ErrNotManaged) {
			t.Errorf("%v is not ErrNotManaged", err)
		}
	}
}

// A spec without the defaults of the API server is treated as if it had them, so a
// handwritten spec works.
func TestInput_defaults(t *testing.T) {
	bare := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "job-uid"}}
	for _, test := range []struct {
		name   string
		spec   batchv1.JobSpec
		create int
		labels map[string]string
	}{
		{"nothing", batchv1.JobSpec{}, 1, nil},
		{"indexed, both unset", batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion)}, 1, nil},
		{"only completions", batchv1.JobSpec{Completions: new(int32(4))}, 1, nil},
		{"only parallelism", batchv1.JobSpec{Parallelism: new(int32(4))}, 4, nil},
		{"suspend and policy unset", batchv1.JobSpec{Completions: new(int32(2)), Parallelism: new(int32(2))}, 2, nil},
		{"existing labels stay", batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x", batchv1.JobNameLabel: "mine"}}}}, 1,
			map[string]string{"app": "x", batchv1.JobNameLabel: "mine"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := bare.DeepCopy()
			job.Spec = test.spec
			d := Must(decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()}))
			if len(d.Create) != test.create {
				t.Fatalf("%d to create, want %d", len(d.Create), test.create)
			}
			want := map[string]string{batchv1.ControllerUidLabel: "job-uid", batchv1.JobNameLabel: "job", "controller-uid": "job-uid", "job-name": "job"}
			maps.Copy(want, test.labels)
			pod := d.Create[0].Pod()
			for k, v := range want {
				Same(t, "label "+k, pod.Labels[k], v)
			}
			// The created pod counts as a pod of the Job and is not created again.
			pod.UID = "pod-1"
			if d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: jobtest.Noon()})); len(d.Create) != test.create-1 || len(d.Claim) != 0 {
				t.Errorf("with its pod: %d to create, claims %v; want %d, none", len(d.Create), d.Claim, test.create-1)
			}
		})
	}
	// backoffLimit defaults to 6, or to no limit with backoffLimitPerIndex.
	for _, test := range []struct {
		perIndex *int32
		failed   int32
		ends     bool
	}{{nil, 6, false}, {nil, 7, true}, {new(int32(0)), 1000, false}} {
		job := bare.DeepCopy()
		job.Spec = batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(5)), BackoffLimitPerIndex: test.perIndex}
		job.Status.Failed = test.failed
		if d := Must(decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()})); len(d.Status.Conditions) > 0 != test.ends {
			t.Errorf("per index %v, %d failed: conditions %v, want the end %t", test.perIndex, test.failed, d.Status.Conditions, test.ends)
		}
	}
}

// Defects that the Job controller tolerates are tolerated, and the explanation notes them.
func TestInput_tolerated(t *testing.T) {
	index := batchv1.JobCompletionIndexAnnotation
	for _, test := range []struct {
		name   string
		change func(*decide.Snapshot)
		want   []explain.Reason
	}{
		{"no defect", func(*decide.Snapshot) {}, nil},
		{"pods of another Job", func(s *decide.Snapshot) {
			s.Pods[0].OwnerReferences[0].UID = "other-job"
			s.Pods[1].Namespace = "elsewhere"
		}, []explain.Reason{{Code: explain.NoteForeignPods, Text: "2 pods of other owners were given, and ignored"}}},
		{"one pod of another Job", func(s *decide.Snapshot) { s.Pods[0].OwnerReferences[0].UID = "other-job" },
			[]explain.Reason{{Code: explain.NoteForeignPods, Text: "1 pod of other owners was given, and ignored"}}},
		{"damaged completedIndexes", func(s *decide.Snapshot) { s.Job.Status.CompletedIndexes = "0,x" },
			[]explain.Reason{{Code: explain.NoteStatusRepaired, Text: "status.completedIndexes: at offset 2: an index has digits only"}}},
		{"completedIndexes past completions", func(s *decide.Snapshot) { s.Job.Status.CompletedIndexes = "0,7" },
			[]explain.Reason{{Code: explain.NoteStatusRepaired, Text: "status.completedIndexes: at offset 2: completions are 3"}}},
		{"damaged failedIndexes", func(s *decide.Snapshot) { s.Job.Status.FailedIndexes = new("3-1") },
			[]explain.Reason{{Code: explain.NoteStatusRepaired, Text: "status.failedIndexes: at offset 0: an interval ends after it starts"}}},
		{"an index completed and failed", func(s *decide.Snapshot) {
			s.Job.Status.CompletedIndexes, s.Job.Status.FailedIndexes = "0,1", new("1,2")
		}, []explain.Reason{{Code: explain.NoteStatusRepaired, Text: "status.failedIndexes contained completed indexes"}}},
		{"a UID twice", func(s *decide.Snapshot) {
			s.Job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"pod-2", "pod-2"}}
		}, []explain.Reason{{Code: explain.NoteStatusRepaired, Text: "status.uncountedTerminatedPods contained a duplicate or empty UID"}}},
		{"an empty UID", func(s *decide.Snapshot) {
			s.Job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{""}}
		}, []explain.Reason{{Code: explain.NoteStatusRepaired, Text: "status.uncountedTerminatedPods contained a duplicate or empty UID"}}},
		{"memory of another Job", func(s *decide.Snapshot) {
			s.Backoff.Job = "other-job"
		}, []explain.Reason{
			{Code: explain.NoteMemoryDropped, Text: "the backoff record belongs to an earlier Job of this name"},
		}},
		{"an invalid index", func(s *decide.Snapshot) { s.Pods[0].Annotations[index], s.Pods[0].Labels[index] = "-1", "-1" },
			[]explain.Reason{{Code: explain.NoteBadAnnotation, Text: `pod job-0-1: the annotation batch.kubernetes.io/job-completion-index is "-1"; the pod was treated as one without an index`}}},
		{"an index that is too large", func(s *decide.Snapshot) {
			s.Pods[0].Annotations[index], s.Pods[0].Labels[index] = "99999999999", "99999999999"
		}, []explain.Reason{{Code: explain.NoteBadAnnotation, Text: `pod job-0-1: the annotation batch.kubernetes.io/job-completion-index is "99999999999"; 2147483647 was used`}}},
		{"label and annotation differ", func(s *decide.Snapshot) { s.Pods[0].Labels[index] = "2" },
			[]explain.Reason{{Code: explain.NoteIndexConflict, Text: `pod job-0-1: the annotation batch.kubernetes.io/job-completion-index is "0", the label "2"; 0 was used`}}},
		{"a label without an annotation", func(s *decide.Snapshot) { delete(s.Pods[0].Annotations, index) },
			[]explain.Reason{{Code: explain.NoteIndexConflict, Text: `pod job-0-1: the annotation batch.kubernetes.io/job-completion-index is "", the label "0"; the pod was treated as one without an index`}}},
		{"an invalid failure count", func(s *decide.Snapshot) {
			s.Pods[1].Annotations[batchv1.JobIndexFailureCountAnnotation] = "99999999999999999999"
		}, []explain.Reason{{Code: explain.NoteBadAnnotation, Text: `pod job-1-2: the annotation batch.kubernetes.io/job-index-failure-count is "99999999999999999999"; 0 was used`}}},
		{"an invalid ignored count", func(s *decide.Snapshot) {
			s.Pods[1].Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = ""
		}, []explain.Reason{{Code: explain.NoteBadAnnotation, Text: `pod job-1-2: the annotation batch.kubernetes.io/job-index-ignored-failure-count is ""; 0 was used`}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := decidetest.SpecJob(t, "completions: 3\nparallelism: 2\ncompletionMode: Indexed\nbackoffLimitPerIndex: 1")
			pods := []*corev1.Pod{decidetest.PodIn(job, 1, corev1.PodRunning), decidetest.PodIn(job, 2, corev1.PodRunning)}
			s := decide.Snapshot{Job: job, Pods: pods, Now: job.CreationTimestamp.Time}
			test.change(&s)
			d := Must(decide.Job(s))
			Same(t, "the notes", explain.Of(d).Notes(), test.want)
		})
	}
}

// KEP-3850 § Risks and Mitigations, the Job object too big: a note says that the lists of
// indexes are near their maximum size, in the status to store or in the last status of a
// Job that has ended.
func TestInput_largeIndexes(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1000000\nparallelism: 1\ncompletionMode: Indexed")
	var odd indexset.Builder
	for i := int32(100_001); i < 400_000; i += 2 {
		odd.Add(i)
	}
	notes := func(d decide.Decision) []explain.Code {
		return Each(explain.Of(d).Notes(), func(n explain.Reason) explain.Code { return n.Code })
	}
	job.Status.CompletedIndexes = odd.Set().String()
	s := decide.Snapshot{Job: job, Now: jobtest.Noon()}
	if d := Must(decide.Job(s)); !slices.Equal(notes(d), []explain.Code{explain.NoteIndexesLarge}) {
		t.Errorf("with %d bytes of indexes: %q, want %s", len(job.Status.CompletedIndexes), notes(d), explain.NoteIndexesLarge)
	}
	ended := job.DeepCopy()
	ended.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	if d := Must(decide.Job(decide.Snapshot{Job: ended, Now: jobtest.Noon()})); !slices.Contains(notes(d), explain.NoteIndexesLarge) {
		t.Errorf("after the end: %q, want %s", notes(d), explain.NoteIndexesLarge)
	}
	// The note is about the status to store, not about the damaged stored one.
	job.Status.CompletedIndexes = strings.Repeat("1,", 1<<19)
	if d := Must(decide.Job(s)); slices.Contains(notes(d), explain.NoteIndexesLarge) {
		t.Errorf("a status that is repaired: %q, want no note about its size", notes(d))
	}
}

// Without indexes, the annotations of an index are ignored.
func TestInput_annotationsOfAPlainJob(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1")
	pod := decidetest.PodIn(job, 1, corev1.PodRunning)
	pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "x", batchv1.JobIndexFailureCountAnnotation: "y"}
	d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time}))
	Same(t, "notes", len(explain.Of(d).Notes()), 0)
}

// For a Job that is both Complete and Failed, only the finalizers are removed.
func TestInput_completeAndFailed(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1")
	pod := decidetest.PodIn(job, 1, corev1.PodRunning)
	job.Status = batchv1.JobStatus{Active: -1, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}, {Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "R", Message: "M"},
	}}
	d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: jobtest.Noon()}))
	if d.Status != nil || len(d.Strip) != 1 || !builtin.HasFinalizer(d.Strip[0]) || explain.Of(d).Job().Text != "the Job is Failed: R: M" {
		t.Errorf("status %v, %d to strip, %q; want none, 1, Failed", d.Status, len(d.Strip), explain.Of(d).Job().Text)
	}
}
