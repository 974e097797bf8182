package classify

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// Valid labels need no labels.Selector. All others are left to the API's own rules.
func TestCompileSelector(t *testing.T) {
	areValid := func(set map[string]string, generated label) bool {
		s, _ := compileSelector(&metav1.LabelSelector{MatchLabels: set}, generated)
		return s.labels != nil
	}
	generated := label{"generated", "not valid"}
	long := strings.Repeat("x", 63)
	all := map[string]string{}
	for _, l := range []label{{"a", ""}, {"a.b-c", "z"}, {"z9/A.Z", "a.b-c"}, {long, long}, {long + "/" + long, "0"}, generated} {
		if all[l.key] = l.value; !areValid(map[string]string{l.key: l.value}, generated) {
			t.Errorf("%v is not valid", l)
		}
	}
	Same(t, "all together are valid", areValid(all, generated), true)
	exists := []metav1.LabelSelectorRequirement{{Key: "b", Operator: metav1.LabelSelectorOpExists}}
	s, _ := compileSelector(&metav1.LabelSelector{MatchLabels: map[string]string{"a": "x"}, MatchExpressions: exists}, generated)
	if s.matches(map[string]string{"a": "x"}) || !s.matches(map[string]string{"a": "x", "b": "y"}) {
		t.Error("the expression has no effect")
	}
	for _, l := range []label{{"", "a"}, {"-a", "a"}, {"a/b/c", "a"}, {long + "x", "a"}, {"a", long + "x"}, {"a", "not valid"}, {"generated", "-"}} {
		one := maps.Clone(all)
		one[l.key] = l.value
		if areValid(map[string]string{l.key: l.value}, generated) || areValid(one, generated) {
			t.Errorf("%v is valid, want it left to the API's rules", l)
		}
	}
}

// KEP-3850: with the feature switched off, "the Job controller manager handles pod failures
// in the default way, even if .spec.backoffLimitPerIndex is set". That holds for the rules
// of the Job and of the caller. Neither is changed.
func TestOptions_withoutFailIndex(t *testing.T) {
	exits := &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}}
	disrupted := []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget}}
	spec := &batchv1.JobSpec{PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionFailIndex, OnExitCodes: exits},
		{Action: batchv1.PodFailurePolicyActionFailIndex, OnPodConditions: disrupted},
		{Action: batchv1.PodFailurePolicyActionIgnore, OnExitCodes: exits},
	}}}
	exit := Pod("a", Failed)
	disruption := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}}}
	own := failurepolicy.FromAPI(spec.PodFailurePolicy, "A", "B", "C")
	for name, tc := range map[string]struct {
		spec    *batchv1.JobSpec
		options Options
		pod     *corev1.Pod
		want    string
	}{
		"on, exit code":               {spec, Options{}, exit, "rule 0 on container main, exit code 1"},
		"on, condition":               {spec, Options{}, disruption, "rule 1 on pod condition DisruptionTarget"},
		"off, exit code":              {spec, Options{WithoutPerIndex: true}, exit, "rule 2 on container main, exit code 1"},
		"off, condition":              {spec, Options{WithoutPerIndex: true}, disruption, "no rule matched"},
		"off, names":                  {spec, Options{WithoutPerIndex: true, RuleNames: []string{"A", "B", "C"}}, exit, "rule 2 (C) on container main, exit code 1"},
		"on, rules of the caller":     {&batchv1.JobSpec{}, Options{FailurePolicy: own}, disruption, "rule 1 (B) on pod condition DisruptionTarget"},
		"off, rules of the caller":    {&batchv1.JobSpec{}, Options{FailurePolicy: own, WithoutPerIndex: true}, exit, "rule 2 (C) on container main, exit code 1"},
		"off, and there are no rules": {&batchv1.JobSpec{}, Options{WithoutPerIndex: true}, exit, "no rule matched"},
	} {
		Same(t, name, tc.options.policy(tc.spec).Match(tc.pod).Explain(), tc.want)
	}
	if own.Rules[0].Action != batchv1.PodFailurePolicyActionFailIndex || spec.PodFailurePolicy.Rules[0].Action != batchv1.PodFailurePolicyActionFailIndex {
		t.Error("the rules were changed")
	}
}

// ClassifiesAs compares every field: this test fails if one is added that it does not compare.
// It need not compare the lists, the time, nor what is made from other fields.
func TestClassifiesAs_everyField(t *testing.T) {
	changes := map[string]func(*Classifier){
		"keys":                            func(c *Classifier) { c.keys = &tracking.Keys{JobName: "other"} },
		"Indexed":                         func(c *Classifier) { c.Indexed = true },
		"Completions":                     func(c *Classifier) { c.Completions = 1 },
		"Limit":                           func(c *Classifier) { c.Limit.PerJob = 1 },
		"ReplaceFailedOnly":               func(c *Classifier) { c.ReplaceFailedOnly = true },
		"CountRestarts":                   func(c *Classifier) { c.CountRestarts = true },
		"job":                             func(c *Classifier) { c.job.namespace = "other" },
		"from.selector":                   func(c *Classifier) { c.from.selector = &metav1.LabelSelector{} },
		"from.policy":                     func(c *Classifier) { c.from.policy = &batchv1.PodFailurePolicy{} },
		"from.options.FailurePolicy":      func(c *Classifier) { c.from.options.FailurePolicy = &failurepolicy.Spec{} },
		"from.options.RuleNames":          func(c *Classifier) { c.from.options.RuleNames = []string{"A"} },
		"from.options.WithoutPolicy":      func(c *Classifier) { c.from.options.WithoutPolicy = true },
		"from.options.WithoutPerIndex":    func(c *Classifier) { c.from.options.WithoutPerIndex = true },
		"from.options.ExitZero":           func(c *Classifier) { c.from.options.ExitZero = true },
		"from.options.LostAfter":          func(c *Classifier) { c.from.options.LostAfter = 1 },
		"from.options.WithoutReplacement": func(c *Classifier) { c.from.options.WithoutReplacement = true },
	}
	made := []string{"Policy", "selector", "Uncounted", "from.options.Now"}
	var fields []string
	var add func(prefix string, of reflect.Type)
	add = func(prefix string, of reflect.Type) {
		for i := range of.NumField() {
			switch f := of.Field(i); {
			case f.Type == reflect.TypeFor[origin](), f.Type == reflect.TypeFor[Options]():
				add(prefix+f.Name+".", f.Type)
			case !slices.Contains(made, prefix+f.Name):
				fields = append(fields, prefix+f.Name)
			}
		}
	}
	add("", reflect.TypeFor[Classifier]())
	for _, field := range fields {
		change := changes[field]
		if change == nil {
			t.Errorf("no change of %s is tried", field)
			continue
		}
		var before, after Classifier
		if change(&after); before.ClassifiesAs(&after) || after.ClassifiesAs(&before) {
			t.Errorf("classifiers with another %s classify alike", field)
		}
	}
	Same(t, "fields that change", len(changes), len(fields))
}
