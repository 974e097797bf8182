package validation

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// runUpdate changes a valid stored Job and checks the errors.
func runUpdate(t *testing.T, cases []updateCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			old := prepared(func(j *batchv1.Job) { j.ResourceVersion = "1" })
			if c.old != nil {
				c.old(old)
			}
			job := old.DeepCopy()
			c.edit(job)
			var given Inputs
			given.AddView(job, nil)
			given.AddView(old, nil)
			wantErrors(t, Update(job, old), c.want...)
			if c.want136 == nil {
				c.want136 = c.want
			}
			wantErrors(t, Update(job, old, Release(36)), c.want136...)
			if changed := given.Changed(); changed != "" {
				t.Error("Update writes into its input:", changed)
			}
		})
	}
}

type updateCase struct {
	name    string
	old     func(*batchv1.Job)
	edit    func(*batchv1.Job)
	want    []string
	want136 []string // in 1.36; nil if it is the same
}

func TestUpdateMutableFields(t *testing.T) {
	runUpdate(t, []updateCase{
		{name: "nothing", edit: func(*batchv1.Job) {}},
		{
			name: "all mutable fields",
			old:  perIndex(5),
			edit: func(j *batchv1.Job) {
				s := &j.Spec
				s.Parallelism, s.BackoffLimit, s.TTLSecondsAfterFinished, s.MaxFailedIndexes = new(int32(2)), new(int32(3)), new(int32(4)), new(int32(5))
				s.ActiveDeadlineSeconds = new(int64(6))
				s.Suspend, s.ManualSelector = new(true), new(true)
				s.PodReplacementPolicy = new(batchv1.Failed)
				j.Labels, j.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
			},
		},
		{name: "the status, which is not read", edit: func(j *batchv1.Job) { j.Status.Active = -1 }},
		{name: "what a manifest lacks", old: beingDeleted, edit: asManifest},
	})
}

// beingDeleted sets what the API server adds to the metadata, asManifest removes it.
func beingDeleted(j *batchv1.Job) {
	j.Generation, j.CreationTimestamp, j.DeletionTimestamp = 3, *at(-2), at(-1)
	j.DeletionGracePeriodSeconds, j.Finalizers = new(int64(0)), []string{metav1.FinalizerDeleteDependents}
}

func asManifest(j *batchv1.Job) {
	j.UID, j.Generation, j.CreationTimestamp = "", 0, metav1.Time{}
	j.DeletionTimestamp, j.DeletionGracePeriodSeconds = nil, nil
}

func TestStatusUpdateOfAManifest(t *testing.T) {
	old := prepared(func(j *batchv1.Job) { j.ResourceVersion = "1" }, beingDeleted)
	job := old.DeepCopy()
	asManifest(job)
	job.Status.Active = 1
	wantErrors(t, StatusUpdate(job, old))
	job.DeletionGracePeriodSeconds, job.GenerateName = new(int64(30)), "a/b"
	wantErrors(t, StatusUpdate(job, old), "metadata.generateName: Invalid value: may not contain '/'",
		"metadata.deletionGracePeriodSeconds: Invalid value: field is immutable")
}

// The Job of a custom resource has no selector, so Update needs the generated one of both versions.
func TestUpdate_customResource(t *testing.T) {
	old := written()
	old.ResourceVersion = "1"
	job := old.DeepCopy()
	job.Spec.BackoffLimit = new(int32(2))
	asStored := func(job *batchv1.Job) *batchv1.Job { return WithGeneratedSelector(Defaulted(job)) }
	wantErrors(t, Update(asStored(job), asStored(old)))
	job.Spec.ManagedBy = new("example.com/other")
	wantErrors(t, Update(asStored(job), asStored(old)), "spec.managedBy: Invalid value: field is immutable")
}

