package failurepolicy_test

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/failurepolicy"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// decode parses the podFailurePolicy of a Job spec, and rejects unknown fields.
func decode(text string) *failurepolicy.Spec {
	var job struct {
		PodFailurePolicy *failurepolicy.Spec `json:"podFailurePolicy"`
	}
	return Must(&job, yaml.UnmarshalStrict([]byte(text), &job)).PodFailurePolicy
}

const story1 = `
podFailurePolicy:
  rules:
  - name: "ExitCode2"  # Will be added as a suffix to the reason "PodFailurePolicy" condition reason.
    action: FailJob
    onExitCodes:
      containerName: main
      operator: In
      values: [2]
`

const story2 = `
podFailurePolicy:
  rules:
  - name: ExitCode2
    action: FailJob
    onExitCodes:
      containerName: main
      operator: In
      values: [2]
  - name: ExitCode3
    action: FailJob
    onExitCodes:
      containerName: main
      operator: In
      values: [3]
`

// KEP-3850, early draft, Design Details.
const draft = `
podFailurePolicy:
  rules:
  - action: FailIndex
    onExitCodes:
      containerName: main
      operator: In
      values: [42]
`

// KEP-4443, User Stories, and the early draft of KEP-3850: the policies as the KEPs have them.
func TestStoriesDecode(t *testing.T) {
	rule2 := failurepolicy.Rule{Name: "ExitCode2", Action: failJob, OnExitCodes: in("main", 2)}
	rule3 := failurepolicy.Rule{Name: "ExitCode3", Action: failJob, OnExitCodes: in("main", 3)}
	for text, want := range map[string]*failurepolicy.Spec{
		story1: {Rules: []failurepolicy.Rule{rule2}},
		story2: {Rules: []failurepolicy.Rule{rule2, rule3}},
		draft:  {Rules: []failurepolicy.Rule{{Action: failIndex, OnExitCodes: in("main", 42)}}},
	} {
		got := decode(text)
		Same(t, "decoded of\n"+text, got, want)
		data := Must(json.Marshal(map[string]*failurepolicy.Spec{"podFailurePolicy": got}))
		Same(t, "round trip by "+string(data), decode(string(data)), want)
	}
}

// reasonOf returns the granular reason of a match.
func reasonOf(m failurepolicy.Match) string { return failurepolicy.Reason(m.Rule, m.Name) }

// KEP-4443, Notes: "the Job's pod failure policy rules are evaluated in order,
// and only the first matching rule is executed, even if multiple rules match".
func TestOnlyTheFirstMatchingRuleIsExecuted(t *testing.T) {
	pod := podThatExited(exited("main", 3), exited("main", 2))
	Same(t, "a pod with both exit codes: reason", reasonOf(decode(story2).Match(pod)), "PodFailurePolicy_ExitCode2")
}

// Except for the names, the fields are those of the API.
func TestSpecDecodesWhatTheAPIDoes(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	for range 200 {
		want := anySpec(random.Intn).ToAPI()
		data := Must(json.Marshal(want))
		got := new(failurepolicy.Spec)
		Must(got, yaml.UnmarshalStrict(data, got))
		Same(t, "decoded of "+string(data), got.ToAPI(), want)
	}
}

func TestFromAPI(t *testing.T) {
	api := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: failJob, OnExitCodes: in("main", 2)},
		{Action: ignore, OnPodConditions: disrupted()},
	}}
	for name, tc := range map[string]struct {
		names []string
		want  [2]string
	}{
		"none":    {nil, [2]string{}},
		"some":    {[]string{"A"}, [2]string{"A", ""}},
		"a later": {[]string{"", "B"}, [2]string{"", "B"}},
		"surplus": {[]string{"A", "B", "C"}, [2]string{"A", "B"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := &failurepolicy.Spec{Rules: []failurepolicy.Rule{
				{Name: tc.want[0], Action: failJob, OnExitCodes: in("main", 2)},
				{Name: tc.want[1], Action: ignore, OnPodConditions: disrupted()},
			}}
			got := failurepolicy.FromAPI(api, tc.names...)
			Same(t, "FromAPI", got, want)
			Same(t, "ToAPI", got.ToAPI(), api)
		})
	}
}

