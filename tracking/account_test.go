package tracking_test

// The tests of KEP-2307 check the sentences that they quote. The lessons are defects that the
// Job controller has had: kN in a test name is issue or pull request N of
// kubernetes/kubernetes, and a comment describes the defect first.

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// summary returns an account in one line.
func summary(a tracking.Account) string {
	return fmt.Sprintf("succeeded%v failed%v +%d +%d strip%v handled%v recorded %d full %v",
		a.Lists.Succeeded, a.Lists.Failed, a.Succeeded, a.Failed, UIDsOf(a.Strip), a.Handled, a.Recorded, a.Full)
}

// TestCount has the sentences of KEP-2307 about the lists. These are about caps, and about what the policy handles.
func TestAccount(t *testing.T) {
	indexed := tracking.Classifier{Indexed: true, Completions: 3}
	withPolicy := tracking.Classifier{Policy: policy()}
	for _, tc := range []struct {
		sentence   string
		classifier tracking.Classifier
		lists      *batchv1.UncountedTerminatedPods
		inputs     tracking.AccountInputs
		pods       []*corev1.Pod
		want       string
	}{
		{
			sentence:   "Even if more than one Pod gets created for the same index, only one of them counts towards completions.",
			classifier: indexed, inputs: tracking.AccountInputs{Counted: indexset.Of(1)},
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
			classifier: withPolicy, inputs: tracking.AccountInputs{Ending: batchv1.JobFailureTarget},
			pods: []*corev1.Pod{Pod("f", Exit(ExitIgnore, After(0))), Pod("r", Exit(ExitIgnore, After(0)), Phase(corev1.PodRunning))},
			want: "succeeded[] failed[] +0 +0 strip[f r] handledmap[Ignore:2] recorded 0 full false",
		},
		{
			sentence: "full lists take no further pod, but listed pods still lose their finalizer",
			inputs:   tracking.AccountInputs{Cap: 2}, lists: Lists(UIDs("s"), UIDs("f")),
			pods: []*corev1.Pod{Pod("a", Succeeded), Pod("f", Failed), Pod("s", Succeeded)},
			want: "succeeded[s] failed[f] +0 +0 strip[f s] handledmap[] recorded 0 full true",
		},
		{
			sentence:   "completed indexes count towards the cap",
			classifier: indexed, inputs: tracking.AccountInputs{Cap: 2},
			pods: []*corev1.Pod{Pod("a", Succeeded, Index("0")), Pod("b", Failed, Index("1")), Pod("c", Succeeded, Index("2"))},
			want: "succeeded[] failed[b] +0 +0 strip[a b] handledmap[] recorded 2 full true",
		},
	} {
		tc.classifier.Uncounted = tracking.ReadUncounted(tc.lists)
		Same(t, tc.sentence, summary(tracking.AccountOf(tc.classifier, tc.inputs, tc.pods...)), tc.want)
	}
}

// KEP-2307 § Algorithm, step 4: "The counts increment the .status.failed and
// .status.succeeded and clears counted Pods from the lists." "If any Pod
// finalizer removal fails in step 3, the controller manager still executes step
// 4 with the Pods that succeeded."
func TestKEP2307_settle(t *testing.T) {
	a := tracking.Account{Settled: tracking.Settled{Lists: Lists(UIDs("a", "b"), UIDs("c", "d"))}}
	for _, tc := range []struct {
		gone []types.UID
		want tracking.Settled
	}{
		{nil, tracking.Settled{Lists: Lists(UIDs("a", "b"), UIDs("c", "d"))}},
		{UIDs("b", "c", "x"), tracking.Settled{Lists: Lists(UIDs("a"), UIDs("d")), Succeeded: 1, Failed: 1}},
		{UIDs("a", "b", "c", "d"), tracking.Settled{Lists: Lists(nil, nil), Succeeded: 2, Failed: 2}},
	} {
		Same(t, fmt.Sprintf("without %v", tc.gone), a.Settle(tc.gone), tc.want)
	}
	Same(t, "no account", tracking.Account{}.Settle(UIDs("a")), tracking.Settled{Lists: Lists(nil, nil)})
}

