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

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/machine/route"
	"github.com/jobfate/jobfate/tracking"
)

// These tests check the effect of options on one decision. ManagedBy is tested in input_test.go, and the caps and
// delays in the root.

// With custom keys, the pods have those keys and no others. A pod with the finalizer of
// Kubernetes is not counted, and a note says so. TestOwnKeys of jobtest/chaos shows that
// everything else is the same as with the keys of Kubernetes.
func TestOptions_keys(t *testing.T) {
	own := decide.Keys(tracking.Keys{
		Finalizer: "example.com/counted", Index: "example.com/part", IndexVariable: "PART", FailureCount: "example.com/failures",
		IgnoredFailureCount: "example.com/ignored", ControllerUID: "example.com/suite-uid", JobName: "example.com/suite",
	})
	job := decidetest.SpecJob(t, "completions: 2\nparallelism: 1\ncompletionMode: Indexed\nbackoffLimitPerIndex: 1")
	job.Spec.Selector, job.Spec.Template.Labels = nil, nil
	pod := Must(decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()}, own)).Create[0].Pod()
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Finalizers:  []string{"example.com/counted"},
		Labels:      map[string]string{"example.com/part": "0", "example.com/suite": job.Name, "example.com/suite-uid": string(job.UID)},
		Annotations: map[string]string{"example.com/part": "0", "example.com/failures": "0"},
	}}
	got := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Finalizers: pod.Finalizers, Labels: pod.Labels, Annotations: pod.Annotations}}
	Same(t, "the pod", got, want)
	env := []corev1.EnvVar{{Name: "PART", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['example.com/part']"}}}}
	Same(t, "its variables", pod.Spec.Containers[0].Env, env)

	pod.Name, pod.UID, pod.Namespace = "pod-0", "pod-0", job.Namespace
	pod.Status.Phase = corev1.PodSucceeded
	foreign := pod.DeepCopy()
	foreign.Name, foreign.UID, foreign.Finalizers = "pod-1", "pod-1", []string{batchv1.JobTrackingFinalizer}
	foreign.Annotations["example.com/part"] = "1"
	d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod, foreign}, Now: jobtest.Noon()}, own))
	Same(t, "completed indexes", d.Status.CompletedIndexes, "0")
	const note = "1 pod succeeded without the finalizer example.com/counted and cannot be counted, such as pod-1"
	if notes := explain.Of(d).Notes(); !slices.ContainsFunc(notes, func(n explain.Reason) bool { return n.Text == note }) {
		t.Errorf("the notes lack %q: %+v", note, notes)
	}
	if routed := route.Of(nil, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "lost", Namespace: "ns", Finalizers: []string{"example.com/counted"}}},
		func(string) []*batchv1.Job { return nil }, own); len(routed) != 1 {
		t.Errorf("a pod without an owner that has the finalizer is routed to %v", routed)
	}
}

// The option FailurePolicy replaces the policy of the Job. A nil policy, no names and the zero Option have no effect.
// With a policy, only failed pods are replaced.
func TestOptions_withFailurePolicy(t *testing.T) {
	spec := "completions: 1\npodFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [1]}}]}"
	named := &failurepolicy.Spec{Rules: []failurepolicy.Rule{
		{}, {Name: "One", Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1},
		}},
	}}
	for _, test := range []struct {
		opts []decide.Option
		want string
	}{
		{nil, "PodFailurePolicy"},
		{[]decide.Option{{}}, "PodFailurePolicy"},
		{[]decide.Option{decide.GranularReasons()}, "PodFailurePolicy_0"},
		{[]decide.Option{decide.RuleNames("Mine")}, "PodFailurePolicy_Mine"},
		{[]decide.Option{decide.RuleNames()}, "PodFailurePolicy_0"},
		{[]decide.Option{decide.RuleNames("")}, "PodFailurePolicy_0"},
		{[]decide.Option{decide.FailurePolicy(named)}, "PodFailurePolicy"},
		{[]decide.Option{decide.FailurePolicy(named), decide.GranularReasons()}, "PodFailurePolicy_One"},
		{[]decide.Option{decide.FailurePolicy(named), decide.RuleNames("Ignored")}, "PodFailurePolicy_One"},
		{[]decide.Option{decide.FailurePolicy(&failurepolicy.Spec{})}, ""},
		{[]decide.Option{decide.FailurePolicy(nil)}, "PodFailurePolicy"},
	} {
		job := decidetest.SpecJob(t, spec)
		d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{decidetest.PodIn(job, 1, corev1.PodFailed)}, Now: job.CreationTimestamp.Time}, test.opts...))
		Same(t, fmt.Sprintf("the reason with %d options", len(test.opts)), reasonOf(d), test.want)
	}
	job := decidetest.SpecJob(t, "completions: 1")
	pod := decidetest.PodIn(job, 1, corev1.PodRunning)
	pod.DeletionTimestamp = &job.CreationTimestamp
	d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time}, decide.FailurePolicy(named)))
	Same(t, "a terminating pod with a policy", explain.Of(d).Job().Code, explain.JobAwaitingTermination)
}

