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

func TestKEP2307_account(t *testing.T) {
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
			sentence: "The Job controller adds Pod UIDs to the lists if the Pod: has the finalizer, and the Pod is on Succeeded or Failed phase, respectively.",
			pods:     []*corev1.Pod{Pod("s", Succeeded), Pod("f", Failed), Pod("r"), Pod("s2", Succeeded, Released), Pod("f2", Failed, Released)},
			want:     "succeeded[s] failed[f] +0 +0 strip[f s] handledmap[] recorded 2 full false",
		},
		{
			sentence: "The Job controller counts the Pods in the lists that: have no finalizer, or were removed from the system.",
			lists:    Lists(UIDs("s", "kept"), UIDs("f")),
			pods:     []*corev1.Pod{Pod("s", Succeeded, Released), Pod("kept", Succeeded)},
			want:     "succeeded[kept] failed[] +1 +1 strip[kept] handledmap[] recorded 0 full false",
		},
		{
			sentence: "the .status.uncountedTerminatedPods struct allows to uniquely identify finished Pods to avoid over counting",
			lists:    Lists(UIDs("s"), UIDs("f")),
			pods:     []*corev1.Pod{Pod("s", Succeeded), Pod("f", Failed)},
			want:     "succeeded[s] failed[f] +0 +0 strip[f s] handledmap[] recorded 0 full false",
		},
		{
			sentence:   "the Job controller can use .status.completedIndexes in place of .status.uncountedTerminatedPods.succeeded in step 2",
			classifier: indexed,
			pods:       []*corev1.Pod{Pod("s", Succeeded, Index("1")), Pod("f", Failed, Index("0"))},
			want:       "succeeded[] failed[f] +0 +0 strip[f s] handledmap[] recorded 2 full false",
		},
		{
			sentence:   "Even if more than one Pod gets created for the same index, only one of them counts towards completions.",
			classifier: indexed, inputs: tracking.AccountInputs{Counted: indexset.Of(1)},
			pods: []*corev1.Pod{Pod("s", Succeeded, Index("1"))},
			want: "succeeded[] failed[] +0 +0 strip[s] handledmap[] recorded 0 full false",
		},
		{
			sentence:   "pods beyond completions, or without an index, do not count",
			classifier: indexed,
			pods:       []*corev1.Pod{Pod("a", Succeeded, Index("3")), Pod("b", Failed, Index("3")), Pod("c", Succeeded), Pod("d", Failed)},
			want:       "succeeded[] failed[] +0 +0 strip[c d a b] handledmap[] recorded 0 full false",
		},
		{
			sentence: "In the case where a user or another controller removes a Pod, which sets a deletion timestamp, [...] the Job controller already counts them as such and removes their finalizers",
			pods:     []*corev1.Pod{Pod("d", Deleted)},
			want:     "succeeded[] failed[d] +0 +0 strip[d] handledmap[] recorded 1 full false",
		},
		{
			sentence:   "KEP-3939: podReplacementPolicy Failed: a pod counts once it has terminated",
			classifier: tracking.Classifier{ReplaceFailedOnly: true},
			pods:       []*corev1.Pod{Pod("d", Deleted), Pod("f", Deleted, Failed), Pod("s", Deleted, Succeeded)},
			want:       "succeeded[s] failed[f] +0 +0 strip[f s] handledmap[] recorded 2 full false",
		},
		{
			sentence: "When a user or another controller deletes a Job: every finalizer is removed, and finished pods are still recorded",
			inputs:   tracking.AccountInputs{Deleting: true},
			pods:     []*corev1.Pod{Pod("f", Failed), Pod("r"), Pod("s", Succeeded)},
			want:     "succeeded[s] failed[f] +0 +0 strip[f r s] handledmap[] recorded 2 full false",
		},
		{
			sentence: "a Job that succeeds removes the finalizers of running pods without counting them",
			inputs:   tracking.AccountInputs{Ending: batchv1.JobSuccessCriteriaMet},
			pods:     []*corev1.Pod{Pod("f", Failed), Pod("r"), Pod("s", Succeeded)},
			want:     "succeeded[s] failed[f] +0 +0 strip[f r s] handledmap[] recorded 2 full false",
		},
		{
			sentence: "a Job that fails counts its running pods as failed",
			inputs:   tracking.AccountInputs{Ending: batchv1.JobFailureTarget},
			pods:     []*corev1.Pod{Pod("f", Failed), Pod("r"), Pod("s", Succeeded)},
			want:     "succeeded[s] failed[f r] +0 +0 strip[f r s] handledmap[] recorded 3 full false",
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
			sentence:   "pods with a verdict that the status lacks are no candidates",
			classifier: withPolicy, inputs: tracking.AccountInputs{KeepFailsJob: true},
			pods: []*corev1.Pod{Pod("a", Failed), Pod("e", Exit(ExitFailJob, After(0)))},
			want: "succeeded[] failed[a] +0 +0 strip[a] handledmap[] recorded 1 full false",
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

// Pods of a deleted Job kept their finalizer after a failed removal. Here the removal is
// retried until it succeeds.
func TestLesson_k108645_k109429_k141329_removalsAreRetried(t *testing.T) {
	owned := Pod("owned")
	for range 3 {
		Same(t, "strip", UIDsOf(tracking.AccountOf(tracking.Classifier{}, tracking.AccountInputs{Deleting: true}, owned).Strip), UIDs("owned"))
	}
}

// A terminating pod was counted as failed, and then exited with 0. With ReplaceFailedOnly
// the pod counts once it has terminated. Otherwise it stays failed.
func TestLesson_k115844_k125695_lateExit0(t *testing.T) {
	for _, failedOnly := range []bool{false, true} {
		classifier := tracking.Classifier{ReplaceFailedOnly: failedOnly}
		pod := Pod("p", Deleted)
		a := tracking.AccountOf(classifier, tracking.AccountInputs{}, pod)
		classifier.Uncounted = tracking.ReadUncounted(a.Lists)
		Succeeded(pod) // before its finalizer could be removed
		a = tracking.AccountOf(classifier, tracking.AccountInputs{}, pod)
		want := Lists(nil, UIDs("p"))
		if failedOnly {
			want = Lists(UIDs("p"), nil)
		}
		Same(t, fmt.Sprintf("replace failed only %v", failedOnly), a.Lists, want)
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
