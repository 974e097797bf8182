package census_test

// Defects that the Job controller has had. kN in a test name is issue or pull request N of
// kubernetes/kubernetes. A comment describes the defect first.

import (
	"fmt"
	"math"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/keys"
)

// A pod listed as succeeded was later observed as Failed, or the reverse. Its UID was then
// in both lists and was counted twice. Here the first classification sticks.
func TestLesson_k125410_k111646_phaseFlip(t *testing.T) {
	for _, tc := range []struct {
		reason     string
		lists      *batchv1.UncountedTerminatedPods
		pod        *corev1.Pod
		classifier census.Classifier
		want       string
	}{
		{"succeeded, then failed", lists(uids("p"), nil), newPod("p", failed), census.Classifier{},
			"succeeded[p] failed[] +0 +0 strip[p] handledmap[] recorded 0 full false"},
		{"failed, then succeeded", lists(nil, uids("p")), newPod("p", succeeded), census.Classifier{},
			"succeeded[] failed[p] +0 +0 strip[p] handledmap[] recorded 0 full false"},
		{"failed, then succeeded, in an Indexed Job", lists(nil, uids("p")), newPod("p", succeeded, index("0")), census.Classifier{Indexed: true, Completions: 1},
			"succeeded[] failed[p] +0 +0 strip[p] handledmap[] recorded 0 full false"},
		{"succeeded, then matched by a rule", lists(uids("p"), nil), newPod("p", exit(exitFailJob, after(0))), census.Classifier{Policy: policy()},
			"succeeded[p] failed[] +0 +0 strip[p] handledmap[] recorded 0 full false"},
		{"listed, and still runs", lists(nil, uids("p")), newPod("p"), census.Classifier{},
			"succeeded[] failed[p] +0 +0 strip[] handledmap[] recorded 0 full false"},
	} {
		tc.classifier.Uncounted = census.ReadUncounted(tc.lists)
		c := take(tc.classifier, tc.pod)
		if got := summary(c.Account(census.AccountInputs{})); got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.want)
		}
		if c.Succeeded+c.Failed != 0 || c.FailsJob() != nil {
			t.Errorf("%s: the pod is counted again", tc.reason)
		}
		if done := c.IndexResults(indexset.Set{}, indexset.Set{}).Completed; !done.IsEmpty() {
			t.Errorf("%s: it completes index %v", tc.reason, done)
		}
	}
}

// With a UID in both lists, as after the flip above, the API server rejected every status.
func TestLesson_k125410_bothLists(t *testing.T) {
	u := census.ReadUncounted(lists(uids("p", "s", "s", ""), uids("p", "f")))
	if !u.Damaged || u.Len() != 3 {
		t.Errorf("Damaged, Len = %v, %d, want true, 3", u.Damaged, u.Len())
	}
	c := take(census.Classifier{Uncounted: u}, newPod("p", succeeded))
	want := "succeeded[] failed[p] +1 +1 strip[p] handledmap[] recorded 0 full false"
	if got := summary(c.Account(census.AccountInputs{})); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	for _, in := range []*batchv1.UncountedTerminatedPods{nil, lists(nil, nil), lists(uids("s"), uids("f"))} {
		if census.ReadUncounted(in).Damaged {
			t.Errorf("%v: Damaged = true, want false", in)
		}
	}
}

// A stale pod cache still showed a removed finalizer, and the pod was counted twice.
func TestLesson_k105200_staleFinalizer(t *testing.T) {
	pods := []*corev1.Pod{newPod("a", failed), newPod("b", succeeded)}
	c := take(census.Classifier{}, pods...)
	c.SetStripped(uids("a", "b"))
	want := "succeeded[] failed[] +0 +0 strip[] handledmap[] recorded 0 full false"
	if got := summary(c.Account(census.AccountInputs{Deleting: true})); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	same(t, "totals", c.SucceededTotal(4)+c.FailedTotal(3), int32(7))
	same(t, "news", c.News(false), census.News{})
	// A UID that is still listed is counted now, because its finalizer is removed.
	c.SetUncounted(census.ReadUncounted(lists(nil, uids("a"))))
	want = "succeeded[] failed[] +0 +1 strip[] handledmap[] recorded 0 full false"
	if got := summary(c.Account(census.AccountInputs{})); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	same(t, "total", c.FailedTotal(3), int32(4))
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
			pods = append(pods, newPod(fmt.Sprintf("uid-%03d", i), failed))
		}
		a := take(census.Classifier{}, pods...).Account(census.AccountInputs{})
		if len(a.Strip) != tc.first || len(a.Lists.Failed) != tc.first || a.Recorded != tc.first || a.Full != tc.full {
			t.Errorf("%d pods: %d stripped, %d listed, %d recorded, full %v, want %d of each, full %v",
				tc.pods, len(a.Strip), len(a.Lists.Failed), a.Recorded, a.Full, tc.first, tc.full)
		}
		// No removal succeeds: no UID leaves the lists, and none is added to full lists.
		again := take(census.Classifier{Uncounted: census.ReadUncounted(a.Lists)}, pods...).Account(census.AccountInputs{})
		same(t, "lists after removals failed", again.Lists, a.Lists)
		same(t, "offered again", uidsOf(again.Strip), a.Lists.Failed)
		same(t, "full again", again.Full, tc.pods > tc.first)
		// All succeed: the rest follows.
		for _, pod := range pods[:tc.first] {
			released(pod)
		}
		last := take(census.Classifier{Uncounted: census.ReadUncounted(a.Lists)}, pods...).Account(census.AccountInputs{})
		same(t, "counted", int(last.Failed), tc.first)
		same(t, "left", len(last.Strip), tc.pods-tc.first)
	}
}