// A name in the API comes before that of the caller. Whether it arrives depends on the release of k8s.io/api that this
// is built with.
func TestFromAPI_namesOfTheAPI(t *testing.T) {
	api := new(batchv1.PodFailurePolicy)
	Must(api, json.Unmarshal([]byte(`{"rules": [{"name": "Field", "action": "FailJob"}, {"action": "Ignore"}]}`), api))
	want := "Caller"
	if _, found := reflect.TypeFor[batchv1.PodFailurePolicyRule]().FieldByName("Name"); found {
		want = "Field"
	}
	Same(t, "FromAPI", failurepolicy.FromAPI(api, "Caller", "Second"),
		&failurepolicy.Spec{Rules: []failurepolicy.Rule{{Name: want, Action: failJob}, {Name: "Second", Action: ignore}}})
}

func TestNilSpec(t *testing.T) {
	Same(t, "FromAPI(nil)", failurepolicy.FromAPI(nil, "name"), nil)
	var s *failurepolicy.Spec
	Same(t, "ToAPI of nil", s.ToAPI(), nil)
	Same(t, "Find of a nil Spec", Pair(s.Find("PodFailurePolicy_0", "")), Pair(-1, false))
	for _, api := range []*batchv1.PodFailurePolicy{{}, {Rules: []batchv1.PodFailurePolicyRule{}}} {
		Same(t, "no rules, there and back", failurepolicy.FromAPI(api).ToAPI(), api)
	}
}

func TestFromAPIAndToAPIShareNothing(t *testing.T) {
	fresh := func() *batchv1.PodFailurePolicy {
		return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			{Action: failJob, OnExitCodes: in("main", 2, 3)},
			{Action: ignore, OnPodConditions: disrupted()},
		}}
	}
	spoil := func(p *batchv1.PodFailurePolicy) {
		*p.Rules[0].OnExitCodes.ContainerName = "spoilt"
		p.Rules[0].OnExitCodes.Values[0] = 99
		p.Rules[1].OnPodConditions[0].Type = "Spoilt"
		p.Rules[0].Action = count
	}
	in := fresh()
	spec := failurepolicy.FromAPI(in)
	spoil(in)
	Same(t, "FromAPI shares with its input", spec.ToAPI(), fresh())
	spoil(spec.ToAPI())
	Same(t, "ToAPI shares with its result", spec.ToAPI(), fresh())
}

// The positions of the other rules must not change, because messages and reasons contain
// them. A rule that has lost its Matcher must not match all pods.
func TestToAPIKeepsThePlaceOfARuleItCannotExpress(t *testing.T) {
	spec := &failurepolicy.Spec{Rules: []failurepolicy.Rule{
		{Name: "Evicted", Action: ignore, Matcher: onReason("Evicted")},
		{Name: "Two", Action: failJob, OnExitCodes: in("", 2)},
	}}
	api := spec.ToAPI()
	want := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: ignore},
		{Action: failJob, OnExitCodes: in("", 2)},
	}}
	Same(t, "ToAPI", api, want)
	pod := podThatExited(exited("main", 2))
	pod.Status.Reason = "Evicted"
	Same(t, "after ToAPI", failurepolicy.FromAPI(api).Match(pod).Explain(), "rule 1 on container main, exit code 2")
}

// A copy is equal, and shares nothing that can change.
func TestDeepCopy(t *testing.T) {
	spec := &failurepolicy.Spec{Rules: []failurepolicy.Rule{
		{Name: "a", Action: ignore, OnExitCodes: in("main", 1)}, {Action: count, OnPodConditions: disrupted()},
	}}
	SharesNothing(t, spec, spec.DeepCopy())
	Same(t, "the copy of nil", (*failurepolicy.Spec)(nil).DeepCopy(), nil)
}
