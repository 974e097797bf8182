package classify_test

import (
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// summary returns an account in one line.
func summary(a classify.Account) string {
	return fmt.Sprintf("succeeded%v failed%v +%d +%d strip%v handled%v recorded %d full %v",
		a.Lists.Succeeded, a.Lists.Failed, a.Succeeded, a.Failed, UIDsOf(a.Strip), a.Handled, a.Recorded, a.Full)
}

// accountOf computes the next step of counting for pods of a Job, in their order. No failed pod waits for its replacement.
func accountOf(c classify.Classifier, in classify.AccountInputs, pods ...*corev1.Pod) classify.Account {
	tracked, shared := map[types.UID]bool{}, classify.Classes{}
	var candidates []*classify.PodRecord
	for _, pod := range pods {
		r := c.Classify(pod, classify.Owned, false, &shared)
		tracked[pod.UID] = r.Tracked
		if r.Tracked && (in.All() || r.Succeeded || r.Failed) {
			candidates = append(candidates, &r)
		}
	}
	return c.Account(in, slices.Values(candidates), len(candidates), func(uid types.UID) bool { return !tracked[uid] })
}

// tracking.TestCount has the sentences of KEP-2307 about the lists. These are about caps, and about what the policy handles.
func TestAccount(t *testing.T) {
	indexed := classify.Classifier{Indexed: true, Completions: 3}
	withPolicy := classify.Classifier{Policy: policy()}
	for _, tc := range []struct {
		sentence   string
		classifier classify.Classifier
		lists      *batchv1.UncountedTerminatedPods
		inputs     classify.AccountInputs
		pods       []*corev1.Pod
		want       string
	}{
		{
			sentence:   "Even if more than one Pod gets created for the same index, only one of them counts towards completions.",
			classifier: indexed, inputs: classify.AccountInputs{Counted: indexset.Of(1)},
			pods: []*corev1.Pod{Pod("s", Succeeded, Index("1"))},
			want: "succeeded[] failed[] +0 +0 strip[s] handledmap[] recorded 0 full false",
		},
		{
			sentence:   "Ignored failures do not count, failures with other actions do",
			classifier: withPolicy,
			pods: []*corev1.Pod{
				Pod("a", Failed), Pod("b", Exit(ExitCount, After(0))), Pod("c", Exit(ExitIgnore, After(0))),
				Pod("d", Exit(ExitFailIndex, After(0))), Pod("e", Exit(ExitFailJob, After(0))),
			},
			want: "succeeded[] failed[a b d e] +0 +0 strip[a b c d e] handledmap[Count:1 FailIndex:1 FailJob:1 Ignore:1] recorded 4 full false",
		},
		{
			sentence:   "the policy applies to running pods of a Job that fails",
			classifier: withPolicy, inputs: classify.AccountInputs{Ending: batchv1.JobFailureTarget},
			pods: []*corev1.Pod{Pod("f", Exit(ExitIgnore, After(0))), Pod("r", Exit(ExitIgnore, After(0)), Phase(corev1.PodRunning))},
			want: "succeeded[] failed[] +0 +0 strip[f r] handledmap[Ignore:2] recorded 0 full false",
		},
		{
			sentence: "full lists take no further pod, but listed pods still lose their finalizer",
			inputs:   classify.AccountInputs{Cap: 2}, lists: Lists(UIDs("s"), UIDs("f")),
			pods: []*corev1.Pod{Pod("a", Succeeded), Pod("f", Failed), Pod("s", Succeeded)},
			want: "succeeded[s] failed[f] +0 +0 strip[f s] handledmap[] recorded 0 full true",
		},
		{
			sentence:   "completed indexes count towards the cap",
			classifier: indexed, inputs: classify.AccountInputs{Cap: 2},
			pods: []*corev1.Pod{Pod("a", Succeeded, Index("0")), Pod("b", Failed, Index("1")), Pod("c", Succeeded, Index("2"))},
			want: "succeeded[] failed[b] +0 +0 strip[a b] handledmap[] recorded 2 full true",
		},
	} {
		tc.classifier.Uncounted = classify.ReadUncounted(tc.lists)
		Same(t, tc.sentence, summary(accountOf(tc.classifier, tc.inputs, tc.pods...)), tc.want)
	}
}

// KEP-2307 § Algorithm, step 4: "The counts increment the .status.failed and
// .status.succeeded and clears counted Pods from the lists." "If any Pod
// finalizer removal fails in step 3, the controller manager still executes step
// 4 with the Pods that succeeded."
func TestKEP2307_settle(t *testing.T) {
	a := classify.Account{Settled: classify.Settled{Lists: Lists(UIDs("a", "b"), UIDs("c", "d"))}}
	for _, tc := range []struct {
		gone []types.UID
		want classify.Settled
	}{
		{nil, classify.Settled{Lists: Lists(UIDs("a", "b"), UIDs("c", "d"))}},
		{UIDs("b", "c", "x"), classify.Settled{Lists: Lists(UIDs("a"), UIDs("d")), Succeeded: 1, Failed: 1}},
		{UIDs("a", "b", "c", "d"), classify.Settled{Lists: Lists(nil, nil), Succeeded: 2, Failed: 2}},
	} {
		Same(t, fmt.Sprintf("without %v", tc.gone), a.Settle(tc.gone), tc.want)
	}
	Same(t, "no account", classify.Account{}.Settle(UIDs("a")), classify.Settled{Lists: Lists(nil, nil)})
}

func policy() *failurepolicy.Spec { return failurepolicy.FromAPI(ExitCodePolicy()) }
