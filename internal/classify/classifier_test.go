package classify_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// A work queue has no indexes. An Indexed Job without completions and parallelism has one.
func TestOf(t *testing.T) {
	two, indexed, failed := int32(2), batchv1.IndexedCompletion, batchv1.Failed
	policy := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore}}}
	for name, tc := range map[string]struct {
		spec                          batchv1.JobSpec
		indexed, perIndex, onlyFailed bool
		completions                   int32
	}{
		"work queue":              {batchv1.JobSpec{Parallelism: &two, BackoffLimitPerIndex: &two}, false, false, false, 0},
		"NonIndexed":              {batchv1.JobSpec{Completions: &two}, false, false, false, 0},
		"Indexed":                 {batchv1.JobSpec{CompletionMode: &indexed, Completions: &two}, true, false, false, 2},
		"Indexed by default":      {batchv1.JobSpec{CompletionMode: &indexed}, true, false, false, 1},
		"Indexed, no completions": {batchv1.JobSpec{CompletionMode: &indexed, Parallelism: &two, BackoffLimitPerIndex: &two}, false, false, false, 0},
		"per index":               {batchv1.JobSpec{CompletionMode: &indexed, Completions: &two, BackoffLimitPerIndex: &two}, true, true, false, 2},
		"Failed":                  {batchv1.JobSpec{PodReplacementPolicy: &failed}, false, false, true, 0},
		"with a failure policy":   {batchv1.JobSpec{PodFailurePolicy: policy}, false, false, true, 0},
	} {
		c, err := classify.Of(&batchv1.Job{Spec: tc.spec}, tracking.Keys{Finalizer: "a/b"}, classify.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.Indexed != tc.indexed || c.PerIndex() != tc.perIndex || c.ReplaceFailedOnly != tc.onlyFailed || c.Completions != tc.completions ||
			(c.Policy == nil) != (tc.spec.PodFailurePolicy == nil) || c.Keys().Finalizer != "a/b" {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

// ClassifiesAs reports changes of the Job and of the options that affect the classification.
func TestClassifiesAs(t *testing.T) {
	code := func(code int32, name string) *failurepolicy.Spec {
		return &failurepolicy.Spec{Rules: []failurepolicy.Rule{{
			Name: name, Action: batchv1.PodFailurePolicyActionIgnore,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code}},
		}}}
	}
	type input struct {
		job     *batchv1.Job
		names   tracking.Keys
		options classify.Options
	}
	for _, tc := range []struct {
		reason string
		change func(*input)
		want   bool
	}{
		{"nothing", func(*input) {}, true},
		{"another copy of the Job", func(in *input) { in.job = in.job.DeepCopy() }, true},
		{"parallelism", func(in *input) { in.job.Spec.Parallelism = new(int32(7)) }, true},
		{"the lists", func(in *input) { in.job.Status.UncountedTerminatedPods = Lists(nil, UIDs("a")) }, true},
		{"the same options", func(in *input) {
			in.options = classify.Options{FailurePolicy: code(1, ""), RuleNames: []string{"A"}}
		}, true},
		{"another annotation", func(in *input) { in.names.Index = "example.com/index" }, false},
		{"no indexes", func(in *input) { in.job.Spec.CompletionMode = nil }, false},
		{"more completions", func(in *input) { in.job.Spec.Completions = new(int32(4)) }, false},
		{"another limit", func(in *input) { in.job.Spec.BackoffLimitPerIndex = new(int32(2)) }, false},
		{"restarts count", func(in *input) { in.job.Spec.Template.Spec.RestartPolicy = "OnFailure" }, false},
		{"another UID", func(in *input) { in.job.UID = "other" }, false},
		{"another namespace", func(in *input) { in.job.Namespace = "other" }, false},
		{"deleted", func(in *input) { in.job.DeletionTimestamp = &metav1.Time{} }, false},
		{"finished", func(in *input) { Has(batchv1.JobComplete)(in.job) }, false},
		{"another selector", func(in *input) { in.job.Spec.Selector.MatchLabels["app"] = "other" }, false},
		{"another policy of the Job", func(in *input) { ExitRule(batchv1.PodFailurePolicyActionFailIndex, 9)(in.job) }, false},
		{"another policy of the controller", func(in *input) { in.options.FailurePolicy = code(2, "") }, false},
	} {
		of := func(change func(*input)) *classify.Classifier {
			in := input{job: NewJob(), names: names, options: classify.Options{FailurePolicy: code(1, ""), RuleNames: []string{"A"}}}
			Indexed(3)(in.job)
			PerIndex(1)(in.job)
			ExitRule(batchv1.PodFailurePolicyActionFailIndex, 1)(in.job)
			change(&in)
			return new(Must(classify.Of(in.job, in.names, in.options)))
		}
		before, after := of(func(*input) {}), of(tc.change)
		Same(t, tc.reason, before.ClassifiesAs(after), tc.want)
		Same(t, tc.reason+", the other way round", after.ClassifiesAs(before), tc.want)
	}
}

// Without a policy, podReplacementPolicy decides when a pod has failed.
func TestClassifiesAs_replacement(t *testing.T) {
	of := func(policy batchv1.PodReplacementPolicy, options classify.Options) *classify.Classifier {
		job := NewJob()
		job.Spec.PodReplacementPolicy = &policy
		return new(Must(classify.Of(job, names, options)))
	}
	terminating := of(batchv1.TerminatingOrFailed, classify.Options{})
	without := classify.Options{WithoutReplacement: true}
	Same(t, "Failed", of(batchv1.Failed, classify.Options{}).ClassifiesAs(terminating), false)
	Same(t, "Failed, without the feature", of(batchv1.Failed, without).ReplaceFailedOnly, false)
	Same(t, "without the feature", of(batchv1.Failed, without).ClassifiesAs(of(batchv1.TerminatingOrFailed, without)), true)
}

// The caller may change the names of rules after a decision.
func TestOf_keepsRuleNames(t *testing.T) {
	job, options := NewJob(), classify.Options{RuleNames: []string{"Old"}}
	before, _ := classify.Of(job, names, options)
	options.RuleNames[0] = "New"
	after, _ := classify.Of(job, names, options)
	Same(t, "other names", before.ClassifiesAs(&after), false)
}

// Matchers cannot be compared: with another policy all pods are classified again, with the
// same one they are not.
func TestClassifiesAs_matchers(t *testing.T) {
	of := func(policy *failurepolicy.Spec) *classify.Classifier {
		return new(Must(classify.Of(NewJob(), names, classify.Options{FailurePolicy: policy, WithoutPerIndex: true})))
	}
	policy := func() *failurepolicy.Spec {
		return &failurepolicy.Spec{Rules: []failurepolicy.Rule{{Matcher: func(*corev1.Pod) (string, bool) { return "", true }}}}
	}
	one := policy()
	Same(t, "the same policy", of(one).ClassifiesAs(of(one)), true)
	Same(t, "another policy", of(one).ClassifiesAs(of(policy())), false)
}

// The classes of pods with the options ExitZero and LostAfter, ten seconds after the grace period.
func TestClassify_options(t *testing.T) {
	exited := func(codes ...int32) Edit {
		return func(pod *corev1.Pod) {
			pod.Status.Phase, pod.Spec.Containers = corev1.PodFailed, make([]corev1.Container, 2)
			for _, code := range codes {
				ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
				pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{State: ended})
			}
		}
	}
	lost := func(pod *corev1.Pod) { pod.Spec.NodeName, pod.DeletionTimestamp = "lost", new(After(0)) }
	is := func(status corev1.ConditionStatus) Edit {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: status},
			}
		}
	}
	type what struct{ Succeeded, Failed, Terminating, Lost bool }
	for _, tc := range []struct {
		reason string
		pod    *corev1.Pod
		after  time.Duration
		want   what
	}{
		{"all exited with 0", Pod("a", exited(0, 0)), 1, what{Succeeded: true}},
		{"one with another code", Pod("a", exited(0, 1)), 1, what{Failed: true}},
		{"one does not say", Pod("a", exited(0)), 1, what{Failed: true}},
		{"none says", Pod("a", exited()), 1, what{Failed: true}},
		{"exited, but runs", Pod("a", exited(0, 0), Phase(corev1.PodRunning)), 1, what{}},
		{"lost", Pod("a", lost), 10 * time.Second, what{Failed: true, Lost: true}},
		{"not ready", Pod("a", lost, is(corev1.ConditionUnknown)), time.Second, what{Failed: true, Lost: true}},
		{"ready", Pod("a", lost, is(corev1.ConditionTrue)), time.Second, what{Terminating: true}},
		{"not yet", Pod("a", lost), 10*time.Second + 1, what{Terminating: true}},
		{"without the option", Pod("a", lost), 0, what{Terminating: true}},
		{"without a node", Pod("a", Deleted), time.Second, what{Terminating: true}},
	} {
		job := NewJob()
		job.Spec.PodReplacementPolicy = new(batchv1.Failed)
		c, _ := classify.Of(job, names, classify.Options{ExitZero: true, LostAfter: tc.after, Now: After(10).Time})
		r := c.Classify(tc.pod, classify.Owned, false, &classify.Classes{})
		Same(t, tc.reason, what{r.Succeeded, r.Failed, r.Terminating, r.Lost}, tc.want)
	}
}

