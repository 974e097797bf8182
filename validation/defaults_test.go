package validation

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDefault(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*batchv1.Job)
		want func(*batchv1.JobSpec)
	}{
		{name: "nothing set", edit: func(*batchv1.Job) {}, want: func(*batchv1.JobSpec) {}},
		{
			name: "parallelism alone leaves completions open",
			edit: func(j *batchv1.Job) { j.Spec.Parallelism = ptr[int32](3) },
			want: func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = ptr[int32](3), nil },
		},
		{
			name: "completions alone",
			edit: func(j *batchv1.Job) { j.Spec.Completions = ptr[int32](3) },
			want: func(s *batchv1.JobSpec) { s.Completions = ptr[int32](3) },
		},
		{
			// KEP-3850: "we default .spec.backoffLimit to max int32 value".
			name: "with a limit per index the Job has no limit",
			edit: func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = ptr[int32](0) },
			want: func(s *batchv1.JobSpec) {
				s.BackoffLimitPerIndex, s.BackoffLimit = ptr[int32](0), ptr[int32](math.MaxInt32)
			},
		},
		{
			name: "a failure policy defaults the replacement policy to Failed",
			edit: func(j *batchv1.Job) { j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{} },
			want: func(s *batchv1.JobSpec) {
				s.PodFailurePolicy, s.PodReplacementPolicy = &batchv1.PodFailurePolicy{}, ptr(batchv1.Failed)
			},
		},
		{
			name: "set fields are kept",
			edit: func(j *batchv1.Job) {
				j.Spec.Suspend, j.Spec.ManualSelector, j.Spec.BackoffLimit = ptr(true), ptr(true), ptr[int32](0)
				j.Spec.CompletionMode, j.Spec.PodReplacementPolicy = ptr(batchv1.IndexedCompletion), ptr(batchv1.Failed)
			},
			want: func(s *batchv1.JobSpec) {
				s.Suspend, s.ManualSelector, s.BackoffLimit = ptr(true), ptr(true), ptr[int32](0)
				s.CompletionMode, s.PodReplacementPolicy = ptr(batchv1.IndexedCompletion), ptr(batchv1.Failed)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := &batchv1.Job{}
			c.edit(job)
			want := batchv1.JobSpec{
				Parallelism: ptr[int32](1), Completions: ptr[int32](1), BackoffLimit: ptr[int32](6),
				CompletionMode: ptr(batchv1.NonIndexedCompletion), Suspend: ptr(false), ManualSelector: ptr(false),
				PodReplacementPolicy: ptr(batchv1.TerminatingOrFailed),
			}
			c.want(&want)
			if diff := cmp.Diff(want, Default(job).Spec); diff != "" {
				t.Errorf("Default (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultPatterns(t *testing.T) {
	job := &batchv1.Job{}
	withRules(batchv1.PodFailurePolicyRule{OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{onCondition("A", ""), onCondition("B", "False")}})(job)
	got := Default(job).Spec.PodFailurePolicy.Rules[0].OnPodConditions
	want := []batchv1.PodFailurePolicyOnPodConditionsPattern{onCondition("A", corev1.ConditionTrue), onCondition("B", "False")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patterns (-want +got):\n%s", diff)
	}
	if status := job.Spec.PodFailurePolicy.Rules[0].OnPodConditions[0].Status; status != "" {
		t.Errorf("the input's pattern became %q", status)
	}
}

func TestGenerateSelector(t *testing.T) {
	generated := map[string]string{
		"controller-uid": "uid", "job-name": "job",
		"batch.kubernetes.io/controller-uid": "uid", "batch.kubernetes.io/job-name": "job",
	}
	bare := GenerateSelector(written())
	if diff := cmp.Diff(generated, bare.Spec.Template.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": "uid"}}, bare.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}

	own := written()
	own.Spec.Template.Labels = map[string]string{"job-name": "mine", "app": "x"}
	own.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	got := GenerateSelector(own)
	if got.Spec.Template.Labels["job-name"] != "mine" || got.Spec.Template.Labels["app"] != "x" {
		t.Errorf("labels became %v, want those of the user kept", got.Spec.Template.Labels)
	}
	if want := map[string]string{"app": "x", "batch.kubernetes.io/controller-uid": "uid"}; !cmp.Equal(want, got.Spec.Selector.MatchLabels) {
		t.Errorf("selector matches %v, want %v", got.Spec.Selector.MatchLabels, want)
	}

	if want := map[string]string{"job-name": "mine", "app": "x"}; !cmp.Equal(want, own.Spec.Template.Labels) {
		t.Errorf("the labels of the input became %v, want %v", own.Spec.Template.Labels, want)
	}
	own.Spec.ManualSelector = ptr(true)
	if diff := cmp.Diff(own, GenerateSelector(own)); diff != "" {
		t.Errorf("with manualSelector (-want +got):\n%s", diff)
	}
}

// A Job without labels gets the labels of its template, including the generated ones.
func TestPrepareCreateLabels(t *testing.T) {
	job := written()
	job.Spec.Template.Labels = map[string]string{"app": "x"}
	got := PrepareCreate(job)
	if diff := cmp.Diff(got.Spec.Template.Labels, got.Labels); diff != "" || len(got.Labels) != 5 {
		t.Errorf("labels of the Job are %v, want the 5 of its template %v", got.Labels, got.Spec.Template.Labels)
	}
	if len(Default(job).Labels) != 1 {
		t.Errorf("labels by default are %v, want the one of the template", Default(job).Labels)
	}
	own := map[string]string{"own": "y"}
	job.Labels = own
	if got := PrepareCreate(job).Labels; !cmp.Equal(own, got) {
		t.Errorf("labels are %v, want the Job's own", got)
	}
	if got := PrepareCreate(written()).Labels; got != nil {
		t.Errorf("labels are %v, want none: the template had none", got)
	}
}

func TestPrepareCreateClearsTheStatus(t *testing.T) {
	job := written()
	job.Status.Active = 3
	got := PrepareCreate(job)
	if diff := cmp.Diff(batchv1.JobStatus{}, got.Status); diff != "" || got.Generation != 1 {
		t.Errorf("generation %d, status (-want +got):\n%s", got.Generation, diff)
	}
}
