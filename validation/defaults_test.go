package validation

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestDefaulted(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*batchv1.Job)
		want func(*batchv1.JobSpec)
	}{
		{name: "nothing set", edit: func(*batchv1.Job) {}, want: func(*batchv1.JobSpec) {}},
		{
			name: "parallelism alone leaves completions open",
			edit: func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(3)) },
			want: func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = new(int32(3)), nil },
		},
		{name: "completions alone", edit: func(j *batchv1.Job) { j.Spec.Completions = new(int32(3)) }, want: func(s *batchv1.JobSpec) { s.Completions = new(int32(3)) }},
		{
			// KEP-3850: "we default .spec.backoffLimit to max int32 value".
			name: "with a limit per index the Job has no limit",
			edit: func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(0)) },
			want: func(s *batchv1.JobSpec) {
				s.BackoffLimitPerIndex, s.BackoffLimit = new(int32(0)), new(int32(math.MaxInt32))
			},
		},
		{
			name: "a failure policy defaults the replacement policy to Failed",
			edit: func(j *batchv1.Job) { j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{} },
			want: func(s *batchv1.JobSpec) {
				s.PodFailurePolicy, s.PodReplacementPolicy = &batchv1.PodFailurePolicy{}, new(batchv1.Failed)
			},
		},
		{
			name: "set fields are kept",
			edit: func(j *batchv1.Job) {
				j.Spec.Suspend, j.Spec.ManualSelector, j.Spec.BackoffLimit = new(true), new(true), new(int32(0))
				j.Spec.CompletionMode, j.Spec.PodReplacementPolicy = new(batchv1.IndexedCompletion), new(batchv1.Failed)
			},
			want: func(s *batchv1.JobSpec) {
				s.Suspend, s.ManualSelector, s.BackoffLimit = new(true), new(true), new(int32(0))
				s.CompletionMode, s.PodReplacementPolicy = new(batchv1.IndexedCompletion), new(batchv1.Failed)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := &batchv1.Job{}
			c.edit(job)
			want := batchv1.JobSpec{
				Parallelism: new(int32(1)), Completions: new(int32(1)), BackoffLimit: new(int32(6)),
				CompletionMode: new(batchv1.NonIndexedCompletion), Suspend: new(false), ManualSelector: new(false),
				PodReplacementPolicy: new(batchv1.TerminatingOrFailed),
			}
			c.want(&want)
			Same(t, "Defaulted", Defaulted(job).Spec, want)
		})
	}
}

func TestDefaultPatterns(t *testing.T) {
	job := &batchv1.Job{}
	withRules(batchv1.PodFailurePolicyRule{OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{onCondition("A", ""), onCondition("B", "False")}})(job)
	got := Defaulted(job).Spec.PodFailurePolicy.Rules[0].OnPodConditions
	want := []batchv1.PodFailurePolicyOnPodConditionsPattern{onCondition("A", corev1.ConditionTrue), onCondition("B", "False")}
	Same(t, "patterns", got, want)
	Same(t, "the pattern of the input", job.Spec.PodFailurePolicy.Rules[0].OnPodConditions[0].Status, "")
}

// The API reference says of generateName: "the value may be truncated by the length of the
// suffix required to make the value unique on the server".
func TestWithGeneratedName(t *testing.T) {
	prefix := strings.Repeat("a", 253)
	for _, c := range []struct{ name, generateName, own, want string }{
		{"neither", "", "", ""},
		{"a name", "", "job", "job"},
		{"both", "gen-", "job", "job"},
		{"a prefix", "gen-", "", "gen-xxxxx"},
		{"a dash alone", "-", "", "-xxxxx"},
		{"the longest prefix that is not cut", prefix[:58], "", prefix[:58] + "xxxxx"},
		{"one that is cut", prefix[:59], "", prefix[:58] + "xxxxx"},
		{"the longest prefix", prefix, "", prefix[:58] + "xxxxx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := written()
			job.Name, job.GenerateName = c.own, c.generateName
			got := WithGeneratedName(job)
			if got.Name != c.want || got.GenerateName != c.generateName {
				t.Errorf("got name %q, generateName %q; want %q, %q", got.Name, got.GenerateName, c.want, c.generateName)
			}
			Same(t, "the name of the input", job.Name, c.own)
		})
	}
	Same(t, "WithGeneratedName(nil)", WithGeneratedName(nil), nil)
}

