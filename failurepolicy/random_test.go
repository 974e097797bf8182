package failurepolicy_test

import (
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/failurepolicy"
)

// checkMatch compares one decision with the slow one.
func checkMatch(fatalf func(string, ...any), choose chooser) failurepolicy.Match {
	without := choose(2) == 1
	spec, pod := anySpec(choose), anyPod(choose)
	var opts []failurepolicy.Option
	if without {
		opts = append(opts, failurepolicy.WithoutFailIndex())
	}
	before := pod.DeepCopy()
	got := failurepolicy.Compile(spec, opts...).Match(pod)
	if want := slowMatch(spec, without, pod); got != want {
		fatalf("Match (-want +got):\n%s\nwithout FailIndex: %v\nspec: %+v\npod: %+v",
			cmp.Diff(want, got), without, spec.ToAPI(), pod.Status)
	}
	if !reflect.DeepEqual(before, pod) {
		fatalf("Match changed the pod (-before +after):\n%s", cmp.Diff(before, pod))
	}
	if got.FailsJob() == (got.Message() == "") || got.Explain() == "" {
		fatalf("%+v: message %q, explained %q", got, got.Message(), got.Explain())
	}
	return got
}

func TestMatchAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkMatch(t.Fatalf, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
	})
}

// Policies are compiled one after the other in the same memory, by rules and by
// the policy of a Job.
func TestArenaCompilesAlike(t *testing.T) {
	var arena failurepolicy.Arena
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		var opts []failurepolicy.Option
		if choose(2) == 1 {
			opts = append(opts, failurepolicy.WithoutFailIndex())
		}
		spec, pod := anySpec(choose), anyPod(choose)
		alike := func(how string, got, want *failurepolicy.Policy) {
			if got.Len() != want.Len() || got.Match(pod) != want.Match(pod) {
				t.Fatalf("%s: got %d rules and %+v, want %d and %+v", how, got.Len(), got.Match(pod), want.Len(), want.Match(pod))
			}
		}
		alike("a Spec", arena.Compile(spec, opts...), failurepolicy.Compile(spec, opts...))
		names := []string{"First", "", "Third"}[:choose(4)]
		alike("a Job's policy", arena.CompileAPI(spec.ToAPI(), names, opts...), failurepolicy.Compile(failurepolicy.FromAPI(spec.ToAPI(), names...), opts...))
	})
	if arena.Compile(nil) != nil || arena.CompileAPI(nil, nil) != nil {
		t.Error("got a policy of nothing, want none")
	}
}

func TestArenaAllocatesOnce(t *testing.T) {
	var arena failurepolicy.Arena
	spec := largeSpec()
	api := spec.ToAPI()
	for how, compile := range map[string]func(){
		"a Spec":         func() { arena.Compile(spec) },
		"a Job's policy": func() { arena.CompileAPI(api, []string{"First"}) },
	} {
		compile()
		for n := range 50 { // one by one: that the memory grows shows now and then
			if got := testing.AllocsPerRun(1, compile); got != 0 {
				t.Errorf("%s, time %d: got %v allocations in used memory, want none", how, n, got)
			}
		}
	}
}

// An option is for one policy, and not for the next in the same memory.
func TestArenaForgetsOptions(t *testing.T) {
	var arena failurepolicy.Arena
	spec := &failurepolicy.Spec{Rules: []failurepolicy.Rule{{Action: failIndex, OnExitCodes: in("main", 7)}}}
	pod := podThatExited(exited("main", 7))
	for _, tc := range []struct {
		opts    []failurepolicy.Option
		matches bool
	}{{[]failurepolicy.Option{failurepolicy.WithoutFailIndex()}, false}, {nil, true}} {
		if got := arena.Compile(spec, tc.opts...).Match(pod).Matched(); got != tc.matches {
			t.Errorf("with %d options: matched is %t, want %t", len(tc.opts), got, tc.matches)
		}
	}
}

// A blind generator proves nothing: it must reach each action by each kind of
// requirement, and no match.
func TestOracleIsNotBlind(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	type outcome struct {
		action batchv1.PodFailurePolicyAction
		kind   failurepolicy.Kind
	}
	reached := map[outcome]int{}
	for range 5000 {
		m := checkMatch(t.Fatalf, random.Intn)
		reached[outcome{m.Action, m.Kind}]++
	}
	want := []outcome{{}}
	for _, action := range []batchv1.PodFailurePolicyAction{failJob, failIndex, ignore, count} {
		for _, kind := range []failurepolicy.Kind{failurepolicy.ByExitCode, failurepolicy.ByPodCondition, failurepolicy.ByMatcher} {
			want = append(want, outcome{action, kind})
		}
	}
	for _, o := range want {
		if reached[o] < 20 {
			t.Errorf("action %q by kind %d was reached %d times in 5000, want at least 20", o.action, o.kind, reached[o])
		}
	}
	if len(reached) != len(want) {
		t.Errorf("%d outcomes reached, want %d: %v", len(reached), len(want), reached)
	}
}

func FuzzMatch(f *testing.F) {
	random := rand.New(rand.NewSource(2))
	for range 20 {
		seed := make([]byte, 100)
		random.Read(seed)
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkMatch(t.Fatalf, func(n int) int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b) % n
		})
	})
}

// largeSpec is as large as the API server lets it be: 20 rules, 255 values.
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
		failurepolicy.Rule{Action: count, Matcher: failurepolicy.OnPodReason("Evicted")},
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

// Match runs once per failed pod, and there may be 10^5 of them.
func TestMatchDoesNotAllocate(t *testing.T) {
	policy := failurepolicy.Compile(largeSpec())
	for _, pod := range podsOfEachKind() {
		var m failurepolicy.Match
		if got := testing.AllocsPerRun(100, func() { m = policy.Match(pod) }); got != 0 {
			t.Errorf("%s: Match allocates %v times, want none", m.Explain(), got)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	policy, pods := failurepolicy.Compile(largeSpec()), podsOfEachKind()
	b.ReportAllocs()
	for i := range b.N {
		policy.Match(pods[i%len(pods)])
	}
}