// reasonOf returns the reason of the first condition; empty if there is none.
func reasonOf(d decide.Decision) string {
	if len(d.Status.Conditions) == 0 {
		return ""
	}
	return d.Status.Conditions[0].Reason
}

// With WithoutFailurePolicy, every decision is the same as for a Job without a policy, and the
// names of rules have no effect (KEP-4443 § Business logic).
func TestOptions_withoutFailurePolicy(t *testing.T) {
	policies, differ := 0, 0
	effort.Check(t, 20, func(t *rapid.T) {
		s := snapshotsOf["wild"].Draw(t, "snapshot")
		if s.Job.Spec.PodFailurePolicy == nil {
			return
		}
		policies++
		none := s
		none.Job = s.Job.DeepCopy()
		none.Job.Spec.PodFailurePolicy = nil
		want := decideAll(t, none)
		names := decide.RuleNames([]string{"One"}[:min(1, len(s.Job.Spec.PodFailurePolicy.Rules))]...)
		if diff := cmp.Diff(want, decideAll(t, s, names, decide.FailurePolicy(&failurepolicy.Spec{}), decide.WithoutFailurePolicy())); diff != "" {
			t.Fatalf("-no policy +WithoutFailurePolicy\n%s", diff)
		}
		if want != decideAll(t, none, decide.RuleNames("One")) {
			t.Fatal("names without a policy have an effect")
		}
		of := decideAll(t, s)
		if want != of {
			differ++
		}
		if of != decideAll(t, s, decide.WithoutFailurePolicy(), decide.FailurePolicy(nil)) {
			t.Fatal("FailurePolicy(nil) after WithoutFailurePolicy does not restore the policy of the spec")
		}
	})
	if policies == 0 || differ == 0 {
		t.Errorf("%d Jobs with a policy, %d of them with another decision without it", policies, differ)
	}
}

// KEP-3850 § Feature Enablement: "Does enabling the feature change any default behavior? No." A Job without
// the field is decided in the same way when the feature is off.
func TestOptions_withoutPerIndexBackoff(t *testing.T) {
	without, differ := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := snapshotsOf["wild"].Draw(t, "snapshot")
		diff := cmp.Diff(decideAll(t, s), decideAll(t, s, decide.WithoutPerIndexBackoff()))
		switch {
		case s.Job.Spec.BackoffLimitPerIndex != nil && diff != "":
			differ++
		case s.Job.Spec.BackoffLimitPerIndex == nil:
			without++
			if diff != "" {
				t.Fatalf("-on +off\n%s", diff)
			}
		}
	})
	if without == 0 || differ == 0 {
		t.Errorf("%d Jobs without the field, %d with it and another decision without the feature", without, differ)
	}
}