func TestCreateGenerateName(t *testing.T) {
	for _, c := range []struct {
		name   string
		length int
		edit   func(*batchv1.Job)
		want   string // the start of the only error
	}{
		{name: "a prefix that is cut", length: 249},
		{name: "the longest prefix", length: 253},
		{name: "a longer prefix", length: 254, want: "metadata.generateName: Invalid value: "},
		{name: "Indexed, with the longest host name", length: 56, edit: indexedJob(10)},
		{name: "Indexed", length: 57, edit: indexedJob(10), want: "metadata.name: Invalid value: will not able to create pod"},
		{name: "Indexed, with a prefix that is cut", length: 253, edit: indexedJob(1), want: "metadata.name: Invalid value: will not able to create pod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := written()
			job.Name, job.GenerateName = "", strings.Repeat("a", c.length)
			if c.edit != nil {
				c.edit(job)
			}
			got := said(Create(Prepared(job)))
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The check of generateName ignores the two characters at the end of "a/-", so only the check of the
// names of all kinds finds the slash. It matters if the Job also has a name.
func TestGenerateNameWithSlash(t *testing.T) {
	job := prepared()
	job.ResourceVersion = "1"
	old := job.DeepCopy()
	for generateName, want := range map[string][]string{
		"a/-": {"metadata.generateName: Invalid value: may not contain '/'"},
		"a%-": {"metadata.generateName: Invalid value: may not contain '%'"},
		"a--": nil,
	} {
		job.GenerateName = generateName
		wantErrors(t, Create(job), want...)
		wantErrors(t, Update(job, old), want...)
	}
	// The API server does not look for it in a Job that is invalid for another reason.
	job.GenerateName, job.Namespace = "a/-", ""
	wantErrors(t, Create(job), "metadata.namespace: Required value")
}

func TestWithGeneratedSelector(t *testing.T) {
	generated := map[string]string{
		"controller-uid": "uid", "job-name": "job",
		"batch.kubernetes.io/controller-uid": "uid", "batch.kubernetes.io/job-name": "job",
	}
	bare := WithGeneratedSelector(written())
	Same(t, "labels", bare.Spec.Template.Labels, generated)
	Same(t, "selector", bare.Spec.Selector, &metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": "uid"}})

	own := written()
	own.Spec.Template.Labels = map[string]string{"job-name": "mine", "app": "x"}
	own.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	got := WithGeneratedSelector(own)
	if got.Spec.Template.Labels["job-name"] != "mine" || got.Spec.Template.Labels["app"] != "x" {
		t.Errorf("labels became %v, want those of the user kept", got.Spec.Template.Labels)
	}
	Same(t, "what the selector matches", got.Spec.Selector.MatchLabels, map[string]string{"app": "x", "batch.kubernetes.io/controller-uid": "uid"})

	Same(t, "the labels of the input", own.Spec.Template.Labels, map[string]string{"job-name": "mine", "app": "x"})
	own.Spec.ManualSelector = new(true)
	Same(t, "with manualSelector", WithGeneratedSelector(own), own)
}

// A Job without labels gets the labels of its template, including the generated ones.
func TestPrepared_labels(t *testing.T) {
	job := written()
	job.Spec.Template.Labels = map[string]string{"app": "x"}
	got := Prepared(job)
	if diff := cmp.Diff(got.Spec.Template.Labels, got.Labels); diff != "" || len(got.Labels) != 5 {
		t.Errorf("labels of the Job are %v, want the 5 of its template %v", got.Labels, got.Spec.Template.Labels)
	}
	if len(Defaulted(job).Labels) != 1 {
		t.Errorf("labels by default are %v, want the one of the template", Defaulted(job).Labels)
	}
	own := map[string]string{"own": "y"}
	job.Labels = own
	Same(t, "the labels of a Job with its own", Prepared(job).Labels, own)
	Same(t, "the labels of a Job whose template has none", Prepared(written()).Labels, nil)
}

func TestPrepared_clearsTheStatus(t *testing.T) {
	job := written()
	job.Status.Active = 3
	got := Prepared(job)
	if diff := cmp.Diff(batchv1.JobStatus{}, got.Status); diff != "" || got.Generation != 1 {
		t.Errorf("generation %d, status (-want +got):\n%s", got.Generation, diff)
	}
}
