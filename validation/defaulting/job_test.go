package defaulting

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// written returns a Job as a user writes it, with the namespace and UID that the API server gives it.
func written() *batchv1.Job {
	job := &batchv1.Job{}
	job.Name, job.Namespace, job.UID = "job", "ns", "uid"
	return job
}

func TestNil(t *testing.T) {
	Same(t, "defaults of no Job", []*batchv1.Job{Job(nil), WithGeneratedSelector(nil), Prepared(nil)}, []*batchv1.Job{nil, nil, nil})
}

// specOf reads specs in YAML, each on top of the ones before it.
func specOf(t *testing.T, texts ...string) (spec batchv1.JobSpec) {
	t.Helper()
	for _, text := range texts {
		if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	return spec
}

func TestJob(t *testing.T) {
	const defaults = `{parallelism: 1, completions: 1, backoffLimit: 6, completionMode: NonIndexed, suspend: false,
		manualSelector: false, podReplacementPolicy: TerminatingOrFailed}`
	for _, c := range []struct {
		name string
		spec string
		want string // what the defaults for this spec are instead
	}{
		{"nothing set", "{}", "{}"},
		{"parallelism alone leaves completions open", "parallelism: 3", "completions: null"},
		{"completions alone", "completions: 3", "{}"},
		// KEP-3850: "we default .spec.backoffLimit to max int32 value".
		{"with a limit per index the Job has no limit", "backoffLimitPerIndex: 0", "backoffLimit: 2147483647"},
		{"a failure policy defaults the replacement policy to Failed", "podFailurePolicy: {}", "podReplacementPolicy: Failed"},
		{
			"patterns",
			`podFailurePolicy: {rules: [{onPodConditions: [{type: A}, {type: B, status: "False"}]}]}`,
			`{podFailurePolicy: {rules: [{onPodConditions: [{type: A, status: "True"}, {type: B, status: "False"}]}]},
				podReplacementPolicy: Failed}`,
		},
		{
			"set fields are kept",
			"{suspend: true, manualSelector: true, backoffLimit: 0, completionMode: Indexed, podReplacementPolicy: Failed}", "{}",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := &batchv1.Job{Spec: specOf(t, c.spec)}
			once := Job(job)
			Same(t, "Job", once.Spec, specOf(t, defaults, c.spec, c.want))
			Same(t, "the input", job.Spec, specOf(t, c.spec))
			Same(t, "Job, twice", Job(once), once)
		})
	}
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
			Same(t, "name, generateName", Pair(got.Name, got.GenerateName), Pair(c.want, c.generateName))
			Same(t, "the name of the input", job.Name, c.own)
		})
	}
	Same(t, "WithGeneratedName(nil)", WithGeneratedName(nil), nil)
}

func TestWithGeneratedSelector(t *testing.T) {
	generated := map[string]string{
		"controller-uid": "uid", "job-name": "job",
		"batch.kubernetes.io/controller-uid": "uid", "batch.kubernetes.io/job-name": "job",
	}
	bare := WithGeneratedSelector(written())
	Same(t, "twice", WithGeneratedSelector(bare), bare)
	Same(t, "labels", bare.Spec.Template.Labels, generated)
	Same(t, "selector", bare.Spec.Selector, &metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": "uid"}})

	own := written()
	own.Spec.Template.Labels = map[string]string{"job-name": "mine", "app": "x"}
	own.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	got := WithGeneratedSelector(own)
	labels := got.Spec.Template.Labels
	Same(t, "the labels of the user", Pair(labels["job-name"], labels["app"]), Pair("mine", "x"))
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
	Same(t, "labels of the Job", got.Labels, got.Spec.Template.Labels)
	Same(t, "their number", len(got.Labels), 5)
	Same(t, "labels by default", Job(job).Labels, job.Spec.Template.Labels)
	own := map[string]string{"own": "y"}
	job.Labels = own
	Same(t, "the labels of a Job with its own", Prepared(job).Labels, own)
	Same(t, "the labels of a Job whose template has none", Prepared(written()).Labels, nil)
}

func TestPrepared_clearsTheStatus(t *testing.T) {
	job := written()
	job.Status.Active = 3
	got := Prepared(job)
	Same(t, "generation, status", Pair(got.Generation, got.Status), Pair(int64(1), batchv1.JobStatus{}))
}