func TestUpdateImmutableFields(t *testing.T) {
	const (
		resourceVersion = "metadata.resourceVersion: Invalid value: must be specified for an update"
		finalizer       = "metadata.finalizers[0]: Invalid value: name is neither a standard finalizer name nor is it fully qualified"
		creation        = "metadata.creationTimestamp: Invalid value: field is immutable"
		deletion        = "metadata.deletionTimestamp: Invalid value: field is immutable"
		negative        = "spec.parallelism: Invalid value: must be greater than or equal to 0"
	)
	runUpdate(t, []updateCase{
		{name: "resource version removed", edit: func(j *batchv1.Job) { j.ResourceVersion = "" }, want: []string{resourceVersion}, want136: times(2, resourceVersion)},
		{name: "UID removed: the Job keeps its UID", edit: func(j *batchv1.Job) { j.UID = "" }},
		{
			name: "UID changed", edit: func(j *batchv1.Job) { j.UID = "other"; j.Spec.ManualSelector = new(true) },
			want: []string{"metadata.uid: Invalid value: field is immutable"}, want136: times(2, "metadata.uid: Invalid value: field is immutable"),
		},
		{
			name: "created and deleted by the update",
			edit: func(j *batchv1.Job) { j.CreationTimestamp, j.DeletionTimestamp = *at(0), at(0) },
			want: []string{creation, deletion}, want136: slices.Concat([]string{creation, deletion}, []string{creation, deletion}),
		},
		{name: "finalizer", edit: func(j *batchv1.Job) { j.Finalizers = []string{"x"} }, want: []string{finalizer}, want136: times(2, finalizer)},
		{name: "an invalid spec", edit: func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(-1)) }, want: []string{negative}, want136: times(2, negative)},
		{name: "selector", edit: func(j *batchv1.Job) { j.Spec.Selector.MatchLabels["job-name"] = "job" }, want: []string{"spec.selector: Invalid value: field is immutable"}},
		{
			name: "completion mode",
			old:  indexedJob(5), edit: func(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.NonIndexedCompletion) },
			want: []string{"spec.completionMode: Invalid value: field is immutable"},
		},
		{name: "failure policy", edit: withRules(), want: []string{"spec.podFailurePolicy: Invalid value: field is immutable"}},
		{
			name: "backoff limit per index", old: indexedJob(5), edit: func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(1)) },
			want: []string{"spec.backoffLimitPerIndex: Invalid value: field is immutable"},
		},
		{name: "managedBy", edit: func(j *batchv1.Job) { j.Spec.ManagedBy = new("a.b/c") }, want: []string{"spec.managedBy: Invalid value: field is immutable"}},
		{
			name: "success policy", old: indexedJob(5),
			edit: func(j *batchv1.Job) {
				j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
			},
			want: []string{"spec.successPolicy: Invalid value: field is immutable"},
		},
	})
}

// scaled is an edit of completions and parallelism.
func scaled(completions int32, parallelism *int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.Completions, j.Spec.Parallelism = &completions, parallelism }
}

func TestUpdateCompletions(t *testing.T) {
	const missing = "spec.completions: Required value: when completion mode is Indexed"
	const tandem = "spec.completions: Invalid value: can only be modified in tandem with spec.parallelism"
	runUpdate(t, []updateCase{
		{name: "not indexed", edit: scaled(2, new(int32(2))), want: []string{"spec.completions: Invalid value: field is immutable"}},
		{name: "elastic, up", old: indexedJob(5), edit: scaled(7, new(int32(7)))},
		{name: "elastic, down", old: indexedJob(5), edit: scaled(2, new(int32(2)))},
		{name: "completions alone", old: indexedJob(5), edit: scaled(7, new(int32(5))), want: []string{tandem}},
		{name: "parallelism alone", old: indexedJob(5), edit: scaled(5, new(int32(2)))},
		// The completions must equal the parallelism of the same update, not the one before it.
		{name: "to the old parallelism, which changes too", old: sized(5, 3), edit: scaled(3, new(int32(4))), want: []string{tandem}},
		{name: "to the old parallelism, swapped with it", old: sized(5, 3), edit: scaled(3, new(int32(5))), want: []string{tandem}},
		{name: "to the parallelism, which stays", old: sized(5, 3), edit: scaled(3, new(int32(3)))},
		{name: "to the new parallelism", old: sized(5, 3), edit: scaled(4, new(int32(4)))},
		// The API server panics on these two; it always sees the default, 1.
		{name: "to one, without parallelism", old: indexedJob(5), edit: scaled(1, nil)},
		{name: "to two, without parallelism", old: indexedJob(5), edit: scaled(2, nil), want: []string{tandem}},
		{
			name: "completions removed, reported by both checks of the spec", old: indexedJob(5),
			edit: func(j *batchv1.Job) { j.Spec.Completions = nil },
			want: []string{missing}, want136: times(2, missing),
		},
	})
}