// KEP-2307 § Algorithm: the lists stay "under 20kb". A UID has 36 characters, with quotes
// and a comma around it.
func TestLesson_k104666_listsStayUnder20kB(t *testing.T) {
	if size := census.DefaultCap * (36 + len(`"",`)); size >= 20_000 {
		t.Errorf("the lists take %d bytes, want less than 20000", size)
	}
}

// Pods of a deleted Job kept their finalizer after a failed removal. Here the removal is
// retried until it succeeds.
func TestLesson_k108645_k109429_k141329_removalsAreRetried(t *testing.T) {
	owned := newPod("owned")
	for range 3 {
		same(t, "strip", uidsOf(take(census.Classifier{}, owned).Account(census.AccountInputs{Deleting: true}).Strip), uids("owned"))
	}
}

// Counters fell when pods were deleted.
func TestLesson_k81227_k28486_countersNeverFall(t *testing.T) {
	pods := []*corev1.Pod{newPod("a", failed), newPod("b", failed), newPod("c", succeeded)}
	total := func(parked *batchv1.UncountedTerminatedPods, succeeded, failed int32, pods ...*corev1.Pod) [2]int32 {
		c := take(census.Classifier{Uncounted: census.ReadUncounted(parked)}, pods...)
		return [2]int32{c.SucceededTotal(succeeded), c.FailedTotal(failed)}
	}
	want := [2]int32{1, 2}
	same(t, "new", total(nil, 0, 0, pods...), want)
	a := take(census.Classifier{}, pods...).Account(census.AccountInputs{})
	same(t, "recorded", total(a.Lists, 0, 0, pods...), want)
	same(t, "one pod gone", total(a.Lists, 0, 0, pods[1:]...), want)
	same(t, "all pods gone", total(a.Lists, 0, 0), want)
	s := a.Settle(uids("a", "c"))
	same(t, "settled in part", total(s.Lists, s.Succeeded, s.Failed, pods[1]), want)
	s = a.Settle(uids("a", "b", "c"))
	same(t, "settled", total(s.Lists, s.Succeeded, s.Failed), want)
}

// Counters wrapped around at the end of their range.
func TestLesson_countersSaturate(t *testing.T) {
	c := take(census.Classifier{}, newPod("a", failed), newPod("b", succeeded))
	for counted, want := range map[int32]int32{math.MaxInt32: math.MaxInt32, math.MaxInt32 - 1: math.MaxInt32, 5: 6} {
		same(t, "failed", c.FailedTotal(counted), want)
		same(t, "succeeded", c.SucceededTotal(counted), want)
	}
}

// An index with a succeeded pod and a failed pod that had used up the limit was added to
// both sets, and the API server rejected every such status. Here the success wins.
func TestLesson_setsAreDisjoint(t *testing.T) {
	classifier := census.Classifier{Indexed: true, Completions: 2, Limit: perIndex(0)}
	for _, tc := range []struct {
		reason            string
		completed, failed string
		pods              []*corev1.Pod
	}{
		{"one pod of each kind", "", "", []*corev1.Pod{newPod("a", succeeded, index("0")), newPod("b", failed, index("0"))}},
		{"completed before", "0", "", []*corev1.Pod{newPod("b", failed, index("0"))}},
		{"failed before", "", "0", []*corev1.Pod{newPod("a", succeeded, index("0"))}},
		{"in both sets of the status", "0", "0", nil},
	} {
		results := take(classifier, tc.pods...).IndexResults(indexset.MustParse(tc.completed), indexset.MustParse(tc.failed))
		if got := results.Completed.String() + "/" + results.Failed.String(); got != "0/" {
			t.Errorf("%s: completed/failed = %s, want 0/", tc.reason, got)
		}
	}
}

// Duplicate indexes were counted, and indexes out of range were never pruned.
func TestLesson_k99865_k115349_successIsASet(t *testing.T) {
	classifier := census.Classifier{Indexed: true, Completions: 3}
	c := take(classifier, newPod("a", succeeded, index("1")), newPod("b", succeeded, index("1")), newPod("c", succeeded, index("7")), newPod("d", succeeded))
	results := c.IndexResults(indexset.MustParse("0,5-9"), indexset.Set{})
	same(t, "completed", results.Completed.String(), "0,1")
	same(t, "counted", results.Counted.String(), "0")
}