// Pods of a Job without indexes have none, whatever their annotations say.
func TestClassify_withoutIndexes(t *testing.T) {
	r := classifierOf(NewJob()).Classify(Pod("a", Failed, Index("3"), Failures("2")), classify.Owned, false, &classify.Classes{})
	Same(t, "Index", r.Index, int32(-1))
	Same(t, "Counts", r.Counts, classify.Counts{})
	Same(t, "Match", r.Match(), failurepolicy.Match{Rule: -1})
}

// Lists of the same length are read, and are not damaged.
func TestOf_uncounted(t *testing.T) {
	job := NewJob()
	Indexed(2)(job)
	job.Status.UncountedTerminatedPods = Lists(UIDs("a"), UIDs("b"))
	c := classifierOf(job)
	Same(t, "uncounted pods", c.Uncounted.Listed, map[types.UID]bool{"a": false, "b": true})
	Same(t, "damaged", c.Uncounted.Damaged, false)
	Same(t, "succeeded", c.Uncounted.Succeeded, UIDs("a"))
	Same(t, "failed", c.Uncounted.Failed, UIDs("b"))
	a := accountOf(*c, classify.AccountInputs{}, Pod("a", Succeeded, Index("0")), Pod("b", Failed, Index("1")))
	Same(t, "recorded of listed pods", a.Recorded, 0)
}