// The host name of the last pod must be a label after an update, too.
func TestUpdateCompletions_longHostname(t *testing.T) {
	longest := strings.Repeat("a", 61)
	old := func(j *batchv1.Job) {
		indexedJob(10)(j)
		j.Name = longest
		for _, label := range []string{batchv1.JobNameLabel, "job-name"} {
			j.Spec.Template.Labels[label] = longest
		}
	}
	runUpdate(t, []updateCase{
		{name: "63 bytes", old: old, edit: scaled(9, new(int32(9)))},
		{name: "64 bytes", old: old, edit: scaled(11, new(int32(11))),
			want: []string{"metadata.name: Invalid value: will not able to create pod with invalid DNS label: " + longest + "-10"}},
	})
}

// A Job that an older release stored stays valid.
func TestUpdateOfOldJobs(t *testing.T) {
	runUpdate(t, []updateCase{
		{
			name: "without the prefixed labels",
			old: func(j *batchv1.Job) {
				delete(j.Spec.Template.Labels, batchv1.JobNameLabel)
				delete(j.Spec.Template.Labels, batchv1.ControllerUidLabel)
				j.Spec.Selector.MatchLabels = map[string]string{"controller-uid": "uid"}
			},
			edit: func(*batchv1.Job) {},
		},
		{
			name: "with only one of the prefixed labels",
			old: func(j *batchv1.Job) {
				delete(j.Spec.Template.Labels, batchv1.JobNameLabel)
				j.Spec.Selector.MatchLabels = map[string]string{"controller-uid": "uid"}
			},
			edit: func(*batchv1.Job) {},
		},
		{
			name:    "without a label without prefix, which was always required",
			old:     func(j *batchv1.Job) { delete(j.Spec.Template.Labels, "job-name") },
			edit:    func(*batchv1.Job) {},
			want136: []string{"spec.template.metadata.labels[job-name]: Required value: must be 'job'"},
		},
		{
			name: "with an invalid value in its selector",
			old: func(j *batchv1.Job) {
				j.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"-bad"}}}
				j.Spec.ManualSelector = new(true)
			},
			edit: func(*batchv1.Job) {},
		},
	})
}

func suspendedNew(j *batchv1.Job) { j.Spec.Suspend = new(true) }

func TestUpdateTemplate(t *testing.T) {
	const frozen = "spec.template: Invalid value: field is immutable"
	const frozenSpec = "spec.template.spec: Invalid value: field is immutable"
	start := metav1.NewTime(time.Unix(1, 0))
	tolerate := func(j *batchv1.Job) {
		j.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	}
	suspendedWith := func(status batchv1.JobStatus) func(*batchv1.Job) {
		return func(j *batchv1.Job) { suspendedNew(j); j.Status = status }
	}
	cpu := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	runUpdate(t, []updateCase{
		{name: "a Job that is not suspended", edit: tolerate, want: []string{frozen}},
		{name: "a suspended Job that never started", old: suspendedNew, edit: tolerate},
		{
			name: "a suspended Job that the controller has not stopped",
			old:  suspendedWith(batchv1.JobStatus{StartTime: &start}), edit: tolerate, want: []string{frozen},
		},
		{
			name: "a suspended Job that the controller has not stopped since it ran again",
			old: suspendedWith(batchv1.JobStatus{StartTime: &start, Conditions: []batchv1.JobCondition{
				{Type: suspendedCond, Status: corev1.ConditionFalse}, {Type: target, Status: corev1.ConditionTrue},
			}}),
			edit: tolerate, want: []string{frozen},
		},
		{name: "a stopped Job", old: suspendedWith(batchv1.JobStatus{StartTime: &start, Conditions: is(suspendedCond)}), edit: tolerate},
		{
			name: "a stopped Job whose pods still run",
			old:  suspendedWith(batchv1.JobStatus{Active: 1, Conditions: is(suspendedCond)}), edit: tolerate, want: []string{frozen},
		},
		{
			name: "scheduling directives, labels, annotations and resources", old: suspendedNew,
			edit: func(j *batchv1.Job) {
				template := &j.Spec.Template
				template.Labels["a"] = "b"
				template.Annotations = map[string]string{"c": "d"}
				template.Spec.NodeSelector = map[string]string{"e": "f"}
				template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}}
				template.Spec.Containers[0].Resources = cpu
				template.Spec.InitContainers[0].Resources = cpu
			},
		},
		{name: "resources of a container", old: suspendedNew, edit: func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Resources = cpu }},
		{name: "resources of an init container", old: suspendedNew, edit: func(j *batchv1.Job) { j.Spec.Template.Spec.InitContainers[0].Resources = cpu }},
		{name: "image", old: suspendedNew, edit: func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Image = "other" }, want: []string{frozenSpec}},
		{name: "service account", old: suspendedNew, edit: func(j *batchv1.Job) { j.Spec.Template.Spec.ServiceAccountName = "account" }, want: []string{frozenSpec}},
		{
			name: "security context", old: suspendedNew,
			edit: func(j *batchv1.Job) {
				j.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1))}
			},
			want: []string{frozenSpec},
		},
		{
			name: "resources of a renamed container", old: suspendedNew,
			edit: func(j *batchv1.Job) {
				j.Spec.Template.Spec.Containers[0].Name, j.Spec.Template.Spec.Containers[0].Resources = "new", cpu
			},
			want: []string{frozenSpec},
		},
		{
			name: "one more container", old: suspendedNew,
			edit: func(j *batchv1.Job) {
				j.Spec.Template.Spec.Containers = append(j.Spec.Template.Spec.Containers, corev1.Container{Name: "more"})
			},
			want: []string{frozenSpec},
		},
		{
			name: "different values that the API server stores in the same form",
			old:  func(j *batchv1.Job) { j.Spec.Template.Spec.DeprecatedServiceAccount = "account" },
			edit: func(j *batchv1.Job) {
				j.Spec.Template.Spec.DeprecatedServiceAccount = ""
				j.Spec.Template.Spec.ServiceAccountName = "account"
				j.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{}
			},
		},
	})
}