// The index annotation was edited: index 0 ran twice, index 1 never.
func TestLesson_k140839_indexConflict(t *testing.T) {
	key := batchv1.JobCompletionIndexAnnotation
	for _, tc := range []struct {
		pod      *corev1.Pod
		index    int32
		conflict bool
	}{
		{newPod("a", index("1"), label(key, "1")), 1, false},
		{newPod("a", index("0"), label(key, "1")), 0, true},
		{newPod("a", index("x"), label(key, "1")), keys.NoIndex, true},
		{newPod("a", label(key, "1")), keys.NoIndex, true},
		{newPod("a", index("1")), 1, false},
		{newPod("a"), keys.NoIndex, false},
		{newPod("a", index("01"), label(key, "1")), 1, false},
		{newPod("a", index("-1"), label(key, "-1")), keys.NoIndex, false},
		{newPod("a", index("2147483648")), math.MaxInt32, false},
		{newPod("a", index("9223372036854775808")), keys.NoIndex, false},
	} {
		if got := names.IndexOf(tc.pod); got != tc.index {
			t.Errorf("index of %v = %d, want %d", tc.pod.Annotations, got, tc.index)
		}
		if got := names.IndexConflict(tc.pod); got != tc.conflict {
			t.Errorf("conflict of %v and %v = %v, want %v", tc.pod.Annotations, tc.pod.Labels, got, tc.conflict)
		}
	}
}

// Fields without their defaults caused panics.
func TestLesson_k121147_k122235_nothingPanics(t *testing.T) {
	empty := &corev1.Pod{}
	c := take(census.Classifier{}, nil, empty)
	same(t, "records", c.Len(), 1)
	c.Account(census.AccountInputs{Ending: "unknown", Cap: -1})
	same(t, "removed", []bool{c.Remove("other"), c.Remove(""), c.Remove("")}, []bool{false, true, false})
	census.New(census.Classifier{Indexed: true, Limit: perIndex(0), Completions: -1}, -1).IndexResults(indexset.Set{}, indexset.Set{})

	same(t, "index of nil", names.IndexOf(nil), keys.NoIndex)
	same(t, "conflict of nil", names.IndexConflict(nil), false)
}

// A terminating pod was counted as failed, and then exited with 0. With ReplaceFailedOnly
// the pod counts once it has terminated. Otherwise it stays failed.
func TestLesson_k115844_k125695_lateExit0(t *testing.T) {
	for _, failedOnly := range []bool{false, true} {
		classifier := census.Classifier{ReplaceFailedOnly: failedOnly}
		pod := newPod("p", deleted)
		a := take(classifier, pod).Account(census.AccountInputs{})
		classifier.Uncounted = census.ReadUncounted(a.Lists)
		succeeded(pod) // before its finalizer could be removed
		a = take(classifier, pod).Account(census.AccountInputs{})
		want := lists(nil, uids("p"))
		if failedOnly {
			want = lists(uids("p"), nil)
		}
		same(t, fmt.Sprintf("replace failed only %v", failedOnly), a.Lists, want)
	}
}

// With parallelism above one, several pods can fail in one sync. Not all were counted.
func TestLesson_k114391_severalFailuresInOneSync(t *testing.T) {
	c := take(census.Classifier{Policy: policy()},
		newPod("a", exit(exitPlain, after(5))), newPod("s", exit(0, after(3))), newPod("b", exit(exitIgnore, after(7))),
		newPod("c", exit(exitPlain, after(3))), newPod("d", exit(exitPlain, after(1))))
	same(t, "news", c.News(false), census.News{Succeeded: true, LastSuccess: after(3).Time, Failures: 2, LastFailure: after(7).Time})
	same(t, "failed", c.Failed, int32(3))
}

// A new Job inherited the memory of an earlier Job of the same name. Here pods are
// identified by their UID, never by their name.
func TestLesson_k131917_k142142_sameName(t *testing.T) {
	again := newPod("new", succeeded)
	again.Name = "pod-old"
	c := take(census.Classifier{Uncounted: census.ReadUncounted(lists(uids("old"), nil))}, again)
	want := "succeeded[new] failed[] +1 +0 strip[new] handledmap[] recorded 1 full false"
	if got := summary(c.Account(census.AccountInputs{})); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// The pod named as matching FailJob depended on the order of the cache.
func TestLesson_failJobIsDeterministic(t *testing.T) {
	a, b := newPod("b", exit(exitFailJob, after(0)), index("1")), newPod("a", exit(exitFailJob, after(0)), index("2"))
	done := newPod("c", exit(exitFailJob, after(0)), index("3"), released)
	for _, pods := range [][]*corev1.Pod{{a, b, done}, {done, b, a}} {
		c := take(census.Classifier{Indexed: true, Completions: 9, Policy: policy()}, pods...)
		same(t, "FailsJob", failsJob(c).UID, types.UID("b"))
	}
	// The policy applies to counted pods too, as in the Job controller.
	same(t, "FailsJob", failsJob(take(census.Classifier{Policy: policy()}, done)), done)
	if got := failsJob(take(census.Classifier{}, a)); got != nil {
		t.Errorf("without a policy FailsJob = %s, want nil", got.UID)
	}
}