func classified(job *batchv1.Job, relation classify.Relation, stripped bool, pod *corev1.Pod) classify.PodRecord {
	return classifierOf(job).Classify(pod, relation, stripped, &classify.Classes{})
}

// Whether a pod is finalized and tracked: the patch that adopts it adds the finalizer, and one that has been removed does
// not count, though the pod still shows it.
func TestClassify_finalizers(t *testing.T) {
	for _, tc := range []struct {
		name               string
		relation           classify.Relation
		stripped           bool
		pod                *corev1.Pod
		finalized, tracked bool
	}{
		{"owned", classify.Owned, false, Pod("a"), true, true},
		{"owned, freed", classify.Owned, false, Pod("a", Released), false, false},
		{"owned, freed a moment ago", classify.Owned, true, Pod("a"), true, false},
		{"to be adopted", classify.Adoptable, false, Pod("a", Released), true, true},
	} {
		r := classified(NewJob(), tc.relation, tc.stripped, tc.pod)
		Same(t, tc.name+": finalized and tracked", []bool{r.Finalized, r.Tracked}, []bool{tc.finalized, tc.tracked})
	}
}

// The uncounted lists overrule the phase of finished pods with the finalizer, and of no others.
func TestClassify_listed(t *testing.T) {
	job := NewJob()
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
		r := classified(job, classify.Owned, false, tc.pod)
		Same(t, tc.name, []bool{r.Listed, r.Succeeded, r.Failed}, []bool{tc.listed, tc.succeeded, tc.failed})
	}
}

// Ignored failures do not use up the limit of an index, and an index whose failure is ignored does not fail.
func TestClassify_limitOfAnIndex(t *testing.T) {
	job := NewJob()
	Indexed(5)(job)
	PerIndex(1)(job)
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
		r := classified(job, classify.Owned, false, tc.pod)
		Same(t, tc.name+": exhausted, and fails its index", []bool{r.Exhausted, r.FailsIndex()}, []bool{tc.exhausted, tc.fails})
	}
}

// Records of pods in one class share the rule that they match, but each names its own pod.
func TestMatch_namesItsPod(t *testing.T) {
	job := NewJob()
	job.Spec.PodFailurePolicy = ExitCodePolicy()
	of := Must(classify.Of(job, tracking.Keys{}.WithDefaults(), classify.Options{}))
	var shared classify.Classes
	fail := Exit(ExitFailJob, After(0))
	a, b := of.Classify(Pod("a", fail), classify.Owned, false, &shared), of.Classify(Pod("b", fail), classify.Owned, false, &shared)
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
	c := of.Classify(Pod("c", fail), classify.Owned, false, &shared)
	Same(t, "after Match, a third pod is in the class", c.Class == a.Class, true)
}

// Without a limit per index, the limit of the Job stays; a failure policy asks for failed pods even if the replacement
// policy is switched off.
func TestOf_withoutFeatures(t *testing.T) {
	job := NewJob()
	job.Spec.BackoffLimit, job.Spec.BackoffLimitPerIndex = new(int32(3)), new(int32(1))
	of, _ := classify.Of(job, tracking.Keys{}.WithDefaults(), classify.Options{WithoutPerIndex: true})
	Same(t, "the limit", of.Limit, backoff.Limit{Target: backoff.TargetJob, PerJob: 3})
	job.Spec.PodFailurePolicy = ExitCodePolicy()
	of, _ = classify.Of(job, tracking.Keys{}.WithDefaults(), classify.Options{WithoutReplacement: true})
	Same(t, "replaces failed pods only", of.ReplaceFailedOnly, true)
}

// An Account is full once it has removed as many finalizers as it may. The other pods are deferred.
func TestAccount_fullByRemovals(t *testing.T) {
	of, _ := classify.Of(NewJob(), tracking.Keys{}.WithDefaults(), classify.Options{})
	pods := []*corev1.Pod{Pod("a", Failed), Pod("b", Failed)}
	for removals, want := range map[int][]any{1: {1, 1, true}, 2: {2, 0, true}, 3: {2, 0, false}} {
		a := accountOf(of, classify.AccountInputs{Removals: removals}, pods...)
		Same(t, "stripped, deferred, full", []any{len(a.Strip), a.Deferred, a.Full}, want)
	}
}