func TestUpdateAffinity(t *testing.T) {
	node, other := &corev1.NodeAffinity{}, &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1}}}
	pod := &corev1.PodAffinity{}
	for _, c := range []struct {
		name    string
		was     *corev1.Affinity
		now     *corev1.Affinity
		refused bool
	}{
		{name: "none"},
		{name: "added", now: &corev1.Affinity{NodeAffinity: node}},
		{name: "removed", was: &corev1.Affinity{NodeAffinity: node}},
		{name: "changed", was: &corev1.Affinity{NodeAffinity: node, PodAffinity: pod}, now: &corev1.Affinity{NodeAffinity: other, PodAffinity: pod}},
		{name: "removed beside a pod affinity", was: &corev1.Affinity{NodeAffinity: node, PodAffinity: pod}, now: &corev1.Affinity{PodAffinity: pod}},
		{name: "empty added", now: &corev1.Affinity{}},
		{name: "pod affinity added", now: &corev1.Affinity{PodAffinity: pod}, refused: true},
		{name: "pod affinity removed", was: &corev1.Affinity{NodeAffinity: node, PodAffinity: pod}, refused: true},
		{name: "pod affinity removed, empty affinity left", was: &corev1.Affinity{PodAffinity: pod}, now: &corev1.Affinity{}, refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := prepared(suspendedNew, func(j *batchv1.Job) { j.ResourceVersion = "1"; j.Spec.Template.Spec.Affinity = c.was })
			job := old.DeepCopy()
			job.Spec.Template.Spec.Affinity = c.now
			var want []string
			if c.refused {
				want = []string{"spec.template.spec: Invalid value: field is immutable"}
			}
			wantErrors(t, Update(job, old), want...)
		})
	}
}

// apimachinery's check of metadata changes the new object; Update and StatusUpdate must not.
func TestUpdateLeavesMetadataAlone(t *testing.T) {
	old := prepared(func(j *batchv1.Job) {
		j.ResourceVersion = "1"
		j.CreationTimestamp = metav1.NewTime(time.Unix(1, 0))
		j.DeletionTimestamp = &metav1.Time{Time: time.Unix(2, 0)}
	})
	job := old.DeepCopy()
	job.UID, job.CreationTimestamp, job.DeletionTimestamp = "", metav1.Time{}, nil
	_ = Update(job, old)
	_ = StatusUpdate(job, old)
	if job.UID != types.UID("") || !job.CreationTimestamp.IsZero() || job.DeletionTimestamp != nil {
		t.Errorf("metadata became %+v, want it unchanged", job.ObjectMeta)
	}
}

// Each rule has a unique name.
func TestRuleTablesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	note := func(name string) {
		t.Helper()
		if name == "" || seen[name] {
			t.Errorf("rule name %q is empty or used twice", name)
		}
		seen[name] = true
	}
	for _, rule := range specRules {
		note("spec: " + rule.name)
	}
	for _, rule := range creationRules {
		note("creation: " + rule.name)
	}
	for _, rule := range updateRules {
		note("update: " + rule.name)
	}
	for _, rule := range statusRules {
		note("status: " + rule.name)
		if (rule.state == nil) == (rule.step == nil) {
			t.Errorf("status rule %s has both or none of state and step", rule.name)
		}
	}
}