// Above 500 pods, UIDs were dropped while the pods still carried the finalizer.
func TestLesson_k104666_cap499_500_501(t *testing.T) {
	for _, tc := range []struct {
		pods  int
		first int
		full  bool
	}{{499, 499, false}, {500, 500, true}, {501, 500, true}} {
		var pods []*corev1.Pod
		for i := range tc.pods {
			pods = append(pods, Pod(fmt.Sprintf("uid-%03d", i), Failed))
		}
		a := tracking.AccountOf(tracking.Classifier{}, tracking.AccountInputs{}, pods...)
		if len(a.Strip) != tc.first || len(a.Lists.Failed) != tc.first || a.Recorded != tc.first || a.Full != tc.full {
			t.Errorf("%d pods: %d stripped, %d listed, %d recorded, full %v, want %d of each, full %v",
				tc.pods, len(a.Strip), len(a.Lists.Failed), a.Recorded, a.Full, tc.first, tc.full)
		}
		// No removal succeeds: no UID leaves the lists, and none is added to full lists.
		again := tracking.AccountOf(tracking.Classifier{Uncounted: tracking.ReadUncounted(a.Lists)}, tracking.AccountInputs{}, pods...)
		Same(t, "lists after removals failed", again.Lists, a.Lists)
		Same(t, "offered again", UIDsOf(again.Strip), a.Lists.Failed)
		Same(t, "full again", again.Full, tc.pods > tc.first)
		// All succeed: the rest follows.
		for _, pod := range pods[:tc.first] {
			Released(pod)
		}
		last := tracking.AccountOf(tracking.Classifier{Uncounted: tracking.ReadUncounted(a.Lists)}, tracking.AccountInputs{}, pods...)
		Same(t, "counted", int(last.Failed), tc.first)
		Same(t, "left", len(last.Strip), tc.pods-tc.first)
	}
}

// KEP-2307 § Algorithm: the lists stay "under 20kb". A UID has 36 characters, with quotes
// and a comma around it.
func TestLesson_k104666_listsStayUnder20kB(t *testing.T) {
	if size := tracking.DefaultCap * (36 + len(`"",`)); size >= 20_000 {
		t.Errorf("the lists take %d bytes, want less than 20000", size)
	}
}

// KEP-3850: "if x is the highest batch.kubernetes.io/job-index-failure-count for the index".
// The pod with that count waits for its replacement.
func TestKEP3850_oneFailedPodWaits(t *testing.T) {
	at := func(seconds int) Edit { return Exit(ExitPlain, After(seconds)) }
	classifier := tracking.Classifier{Indexed: true, Completions: 2, Limit: backoff.Limit{Target: backoff.TargetIndex, PerIndex: 9}}
	for _, tc := range []struct {
		reason string
		pods   []*corev1.Pod
		strip  []types.UID
	}{
		{"the highest count", []*corev1.Pod{Pod("a", at(0), Index("0"), Failures("2")), Pod("b", at(9), Index("0"), Failures("1"))}, UIDs("b")},
		{"ignored failures count as well", []*corev1.Pod{Pod("a", at(0), Index("0"), Annotation(batchv1.JobIndexIgnoredFailureCountAnnotation, "2")), Pod("b", at(9), Index("0"), Failures("1"))}, UIDs("b")},
		{"then the latest", []*corev1.Pod{Pod("a", at(9), Index("0")), Pod("b", at(0), Index("0"))}, UIDs("b")},
		{"then the highest UID", []*corev1.Pod{Pod("b", at(0), Index("0")), Pod("a", at(0), Index("0"))}, UIDs("a")},
		{"one of each index", []*corev1.Pod{Pod("a", at(0), Index("0")), Pod("b", at(0), Index("1"))}, nil},
		{"a pod with no valid index does not wait", []*corev1.Pod{Pod("a", at(0), Index("2")), Pod("b", at(0))}, UIDs("b", "a")},
		{"a pod without the finalizer does not wait", []*corev1.Pod{Pod("a", at(9), Index("0"), Released), Pod("b", at(0), Index("0"))}, nil},
		{"the index has succeeded", []*corev1.Pod{Pod("a", at(0), Index("0")), Pod("s", Succeeded, Index("0"))}, UIDs("a", "s")},
		{"the index has failed", []*corev1.Pod{Pod("a", at(0), Index("0"), Failures("9"))}, UIDs("a")},
		{"the replacement exists", []*corev1.Pod{Pod("a", at(0), Index("0")), Pod("r", Index("0"))}, UIDs("a")},
		{"another index has an active pod", []*corev1.Pod{Pod("a", at(0), Index("0")), Pod("r", Index("1"))}, nil},
	} {
		Same(t, tc.reason, UIDsOf(tracking.AccountOf(classifier, tracking.AccountInputs{}, tc.pods...).Strip), tc.strip)
	}
	classifier.Limit = backoff.Limit{}
	Same(t, "without a limit per index", UIDsOf(tracking.AccountOf(classifier, tracking.AccountInputs{}, Pod("a", at(0), Index("0"))).Strip), UIDs("a"))
}

func policy() *failurepolicy.Spec { return failurepolicy.FromAPI(ExitCodePolicy()) }
