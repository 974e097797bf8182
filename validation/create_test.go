package validation

import (
	"math"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

type createCase struct {
	name string
	why  string // the sentence of the specification that the case checks
	edit func(*batchv1.Job)
	want []string
}

func runCreate(t *testing.T, cases []createCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := prepared(c.edit)
			wantErrors(t, Create(job), c.want...)
			if job.ResourceVersion = "1"; len(c.want) == 0 {
				wantErrors(t, Update(job, job)) // an accepted Job can be written again unchanged
			}
			if t.Failed() && c.why != "" {
				t.Logf("because: %s", c.why)
			}
		})
	}
}

func manualSelector(j *batchv1.Job) {
	j.Spec.ManualSelector, j.Spec.Template.Labels = new(true), map[string]string{"app": "x"}
	j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
}

func TestCreateAccepts(t *testing.T) {
	runCreate(t, []createCase{
		{name: "the minimum that a user must write", edit: func(*batchv1.Job) {}},
		{name: "indexed", edit: indexedJob(5)},
		{name: "no completions and no pods", edit: func(j *batchv1.Job) { j.Spec.Completions, j.Spec.Parallelism = new(int32(0)), new(int32(0)) }},
		{name: "manual selector", edit: func(j *batchv1.Job) { manualSelector(j); j.UID = "" }},
		{name: "finalizers that need no domain", edit: func(j *batchv1.Job) { j.Finalizers = []string{"kubernetes", "orphan", "a.b/c"} }},
		{name: "another finalizer that needs no domain", edit: func(j *batchv1.Job) { j.Finalizers = []string{"foregroundDeletion"} }},
		{name: "managed by another controller", edit: func(j *batchv1.Job) { j.Spec.ManagedBy = new("acme.io/" + strings.Repeat("a", 55)) }},
		{name: "OnFailure", edit: func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }},
	})
}

// The name is the value of two labels of the pods. The Kubernetes documentation, Labels and
// Selectors, says of a value that it "must be 63 characters or less (can be empty)". Object
// Names and IDs says of a name that it must "contain no more than 253 characters".
func TestCreateNameIsALabel(t *testing.T) {
	const inTemplate = "spec.template.labels: Invalid value: must be no more than 63 bytes"
	// The words depend on the release of apimachinery.
	inJob := "metadata.labels: Invalid value: " + validation.IsValidLabelValue(strings.Repeat("a", 64))[0]
	for _, c := range []struct {
		name   string
		length int
		edit   func(*batchv1.Job)
		want   []string
	}{
		{name: "the longest value", length: 63},
		{name: "too long for a value", length: 64, want: []string{inTemplate}},
		{name: "the longest name", length: 253, want: []string{inTemplate}},
		{
			name: "a Job with the labels of its template", length: 64,
			edit: func(j *batchv1.Job) { j.Spec.Template.Labels = map[string]string{"app": "x"} },
			want: []string{inJob, inTemplate},
		},
		{name: "without generated labels", length: 253, edit: manualSelector},
		{name: "Indexed", length: 61, edit: indexedJob(10)},
		{
			name: "Indexed, too long for a host name", length: 62, edit: indexedJob(10),
			want: []string{"metadata.name: Invalid value: will not able to create pod with invalid DNS label: " + strings.Repeat("a", 62) + "-9"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := written()
			job.Name = strings.Repeat("a", c.length)
			if c.edit != nil {
				c.edit(job)
			}
			wantErrors(t, Create(Prepared(job)), c.want...)
			repeated := c.want
			if slices.Contains(c.want, inTemplate) {
				repeated = slices.Repeat(c.want, 2) // both labels have the name
				slices.Sort(repeated)
			}
			wantErrors(t, Create(Prepared(job), Release(36), Option{}), repeated...)
		})
	}
}