// Names of rules in options are validated. The error names the option and the rule, and the
// decision is empty.
func TestOptions_namesOfRules(t *testing.T) {
	two := "podFailurePolicy: {rules: [" +
		"{action: FailJob, onExitCodes: {operator: In, values: [1]}}, {action: Ignore, onExitCodes: {operator: In, values: [2]}}]}"
	policy := func(names ...string) decide.Option {
		s := &failurepolicy.Spec{}
		for _, name := range names {
			s.Rules = append(s.Rules, failurepolicy.Rule{Name: name})
		}
		return decide.FailurePolicy(s)
	}
	for _, test := range []struct {
		reason string
		spec   string
		opt    decide.Option
		want   []string
	}{
		{"valid", two, decide.RuleNames("A", "B"), nil},
		{"the index of the rule itself", two, decide.RuleNames("0"), nil},
		{"no index of this policy", two, decide.RuleNames("2"), nil},
		{"no policy, no rule to name: no effect", "", decide.RuleNames("A", "B"), nil},
		{"valid", two, policy("A", "", "B"), nil},
		{"a character", two, decide.RuleNames("A", "a-b ü"), []string{"RuleNames[1]"}},
		{"a character, without a policy", "", decide.RuleNames("a b"), []string{"RuleNames[0]"}},
		{"the length", two, decide.RuleNames(strings.Repeat("a", 112)), []string{"RuleNames[0]"}},
		{"the index of a rule without a name", two, decide.RuleNames("1"), []string{"RuleNames[0]"}},
		{"a duplicate", two, decide.RuleNames("A", "A"), []string{"RuleNames[1]"}},
		{"too many", two, decide.RuleNames("A", "B", "C"), []string{"RuleNames"}},
		{"too many, the last one empty", two, decide.RuleNames("A", "B", ""), []string{"RuleNames"}},
		{"both", "", policy("A", "", "A", "x-"), []string{"FailurePolicy.rules[2].name", "FailurePolicy.rules[3].name"}},
	} {
		d, err := decide.Job(decide.Snapshot{Job: decidetest.SpecJob(t, "completions: 1\n"+test.spec), Now: jobtest.Noon()}, test.opt)
		if !slices.Equal(fieldsOf(err), test.want) || d.Idle() != (test.want != nil) {
			t.Errorf("%s: got %v and an idle decision: %t; want an error for %q", test.reason, err, d.Idle(), test.want)
		}
	}
}

// KEP-4443, Integration tests: "the JobFailed condition has a reason of
// PodFailurePolicy_{Name}", and "Add test cases for both onPodConditions and
// onExitCodes to ensure the Name or the rule's index (when Name is empty) is
// properly added". With the feature off the reason is plain.
func TestReasonOfTheCondition(t *testing.T) {
	const failJob = batchv1.PodFailurePolicyActionFailJob
	exits := func(code int32) *batchv1.PodFailurePolicyOnExitCodesRequirement {
		return &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code}}
	}
	exit := failurepolicy.Rule{OnExitCodes: exits(1)}
	disruption := failurepolicy.Rule{OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget}}}
	for name, test := range map[string]struct {
		rule     failurepolicy.Rule
		name     string
		action   batchv1.PodFailurePolicyAction
		granular bool
		want     string
	}{
		"exit codes, name, on":   {exit, "ConfigError", failJob, true, "PodFailurePolicy_ConfigError"},
		"exit codes, index, on":  {exit, "", failJob, true, "PodFailurePolicy_1"},
		"exit codes, name, off":  {exit, "ConfigError", failJob, false, "PodFailurePolicy"},
		"exit codes, index, off": {exit, "", failJob, false, "PodFailurePolicy"},
		"conditions, name, on":   {disruption, "Disrupted", failJob, true, "PodFailurePolicy_Disrupted"},
		"conditions, index, on":  {disruption, "", failJob, true, "PodFailurePolicy_1"},
		"conditions, name, off":  {disruption, "Disrupted", failJob, false, "PodFailurePolicy"},
		"conditions, index, off": {disruption, "", failJob, false, "PodFailurePolicy"},
		// "When a PodFailurePolicyRule matches a pod failure and the Action is
		// FailJob": no other action sets a reason.
		"ignore":     {exit, "ConfigError", batchv1.PodFailurePolicyActionIgnore, true, ""},
		"count":      {exit, "ConfigError", batchv1.PodFailurePolicyActionCount, false, ""},
		"fail index": {exit, "ConfigError", batchv1.PodFailurePolicyActionFailIndex, true, ""},
	} {
		test.rule.Name, test.rule.Action = test.name, test.action
		policy := &failurepolicy.Spec{Rules: []failurepolicy.Rule{{Name: "First", Action: failJob, OnExitCodes: exits(9)}, test.rule}}
		opts := []decide.Option{decide.FailurePolicy(policy)}
		if test.granular {
			opts = append(opts, decide.GranularReasons())
		}
		job := decidetest.SpecJob(t, "completions: 1")
		pod := decidetest.PodIn(job, 1, corev1.PodFailed)
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
		d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time}, opts...))
		Same(t, name+": the reason", reasonOf(d), test.want)
	}
}

