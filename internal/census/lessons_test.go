package census_test

// Defects that the Job controller has had. kN in a test name is issue or pull request N of
// kubernetes/kubernetes. A comment describes the defect first.

import (
	"math"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// A pod listed as succeeded was later observed as Failed, or the reverse. Its UID was then
// in both lists and was counted twice. Here the first classification sticks.
func TestLesson_k125410_k111646_phaseFlip(t *testing.T) {
	for _, tc := range []struct {
		reason     string
		lists      *batchv1.UncountedTerminatedPods
		pod        *corev1.Pod
		classifier tracking.Classifier
		want       string
	}{
		{"succeeded, then failed", Lists(UIDs("p"), nil), Pod("p", Failed), tracking.Classifier{},
			"succeeded[p] failed[] +0 +0 strip[p] handledmap[] recorded 0 full false"},
		{"failed, then succeeded", Lists(nil, UIDs("p")), Pod("p", Succeeded), tracking.Classifier{},
			"succeeded[] failed[p] +0 +0 strip[p] handledmap[] recorded 0 full false"},
		{"failed, then succeeded, in an Indexed Job", Lists(nil, UIDs("p")), Pod("p", Succeeded, Index("0")), tracking.Classifier{Indexed: true, Completions: 1},
			"succeeded[] failed[p] +0 +0 strip[p] handledmap[] recorded 0 full false"},
		{"succeeded, then matched by a rule", Lists(UIDs("p"), nil), Pod("p", Exit(ExitFailJob, After(0))), tracking.Classifier{Policy: policy()},
			"succeeded[p] failed[] +0 +0 strip[p] handledmap[] recorded 0 full false"},
		{"listed, and still runs", Lists(nil, UIDs("p")), Pod("p"), tracking.Classifier{},
			"succeeded[] failed[p] +0 +0 strip[] handledmap[] recorded 0 full false"},
	} {
		tc.classifier.Uncounted = readUncounted(tc.lists)
		c := take(tc.classifier, tc.pod)
		Same(t, tc.reason, summary(c.Account(tracking.AccountInputs{})), tc.want)
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
	u := readUncounted(Lists(UIDs("p", "s", "s", ""), UIDs("p", "f")))
	if !u.Damaged || len(u.Succeeded)+len(u.Failed) != 3 {
		t.Errorf("Damaged, Len = %v, %d, want true, 3", u.Damaged, len(u.Succeeded)+len(u.Failed))
	}
	c := take(tracking.Classifier{Uncounted: u}, Pod("p", Succeeded))
	want := "succeeded[] failed[p] +1 +1 strip[p] handledmap[] recorded 0 full false"
	Same(t, "account", summary(c.Account(tracking.AccountInputs{})), want)
	for _, in := range []*batchv1.UncountedTerminatedPods{nil, Lists(nil, nil), Lists(UIDs("s"), UIDs("f"))} {
		if readUncounted(in).Damaged {
			t.Errorf("%v: Damaged = true, want false", in)
		}
	}
}

// A stale pod cache still showed a removed finalizer, and the pod was counted twice.
func TestLesson_k105200_staleFinalizer(t *testing.T) {
	pods := []*corev1.Pod{Pod("a", Failed), Pod("b", Succeeded)}
	c := take(tracking.Classifier{}, pods...)
	c.SetStripped(UIDs("a", "b"))
	want := "succeeded[] failed[] +0 +0 strip[] handledmap[] recorded 0 full false"
	Same(t, "account", summary(c.Account(tracking.AccountInputs{Deleting: true})), want)
	Same(t, "totals", c.SucceededTotal(4)+c.FailedTotal(3), int32(7))
	Same(t, "change", c.BackoffChange(false), census.BackoffChange{})
	// A UID that is still listed is counted now, because its finalizer is removed.
	c.SetClassifier(&tracking.Classifier{Uncounted: readUncounted(Lists(nil, UIDs("a")))})
	want = "succeeded[] failed[] +0 +1 strip[] handledmap[] recorded 0 full false"
	Same(t, "account", summary(c.Account(tracking.AccountInputs{})), want)
	Same(t, "total", c.FailedTotal(3), int32(4))
}

// Counters fell when pods were deleted.
func TestLesson_k81227_k28486_countersNeverFall(t *testing.T) {
	pods := []*corev1.Pod{Pod("a", Failed), Pod("b", Failed), Pod("c", Succeeded)}
	total := func(parked *batchv1.UncountedTerminatedPods, succeeded, failed int32, pods ...*corev1.Pod) [2]int32 {
		c := take(tracking.Classifier{Uncounted: readUncounted(parked)}, pods...)
		return [2]int32{c.SucceededTotal(succeeded), c.FailedTotal(failed)}
	}
	want := [2]int32{1, 2}
	Same(t, "new", total(nil, 0, 0, pods...), want)
	a := take(tracking.Classifier{}, pods...).Account(tracking.AccountInputs{})
	Same(t, "recorded", total(a.Lists, 0, 0, pods...), want)
	Same(t, "one pod gone", total(a.Lists, 0, 0, pods[1:]...), want)
	Same(t, "all pods gone", total(a.Lists, 0, 0), want)
	s := a.Settle(UIDs("a", "c"))
	Same(t, "settled in part", total(s.Lists, s.Succeeded, s.Failed, pods[1]), want)
	s = a.Settle(UIDs("a", "b", "c"))
	Same(t, "settled", total(s.Lists, s.Succeeded, s.Failed), want)
}

// Counters wrapped around at the end of their range.
func TestLesson_countersSaturate(t *testing.T) {
	c := take(tracking.Classifier{}, Pod("a", Failed), Pod("b", Succeeded))
	for counted, want := range map[int32]int32{math.MaxInt32: math.MaxInt32, math.MaxInt32 - 1: math.MaxInt32, 5: 6} {
		Same(t, "failed", c.FailedTotal(counted), want)
		Same(t, "succeeded", c.SucceededTotal(counted), want)
	}
}

// An index with a succeeded pod and a failed pod that had used up the limit was added to
// both sets, and the API server rejected every such status. Here the success wins.
func TestLesson_setsAreDisjoint(t *testing.T) {
	classifier := tracking.Classifier{Indexed: true, Completions: 2, Limit: perIndex(0)}
	for _, tc := range []struct {
		reason            string
		completed, failed string
		pods              []*corev1.Pod
	}{
		{"one pod of each kind", "", "", []*corev1.Pod{Pod("a", Succeeded, Index("0")), Pod("b", Failed, Index("0"))}},
		{"completed before", "0", "", []*corev1.Pod{Pod("b", Failed, Index("0"))}},
		{"failed before", "", "0", []*corev1.Pod{Pod("a", Succeeded, Index("0"))}},
		{"in both sets of the status", "0", "0", nil},
	} {
		results := take(classifier, tc.pods...).IndexResults(indexset.MustParse(tc.completed), indexset.MustParse(tc.failed))
		Same(t, tc.reason+": completed/failed", results.Completed.String()+"/"+results.Failed.String(), "0/")
	}
}

// Duplicate indexes were counted, and indexes out of range were never pruned.
func TestLesson_k99865_k115349_successIsASet(t *testing.T) {
	classifier := tracking.Classifier{Indexed: true, Completions: 3}
	c := take(classifier, Pod("a", Succeeded, Index("1")), Pod("b", Succeeded, Index("1")), Pod("c", Succeeded, Index("7")), Pod("d", Succeeded))
	results := c.IndexResults(indexset.MustParse("0,5-9"), indexset.Set{})
	Same(t, "completed", results.Completed.String(), "0,1")
	Same(t, "counted", c.Counted().String(), "0")
}

// Fields without their defaults caused panics.
func TestLesson_k121147_k122235_nothingPanics(t *testing.T) {
	empty := &corev1.Pod{}
	c := take(tracking.Classifier{}, nil, empty)
	Same(t, "records", c.Len(), 1)
	c.Account(tracking.AccountInputs{Ending: "unknown", Cap: -1})
	Same(t, "removed", []bool{c.Remove("other"), c.Remove(""), c.Remove("")}, []bool{false, true, false})
	newCensus(tracking.Classifier{Indexed: true, Limit: perIndex(0), Completions: -1}, -1).IndexResults(indexset.Set{}, indexset.Set{})

}

// With parallelism above one, several pods can fail in one sync. Not all were counted.
func TestLesson_k114391_severalFailuresInOneSync(t *testing.T) {
	c := take(tracking.Classifier{Policy: policy()},
		Pod("a", Exit(ExitPlain, After(5))), Pod("s", Exit(0, After(3))), Pod("b", Exit(ExitIgnore, After(7))),
		Pod("c", Exit(ExitPlain, After(3))), Pod("d", Exit(ExitPlain, After(1))))
	Same(t, "change", c.BackoffChange(false), census.BackoffChange{Succeeded: true, LastSuccess: After(3).Time, Failures: 2, LastFailure: After(7).Time})
	Same(t, "failed", c.Failed, int32(3))
}

// A new Job inherited the memory of an earlier Job of the same name. Here pods are
// identified by their UID, never by their name.
func TestLesson_k131917_k142142_sameName(t *testing.T) {
	again := Pod("new", Succeeded)
	again.Name = "pod-old"
	c := take(tracking.Classifier{Uncounted: readUncounted(Lists(UIDs("old"), nil))}, again)
	want := "succeeded[new] failed[] +1 +0 strip[new] handledmap[] recorded 1 full false"
	Same(t, "account", summary(c.Account(tracking.AccountInputs{})), want)
}

// The pod named as matching FailJob depended on the order of the cache.
func TestLesson_failJobIsDeterministic(t *testing.T) {
	a, b := Pod("b", Exit(ExitFailJob, After(0)), Index("1")), Pod("a", Exit(ExitFailJob, After(0)), Index("2"))
	done := Pod("c", Exit(ExitFailJob, After(0)), Index("3"), Released)
	for _, pods := range [][]*corev1.Pod{{a, b, done}, {done, b, a}} {
		c := take(tracking.Classifier{Indexed: true, Completions: 9, Policy: policy()}, pods...)
		Same(t, "FailsJob", failsJob(c).UID, types.UID("b"))
	}
	// The policy applies to counted pods too, as in the Job controller.
	Same(t, "FailsJob", failsJob(take(tracking.Classifier{Policy: policy()}, done)), done)
	Same(t, "FailsJob without a policy", failsJob(take(tracking.Classifier{}, a)), nil)
}