// The labels of the template must be valid, also those that the selector does not read. The
// path of the API server lacks "metadata".
func TestCreateTemplateLabels(t *testing.T) {
	job := written()
	job.Labels = map[string]string{"own": "x"}
	job.Spec.Template.Labels = map[string]string{strings.Repeat("k", 64): "x", "value": strings.Repeat("v", 64)}
	wantErrors(t, Create(Prepared(job)),
		"spec.template.labels: Invalid value: name part must be no more than 63 bytes",
		"spec.template.labels: Invalid value: must be no more than 63 bytes")
}

// KEP-3850, Risks, "The Job object too big".
func TestCreateLimitsOfIndexedJobs(t *testing.T) {
	const (
		first  = ".spec.completions<=10^5,.spec.parallelism<=10^5,spec.maxFailedIndexes<=10^5"
		second = "spec.completionsunlimited (<= max int32 ~2*10^9),.spec.parallelism<=10^4,spec.maxFailedIndexes<=10^4"
	)
	with := func(completions, parallelism int32, maxFailed *int32) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			perIndex(completions)(j)
			j.Spec.Parallelism, j.Spec.MaxFailedIndexes = new(parallelism), maxFailed
		}
	}
	const manyParallel = "spec.parallelism: Invalid value: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index"
	const manyFailed = "spec.maxFailedIndexes: Invalid value: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index"
	runCreate(t, []createCase{
		{name: "all at the first limits", why: first, edit: with(100_000, 100_000, new(int32(100_000)))},
		{name: "up to the first limits maxFailedIndexes is optional", why: first, edit: with(100_000, 100_000, nil)},
		{name: "all at the second limits", why: second, edit: with(math.MaxInt32, 10_000, new(int32(10_000)))},
		{
			name: "parallelism above the first limit", why: first,
			edit: with(100_000, 100_001, nil),
			want: []string{"spec.parallelism: Invalid value: must be less than or equal to 100000 when completion mode is Indexed"},
		},
		{
			name: "maxFailedIndexes above completions", why: "It can be null or up to completions.",
			edit: with(5, 1, new(int32(6))),
			want: []string{"spec.maxFailedIndexes: Invalid value: must be less than or equal to completions"},
		},
		{name: "parallelism above the second limit", why: second, edit: with(100_001, 10_001, new(int32(10_000))), want: []string{manyParallel}},
		{name: "maxFailedIndexes above the second limit", why: second, edit: with(100_001, 10_000, new(int32(10_001))), want: []string{manyFailed}},
		{
			name: "no maxFailedIndexes with many completions",
			why:  "It is required and must be less than or equal to 10^4 when is completions greater than 10^5.",
			edit: with(100_001, 10_000, nil),
			want: []string{"spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"},
		},
		{
			name: "everything above every limit", why: second,
			edit: with(100_001, 100_001, new(int32(100_002))),
			want: []string{
				"spec.parallelism: Invalid value: must be less than or equal to 100000 when completion mode is Indexed",
				"spec.maxFailedIndexes: Invalid value: must be less than or equal to completions",
				"spec.maxFailedIndexes: Invalid value: must be less than or equal to 100000",
				manyParallel, manyFailed,
			},
		},
		{
			name: "without a limit per index only the parallelism counts",
			why:  "However, in case when backoffLimitPerIndex is used we propose these limits to be hard.",
			edit: sized(math.MaxInt32, 100_000),
		},
		{
			name: "too many pods at a time without a limit per index",
			edit: sized(math.MaxInt32, 100_001),
			want: []string{"spec.parallelism: Invalid value: must be less than or equal to 100000 when completion mode is Indexed"},
		},
		{
			name: "indexed without completions",
			edit: func(j *batchv1.Job) { indexedJob(1)(j); j.Spec.Completions = nil },
			want: []string{"spec.completions: Required value: when completion mode is Indexed"},
		},
		{
			name: "a limit per index needs indexes",
			why:  "It can only be set when Job's completionMode=Indexed",
			edit: func(j *batchv1.Job) {
				j.Spec.BackoffLimitPerIndex, j.Spec.MaxFailedIndexes = new(int32(1)), new(int32(1))
			},
			want: []string{
				"spec.backoffLimitPerIndex: Invalid value: requires indexed completion mode",
				"spec.maxFailedIndexes: Invalid value: requires indexed completion mode",
			},
		},
		{
			name: "maxFailedIndexes alone",
			why:  "It can only be specified when backoffLimitPerIndex is set.",
			edit: func(j *batchv1.Job) { j.Spec.MaxFailedIndexes = new(int32(-1)) },
			want: []string{
				"spec.maxFailedIndexes: Invalid value: must be greater than or equal to 0",
				"spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
				"spec.maxFailedIndexes: Invalid value: requires indexed completion mode",
			},
		},
	})
}