// Once the API has names of rules, a caller that reads Jobs as unstructured finds them in the field, and the Go
// types drop them. Names of the field win over those of RuleNames, whatever the order of the options.
func TestRuleNames_besideTheField(t *testing.T) {
	const text = "completions: 1\npodFailurePolicy: {rules: [{name: Field, action: FailJob, onExitCodes: {operator: In, values: [1]}}]}"
	job, stored, policy := decidetest.SpecJob(t, text), map[string]any{}, &failurepolicy.Spec{}
	NoError(t, yaml.Unmarshal([]byte(text), &stored))
	field, _, err := unstructured.NestedMap(stored, "podFailurePolicy")
	NoError(t, errors.Join(err, runtime.DefaultUnstructuredConverter.FromUnstructured(field, policy)))
	s := decide.Snapshot{Job: job, Pods: []*corev1.Pod{decidetest.PodIn(job, 1, corev1.PodFailed)}, Now: job.CreationTimestamp.Time}
	ofField, ofCaller := decide.FailurePolicy(policy), decide.RuleNames("Caller")
	for name, opts := range map[string][]decide.Option{
		"with GranularReasons": {ofField, decide.GranularReasons()},
		"after RuleNames":      {ofCaller, ofField},
		"before RuleNames":     {ofField, ofCaller},
	} {
		d := Must(decide.Job(s, opts...))
		Same(t, name+": the reason", reasonOf(d), "PodFailurePolicy_Field")
		Same(t, name+": the name in the explanation", explain.Of(d).LastFailure().Match.Name, "Field")
	}
}

// With FailLostPods and SucceedOnExitZero, a decision is that on pods whose phases say so.
func TestOptions_pods(t *testing.T) {
	seen := map[string]int{}
	effort.Check(t, 40, func(t *rapid.T) {
		kind := rapid.SampledFrom(slices.Sorted(maps.Keys(snapshotsOf))).Draw(t, "kind")
		s, after := snapshotsOf[kind].Draw(t, "snapshot"), rapid.SampledFrom([]time.Duration{1, time.Minute}).Draw(t, "after")
		said, next := s, time.Duration(math.MaxInt64)
		said.Pods, s.Pods = nil, slices.Clone(s.Pods)
		of, _ := classify.Of(s.Job, tracking.Keys{}.WithDefaults(), classify.Options{})
		for i, pod := range s.Pods {
			pod = pod.DeepCopy()
			s.Pods[i] = pod
			switch rapid.IntRange(0, 4).Draw(t, "edit") {
			case 0:
				pod.Status = corev1.PodStatus{Phase: corev1.PodFailed}
				for range rapid.IntRange(len(pod.Spec.Containers)-1, len(pod.Spec.Containers)).Draw(t, "statuses") {
					ended := &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(s.Now)}
					pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{State: corev1.ContainerState{Terminated: ended}})
				}
			case 1:
				seconds := rapid.IntRange(-70, 1).Draw(t, "deleted")
				if rapid.IntRange(0, 3).Draw(t, "silent") > 0 {
					pod.Status.Phase, pod.Status.Conditions = corev1.PodRunning, nil
				}
				pod.Spec.NodeName, pod.DeletionTimestamp = "node", new(metav1.NewTime(s.Now.Add(time.Duration(seconds)*time.Second)))
			}
			counted, what := referee.Rules{LostAfter: after, ExitZero: true}.Counted(pod, s.Now), ""
			switch was := pod.Status.Phase; {
			case was != counted.Status.Phase:
				what = fmt.Sprintf("%s, was %s", counted.Status.Phase, was)
			case was == corev1.PodFailed || was == corev1.PodSucceeded || !of.Relation(pod).Own():
			case pod.DeletionTimestamp != nil && referee.Rules{LostAfter: after}.Counted(pod, pod.DeletionTimestamp.Add(after)) != pod:
				next = min(next, pod.DeletionTimestamp.Add(after).Sub(s.Now))
			}
			seen[what]++
			pod = counted
			said.Pods = append(said.Pods, pod)
		}
		got, err := decide.Job(s, decide.FailLostPods(after), decide.SucceedOnExitZero())
		want, wrong := decide.Job(said)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		if diff := cmp.Diff(effectsOf(want), effectsOf(got)); diff != "" {
			t.Fatalf("-phases +options\n%s", diff)
		}
		due := slices.DeleteFunc([]time.Duration{want.Requeue, next}, func(d time.Duration) bool { return d == 0 || d == math.MaxInt64 })
		if got.Action != "" && len(due) > 0 && got.Requeue != slices.Min(due) {
			t.Fatalf("the next sync is due in %s, want the least of %v", got.Requeue, due)
		}
	})
	if seen["Failed, was Running"] == 0 || seen["Succeeded, was Failed"] == 0 {
		t.Errorf("not all kinds of pods were drawn: %v", seen)
	}
}

