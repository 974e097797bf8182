package failurepolicy_test

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/failurepolicy"
)

// checkMatch compares one decision with the oracle.
func checkMatch(t rapid.TB, spec *failurepolicy.Spec, pod *corev1.Pod) failurepolicy.Match {
	t.Helper()
	before := pod.DeepCopy()
	got := spec.Match(pod)
	if want := slowMatch(spec, pod); got != want {
		t.Fatalf("Match (-want +got):\n%s\nspec: %+v\npod: %+v", cmp.Diff(want, got), spec.ToAPI(), pod.Status)
	}
	if !reflect.DeepEqual(before, pod) {
		t.Fatalf("Match changed the pod (-before +after):\n%s", cmp.Diff(before, pod))
	}
	if (got.Action == failJob) == (got.Message() == "") || got.Explain() == "" {
		t.Fatalf("%+v: message %q, explained %q", got, got.Message(), got.Explain())
	}
	return got
}

func TestMatchAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		checkMatch(t, anySpec(choose), anyPod(choose))
	})
}

// The generators must reach each action by each kind of requirement, and no match.
func TestOracleIsNotBlind(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	type outcome struct {
		action batchv1.PodFailurePolicyAction
		kind   string
	}
	reached := map[outcome]int{}
	for range 5000 {
		m := checkMatch(t, anySpec(random.Intn), anyPod(random.Intn))
		kind := ""
		switch {
		case m.ExitCode != 0:
			kind = "exit code"
		case m.Condition != "":
			kind = "condition"
		case m.Matched():
			kind = "matcher, or a condition without a type"
		}
		reached[outcome{m.Action, kind}]++
	}
	want := []outcome{{}}
	for _, action := range []batchv1.PodFailurePolicyAction{failJob, failIndex, ignore, count} {
		for _, kind := range []string{"exit code", "condition", "matcher, or a condition without a type"} {
			want = append(want, outcome{action, kind})
		}
	}
	for _, o := range want {
		if reached[o] < 20 {
			t.Errorf("action %q by %s was reached %d times in 5000, want at least 20", o.action, o.kind, reached[o])
		}
	}
	if len(reached) != len(want) {
		t.Errorf("%d outcomes reached, want %d: %v", len(reached), len(want), reached)
	}
}

// FuzzMatch makes a policy and a pod of the choices in the input, one byte for each.
func FuzzMatch(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		choose := func(n int) int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b) % n
		}
		checkMatch(t, anySpec(choose), anyPod(choose))
	})
}

// FuzzMatchJSON decodes a policy and a pod from any JSON, so it reaches policies and pods that
// FuzzMatch does not choose.
func FuzzMatchJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, policy, podText string) {
		var spec failurepolicy.Spec
		var pod corev1.Pod
		if json.Unmarshal([]byte(policy), &spec) == nil && json.Unmarshal([]byte(podText), &pod) == nil {
			checkMatch(t, &spec, &pod)
		}
	})
}

// largeSpec returns the largest policy that the API server accepts: 20 rules, 255 values.
func largeSpec() *failurepolicy.Spec {
	spec := &failurepolicy.Spec{}
	for i := range int32(20) {
		r := failurepolicy.Rule{Action: count}
		if i%2 == 0 {
			r.OnExitCodes = in("")
			for v := range int32(255) {
				r.OnExitCodes.Values = append(r.OnExitCodes.Values, 1000+v)
			}
		} else {
			r.OnPodConditions = []batchv1.PodFailurePolicyOnPodConditionsPattern{pattern("ConfigIssue", "True")}
		}
		spec.Rules = append(spec.Rules, r)
	}
	spec.Rules = append(spec.Rules,
		failurepolicy.Rule{Action: count, Matcher: onReason("Evicted")},
		failurepolicy.Rule{Name: "Last", Action: failJob, OnExitCodes: in("main", 7)})
	return spec
}

func podsOfEachKind() []*corev1.Pod {
	evicted := podOn(condition(corev1.PodReady, "False"))
	evicted.Status.Reason = "Evicted"
	return []*corev1.Pod{
		podThatExited(exited("main", 7)),
		podThatExited(exited("main", 0)),
		podOn(condition("ConfigIssue", "True")),
		evicted,
	}
}

// Match runs once for each failed pod, and there may be 10^5 of them.
func TestMatchDoesNotAllocate(t *testing.T) {
	policy := largeSpec()
	for _, pod := range podsOfEachKind() {
		var m failurepolicy.Match
		if got := testing.AllocsPerRun(100, func() { m = policy.Match(pod) }); got != 0 {
			t.Errorf("%s: Match allocates %v times, want none", m.Explain(), got)
		}
	}
}