func TestCreateSpec(t *testing.T) {
	runCreate(t, []createCase{
		{
			name: "negative counts, in order",
			edit: func(j *batchv1.Job) {
				perIndex(-1)(j)
				minus := new(int32(-2))
				j.Spec.Parallelism, j.Spec.BackoffLimit, j.Spec.BackoffLimitPerIndex = minus, minus, minus
				j.Spec.TTLSecondsAfterFinished, j.Spec.MaxFailedIndexes = minus, minus
				j.Spec.ActiveDeadlineSeconds = new(int64(-1))
			},
			want: []string{
				"spec.parallelism: Invalid value: must be greater than or equal to 0",
				"spec.completions: Invalid value: must be greater than or equal to 0",
				"spec.activeDeadlineSeconds: Invalid value: must be greater than or equal to 0",
				"spec.backoffLimit: Invalid value: must be greater than or equal to 0",
				"spec.ttlSecondsAfterFinished: Invalid value: must be greater than or equal to 0",
				"spec.backoffLimitPerIndex: Invalid value: must be greater than or equal to 0",
				"spec.maxFailedIndexes: Invalid value: must be greater than or equal to 0",
			},
		},
		{name: "managedBy empty", edit: func(j *batchv1.Job) { j.Spec.ManagedBy = new("") }, want: []string{"spec.managedBy: Required value"}},
		{
			name: "managedBy without domain",
			edit: func(j *batchv1.Job) { j.Spec.ManagedBy = new("me") },
			want: []string{`spec.managedBy: Invalid value: must be a domain-prefixed path (such as "acme.io/foo")`},
		},
		{
			name: "managedBy of 64 bytes",
			edit: func(j *batchv1.Job) { j.Spec.ManagedBy = new("acme.io/" + strings.Repeat("a", 56)) },
			want: []string{"spec.managedBy: Too long: may not be more than 63 bytes"},
		},
		{
			name: "unknown completion mode, which is not treated as NonIndexed",
			edit: func(j *batchv1.Job) {
				j.Spec.CompletionMode, j.Spec.BackoffLimitPerIndex = new(batchv1.CompletionMode("Other")), new(int32(1))
			},
			want: []string{`spec.completionMode: Unsupported value: supported values: "NonIndexed", "Indexed"`},
		},
		{
			name: "unknown replacement policy",
			edit: func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = new(batchv1.PodReplacementPolicy("Other")) },
			want: []string{`spec.podReplacementPolicy: Unsupported value: supported values: "Failed", "TerminatingOrFailed"`},
		},
		{
			name: "a failure policy requires Failed",
			edit: func(j *batchv1.Job) { j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{} },
			want: []string{`spec.podReplacementPolicy: Unsupported value: supported values: "Failed"`},
		},
		{
			name: "restart policy Always",
			edit: func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways },
			want: []string{`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		},
		{
			name: "no restart policy, which would default to Always",
			edit: func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = "" },
			want: []string{`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		},
		{
			name: "unknown restart policy",
			edit: func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = "Other" },
			want: []string{`spec.template.spec.restartPolicy: Unsupported value: supported values: "OnFailure", "Never"`},
		},
		{
			name: "OnFailure with a failure policy",
			edit: func(j *batchv1.Job) {
				j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
				j.Spec.PodFailurePolicy, j.Spec.PodReplacementPolicy = &batchv1.PodFailurePolicy{}, new(batchv1.Failed)
			},
			want: []string{`spec.template.spec.restartPolicy: Invalid value: only "Never" is supported when podFailurePolicy is specified`},
		},
	})
}