// effectsOf returns what a decision does, with pods as their names.
func effectsOf(d decide.Decision) []string {
	var out []string
	name := func(what string, pod *corev1.Pod) {
		if pod != nil {
			what += " " + string(pod.UID)
		}
		out = append(out, what)
	}
	for _, c := range d.Claim {
		name("claim", c.Pod)
	}
	for _, x := range d.Delete {
		name("delete", x.Pod)
	}
	for _, c := range d.Create {
		name(fmt.Sprint("create ", c.Index, c.Pod().Annotations), c.Replaces)
	}
	for _, pod := range d.Strip {
		name("strip", pod)
	}
	return append(out, decidetest.ToJSON([]any{d.Status, d.Backoff, d.Events, d.Metrics, d.Deferred, decidetest.Settle(d, d.Strip...)}))
}

// Later options win, and options are independent.
func TestOptions_order(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 9\nparallelism: 9")
	for _, test := range []struct{ first, last, want int }{{1, 4, 4}, {4, 1, 1}, {1, 0, 9}} { // 0 is the default
		d := Must(decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()}, decide.MaxChanges(test.first), decide.MaxChanges(test.last)))
		Same(t, fmt.Sprint("pods to create with ", test), len(d.Create), test.want)
	}
}

// Every invalid number is an InputError that names the option.
func TestOptions_invalid(t *testing.T) {
	for option, opt := range map[string]decide.Option{
		"MaxUncounted":   decide.MaxUncounted(-1),
		"MaxChanges":     decide.MaxChanges(-1),
		"MaxRemovals":    decide.MaxRemovals(-1),
		"FailLostPods":   decide.FailLostPods(-time.Second),
		"BatchPeriod":    decide.BatchPeriod(-time.Second),
		"Backoff.base":   decide.Backoff(backoff.Policy{Base: -1}),
		"Backoff.cap":    decide.Backoff(backoff.Policy{Cap: -1}),
		"Backoff.factor": decide.Backoff(backoff.Policy{Factor: math.NaN()}),
		"Throttle.every": decide.Throttle(-1, 0),
		"Throttle.share": decide.Throttle(0, math.NaN()),
	} {
		job := decidetest.SpecJob(t, "completions: 1")
		_, err := decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()}, opt)
		for what, err := range map[string]error{"Decide": err, "Begin": machine.New(opt).Begin(fresh(job))} {
			Same(t, what+": the fields of the error", fieldsOf(err), []string{option})
		}
	}
}

// The bounds of the numbers are valid.
func TestOptions_bounds(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1")
	Must(decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()}, decide.MaxUncounted(0), decide.MaxChanges(0),
		decide.MaxRemovals(0), decide.FailLostPods(0), decide.BatchPeriod(0), decide.Backoff(backoff.Policy{Factor: 1}),
		decide.Throttle(0, 0)))
}

// While the last status write is not observed, the Job is requeued after the batch period.
func TestOptions_batchPeriodOfAnUnobservedStatus(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1")
	s := decide.Snapshot{Job: job, Now: job.CreationTimestamp.Time, InFlight: decide.InFlight{Status: true}}
	for _, test := range []struct {
		opts []decide.Option
		want time.Duration
	}{{nil, time.Second}, {[]decide.Option{decide.BatchPeriod(7 * time.Second)}, 7 * time.Second}} {
		if d := Must(decide.Job(s, test.opts...)); d.Requeue != test.want || !d.Idle() {
			t.Errorf("%d options: requeue %s, idle %t; want %s and nothing else", len(test.opts), d.Requeue, d.Idle(), test.want)
		}
	}
}
