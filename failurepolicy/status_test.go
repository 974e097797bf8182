package failurepolicy_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/failurepolicy"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func onStatusPath(i int) *field.Path { return field.NewPath("rules").Index(i).Child("onStatus") }

// Rules on reasons and messages are data, as the Matchers of kubernetes-sigs/jobset#1091 and
// armadaproject/armada#4713 are not.
func TestPrepare(t *testing.T) {
	var spec failurepolicy.Spec
	if err := yaml.UnmarshalStrict([]byte(`
rules:
- {name: Evicted, action: Ignore, onStatus: {reasons: [Evicted, NodeLost]}}
- {name: Gpu, action: FailJob, onStatus: {reasons: [Error], messagePatterns: ["CUDA error [0-9]+", "^Xid"]}}
- {name: Disk, action: FailIndex, onStatus: {messagePatterns: ["no space"]}}
- {action: Count, onPodConditions: [{type: DisruptionTarget}]}
`), &spec); err != nil {
		t.Fatal(err)
	}
	prepared, errs := spec.Prepare(onStatusPath)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	ended := func(code int32, reason, message string) *corev1.Pod {
		return podThatExited(exited("other", 0), corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}})
	}
	evicted := podThatExited()
	evicted.Status.Reason, evicted.Status.Message = "Evicted", "no space left"
	full := podThatExited()
	full.Status.Reason, full.Status.Message = "Full", "no space left"
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"the message of the pod":          {full, `rule 2 (Disk) on reason "Full"`},
		"the reason of the pod":           {evicted, `rule 0 (Evicted) on reason "Evicted"`},
		"a message of a container":        {ended(1, "Error", "a CUDA error 700"), `rule 1 (Gpu) on reason "Error" of container main`},
		"another pattern":                 {ended(1, "Error", "Xid 79"), `rule 1 (Gpu) on reason "Error" of container main`},
		"the message with another reason": {ended(1, "OOMKilled", "Xid 79"), "no rule matched"},
		"the reason alone":                {ended(1, "Error", "no idea"), "no rule matched"},
		"a message with any reason":       {ended(1, "OOMKilled", "no space"), `rule 2 (Disk) on reason "OOMKilled" of container main`},
		"a container that succeeded":      {ended(0, "Error", "Xid 79"), "no rule matched"},
		"nothing":                         {podThatExited(), "no rule matched"},
	} {
		if got := prepared.Match(tc.pod).Explain(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if got := spec.Match(tc.pod); got.Matched() {
			t.Errorf("%s: a policy that is not prepared matches", name)
		}
	}
	if spec.Rules[0].Matcher != nil {
		t.Error("Prepare has changed the policy")
	}
	prepared.Rules[3].OnPodConditions[0].Type = "Changed"
	if spec.Rules[3].OnPodConditions[0].Type != corev1.DisruptionTarget {
		t.Error("the policy shares conditions with the prepared one")
	}
	spec.Rules[0].OnStatus.Reasons[0], spec.Rules[1].OnStatus.MessagePatterns[0] = "Changed", "Changed"
	if got, want := prepared.Match(evicted).Explain(), `rule 0 (Evicted) on reason "Evicted"`; got != want {
		t.Errorf("after a change of the policy the prepared one says %q, want %q", got, want)
	}
	if prepared.Rules[1].OnStatus.MessagePatterns[0] == "Changed" {
		t.Error("the prepared policy shares patterns with the policy")
	}
	if none, errs := (*failurepolicy.Spec)(nil).Prepare(onStatusPath); none != nil || errs != nil {
		t.Errorf("nil: %v, %v", none, errs)
	}
}

func TestPrepare_refuses(t *testing.T) {
	spec := &failurepolicy.Spec{Rules: []failurepolicy.Rule{
		{Action: ignore, OnStatus: &failurepolicy.StatusRequirement{Reasons: []string{"X"}, MessagePatterns: []string{"ok", "("}}},
		{Action: ignore, OnStatus: &failurepolicy.StatusRequirement{}},
	}}
	got, errs := spec.Prepare(onStatusPath)
	want := []string{"rules[0].onStatus.messagePatterns[1]: Invalid value: \"(\": error parsing regexp: missing closing ): `(`",
		"rules[1].onStatus: Required value: at least one reason or pattern"}
	if got != nil || len(errs) != 2 || errs[0].Error() != want[0] || errs[1].Error() != want[1] {
		t.Errorf("got %v, %v", got, errs)
	}
}

// A copy is equal, and shares nothing that can change.
func TestDeepCopy(t *testing.T) {
	spec := &failurepolicy.Spec{Rules: []failurepolicy.Rule{
		{Name: "a", Action: ignore, OnExitCodes: in("main", 1)}, {Action: count, OnPodConditions: disrupted()},
		{Action: failJob, OnStatus: &failurepolicy.StatusRequirement{Reasons: []string{"X"}, MessagePatterns: []string{"y"}}},
	}}
	SharesNothing(t, spec, spec.DeepCopy())
	SharesNothing(t, &spec.Rules[0], spec.Rules[0].DeepCopy())
	SharesNothing(t, spec.Rules[2].OnStatus, spec.Rules[2].OnStatus.DeepCopy())
	if (*failurepolicy.Spec)(nil).DeepCopy() != nil || (*failurepolicy.Rule)(nil).DeepCopy() != nil || (*failurepolicy.StatusRequirement)(nil).DeepCopy() != nil {
		t.Error("the copy of nil is not nil")
	}
}