func TestCreateMetadataAndSelector(t *testing.T) {
	long := strings.Repeat("a", 64)
	runCreate(t, []createCase{
		{name: "no namespace", edit: func(j *batchv1.Job) { j.Namespace = "" }, want: []string{"metadata.namespace: Required value"}},
		{
			name: "finalizer without a domain",
			edit: func(j *batchv1.Job) { j.Finalizers = []string{"a.b/c", "mine"} },
			want: []string{"metadata.finalizers[1]: Invalid value: name is neither a standard finalizer name nor is it fully qualified"},
		},
		{
			name: "no UID",
			edit: func(j *batchv1.Job) { *j = *WithGeneratedSelector(written()); j.UID = "" },
			want: []string{
				"metadata.uid: Required value",
				"spec.template.metadata.labels[controller-uid]: Invalid value: must be ''",
				"spec.template.metadata.labels[batch.kubernetes.io/controller-uid]: Invalid value: must be ''",
				"spec.selector: Invalid value: `selector` not auto-generated",
			},
		},
		{
			name: "selector of another Job",
			edit: func(j *batchv1.Job) { j.Spec.Selector.MatchLabels["controller-uid"] = "other" },
			want: []string{
				"spec.selector: Invalid value: `selector` not auto-generated",
				"spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`",
			},
		},
		{
			name: "generated labels missing or changed",
			edit: func(j *batchv1.Job) {
				delete(j.Spec.Template.Labels, "job-name")
				j.Spec.Template.Labels["batch.kubernetes.io/job-name"] = "other"
			},
			want: []string{
				"spec.template.metadata.labels[job-name]: Required value: must be 'job'",
				"spec.template.metadata.labels[batch.kubernetes.io/job-name]: Invalid value: must be 'job'",
			},
		},
		{
			name: "no selector, which matches nothing",
			edit: func(j *batchv1.Job) { j.Spec.Selector = nil },
			want: []string{
				"spec.selector: Required value",
				"spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`",
			},
		},
		{
			name: "a selector that cannot be parsed, in the words of 1.37",
			edit: func(j *batchv1.Job) {
				j.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{
					{Key: long, Operator: "Like"},
					{Key: "a/b/c", Operator: metav1.LabelSelectorOpIn, Values: []string{long}},
				}
			},
			want: []string{
				"spec.selector.matchExpressions[0].operator: Invalid value: not a valid selector operator",
				"spec.selector.matchExpressions[0].key: Invalid value: name part must be no more than 63 bytes",
				"spec.selector.matchExpressions[1].key: Invalid value: a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
				"spec.selector.matchExpressions[1].values[0]: Invalid value: must be no more than 63 bytes",
			},
		},
	})
}

func TestCreateHostname(t *testing.T) {
	named := func(name string, completions int32) *batchv1.Job {
		job := written()
		job.Name = name
		indexedJob(completions)(job)
		return Prepared(job)
	}
	longest := strings.Repeat("a", 61)
	wantErrors(t, Create(named(longest, 10)))
	wantErrors(t, Create(named(longest, 11)),
		"metadata.name: Invalid value: will not able to create pod with invalid DNS label: "+longest+"-10")
	wantErrors(t, Create(named("a.b", 1)),
		"metadata.name: Invalid value: will not able to create pod with invalid DNS label: a.b-0")
	wantErrors(t, Create(named("a.b", 0))) // no index, no host name
}
