package validation

import (
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// starting checks that there is one text for each beginning, in order.
func starting(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d texts %q, want %d", len(got), got, len(want))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("text %d is %q, want it to begin with %q", i, got[i], want[i])
		}
	}
}

func sized(completions, parallelism int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		indexedJob(completions)(j)
		j.Spec.Parallelism = new(parallelism)
	}
}

func TestWarnings(t *testing.T) {
	const many = "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes"
	starting(t, Warnings(written()))
	starting(t, Warnings(prepared(sized(100_001, 10_000))))
	starting(t, Warnings(prepared(sized(100_000, 10_001))))
	starting(t, Warnings(prepared(sized(100_001, 10_001))), many)
	starting(t, Warnings(prepared(sized(100_001, 10_001), func(j *batchv1.Job) { j.Name = "a.b" })),
		"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]", many)
	starting(t, Warnings(prepared(func(j *batchv1.Job) { j.Spec.Completions, j.Spec.Parallelism = new(int32(100_001)), new(int32(10_001)) })))
}

func TestAdvice(t *testing.T) {
	const high, size, restart = "spec.completions: 100001 is above 100000", "status: completedIndexes and failedIndexes may take ", "spec.backoffLimitPerIndex: "
	starting(t, Advice(written()))
	starting(t, Advice(prepared(func(j *batchv1.Job) { j.Spec.Completions = new(int32(100_001)) }))) // it lists no indexes
	starting(t, Advice(prepared(sized(100_000, 100_000))))
	starting(t, Advice(prepared(sized(100_001, 10_000))), high)
	// KEP-3850 accepts a Job with all values at the limits.
	starting(t, Advice(prepared(perIndex(100_000), func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(100_000)) })))
	// A regular Job may have parallelism 10^5 at any completions.
	starting(t, Advice(prepared(sized(1_000_000, 100_000))), "spec.completions: 1000000 is above 100000", size+"1400014 bytes together, more than the 600000")
	// "It can only be set when Job's completionMode=Indexed, and the Pod's restart
	// policy is Never." The API server does not check the restart policy.
	onFailure := prepared(perIndex(5), func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure })
	wantErrors(t, Create(onFailure))
	starting(t, Advice(onFailure), restart)
}

// Without manualSelector the API server generates labels, and an index is a label.
func TestAdvice_withoutLabels(t *testing.T) {
	bare := func(j *batchv1.Job) {
		j.Spec.ManualSelector, j.Spec.Selector, j.Spec.Template.Labels = new(true), &metav1.LabelSelector{}, nil
	}
	managedBy := func(name string) func(*batchv1.Job) { return func(j *batchv1.Job) { j.Spec.ManagedBy = &name } }
	const none = "spec.template.metadata.labels: the built-in controller creates no pod without labels"
	starting(t, Advice(prepared(bare)), none)
	starting(t, Advice(prepared(bare, managedBy(batchv1.JobControllerName))), none)
	starting(t, Advice(prepared(bare, managedBy("example.com/other"))))
	starting(t, Advice(prepared(bare, indexedJob(1))))
	starting(t, Advice(prepared(bare, func(j *batchv1.Job) { j.Spec.Selector = nil }))) // the API server requires one
	starting(t, Advice(prepared(bare, func(j *batchv1.Job) { j.Spec.ManualSelector = new(false) })))
	starting(t, Advice(prepared(bare, func(j *batchv1.Job) { j.Spec.Template.Labels = map[string]string{"a": "b"} })))
}

// Only OnFailure gets the advice about restarts. Other rules reject Always and a missing
// policy.
func TestAdvice_onlyAboutOnFailure(t *testing.T) {
	for policy, want := range map[corev1.RestartPolicy]int{
		corev1.RestartPolicyOnFailure: 1, corev1.RestartPolicyNever: 0, corev1.RestartPolicyAlways: 0, "": 0,
	} {
		job := prepared(perIndex(5), func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = policy })
		if got := Advice(job); len(got) != want {
			t.Errorf("restart policy %q: %q, want %d lines", policy, got, want)
		}
	}
}

func TestStatusAdvice(t *testing.T) {
	list := func(size int) string { return strings.Repeat("1,", size)[:size] }
	status := func(completed, failed int) *batchv1.JobStatus {
		f := list(failed)
		return &batchv1.JobStatus{CompletedIndexes: list(completed), FailedIndexes: &f}
	}
	for _, c := range []struct {
		status *batchv1.JobStatus
		want   string // what the warning ends with; empty for none
	}{
		{nil, ""},
		{&batchv1.JobStatus{}, ""},
		{&batchv1.JobStatus{CompletedIndexes: list(479_999)}, ""},
		{&batchv1.JobStatus{CompletedIndexes: list(480_000)}, "take 480000 bytes together, 80% of the 600000 that KEP-3850 accepts"},
		{status(300_000, 179_999), ""},
		{status(300_000, 210_000), "take 510000 bytes together, 85% of the 600000 that KEP-3850 accepts"},
		{status(900_000, 0), "take 900000 bytes together, 150% of the 600000 that KEP-3850 accepts"},
	} {
		got := strings.Join(StatusAdvice(c.status), "\n")
		if !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("got %q, want it to end with %q", got, c.want)
		}
	}
}

// The exported limits are those that the rules enforce: a spec at the limit is valid, and a
// spec above it is not.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limit int
		set   func(*batchv1.JobSpec, int)
	}{
		"MaxIndexedParallelism": {MaxIndexedParallelism, func(s *batchv1.JobSpec, n int) { s.Parallelism = new(int32(n)) }},
		"MaxFailedIndexes": {MaxFailedIndexes, func(s *batchv1.JobSpec, n int) {
			s.BackoffLimitPerIndex, s.MaxFailedIndexes = new(int32(1)), new(int32(n))
			s.Completions = new(int32(HighCompletions))
		}},
		"HighCompletions": {HighCompletions, func(s *batchv1.JobSpec, n int) {
			s.Completions, s.BackoffLimitPerIndex = new(int32(n)), new(int32(1))
		}},
		"HighCompletionsParallelism": {HighCompletionsParallelism, func(s *batchv1.JobSpec, n int) {
			s.Completions, s.BackoffLimitPerIndex = new(int32(HighCompletions+1)), new(int32(1))
			s.MaxFailedIndexes, s.Parallelism = new(int32(1)), new(int32(n))
		}},
		"HighCompletionsFailedIndexes": {HighCompletionsFailedIndexes, func(s *batchv1.JobSpec, n int) {
			s.Completions, s.BackoffLimitPerIndex = new(int32(HighCompletions+1)), new(int32(1))
			s.MaxFailedIndexes = new(int32(n))
		}},
	} {
		spec := batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(5)), Parallelism: new(int32(1))}
		c.set(&spec, c.limit)
		if errs := indexedLimits(&spec); len(errs) > 0 {
			t.Errorf("%s: at the limit: %v", name, errs)
		}
		c.set(&spec, c.limit+1)
		if errs := indexedLimits(&spec); len(errs) == 0 || !strings.Contains(errs[len(errs)-1].Detail, strconv.Itoa(c.limit)) {
			t.Errorf("%s: above the limit: got %v, want an error that names it", name, errs)
		}
	}
}
