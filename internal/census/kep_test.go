package census_test

// Each test checks the sentences of the KEPs that it quotes.

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// KEP-2307 § Algorithm, step 1: "The Job controller calculates the number of
// succeeded Pods as the sum of: .status.succeeded, the size of
// job.status.uncountedTerminatedPods.succeeded and the number of finished Pods
// that are not in job.status.uncountedTerminatedPods.succeeded and have a
// finalizer."
func TestKEP2307_totals(t *testing.T) {
	c := take(tracking.Classifier{Uncounted: readUncounted(Lists(UIDs("s", "gone"), UIDs("f")))},
		Pod("s", Succeeded), Pod("s2", Succeeded), Pod("s3", Succeeded, Released),
		Pod("f", Failed), Pod("f2", Failed), Pod("f3", Failed), Pod("f4", Failed, Released))
	Same(t, "succeeded", c.SucceededTotal(10), int32(10+2+1))
	Same(t, "failed", c.FailedTotal(20), int32(20+1+2))
}

// KEP-3850 § Tracking the number of failures per index: "When Job controller sees
// a failed pod corresponding to a given index, and the value of the annotation
// batch.kubernetes.io/job-index-failure-count is greater or equal to the
// configured backoff limit per index then the index is marked as failed".
// § FailIndex action: "we add the corresponding index to the set of failed
// indexes".
func TestKEP3850_failedIndexes(t *testing.T) {
	for _, tc := range []struct {
		reason     string
		limit      int32
		pods       []*corev1.Pod
		want       string
		classifier func(*tracking.Classifier)
		already    string
	}{
		{reason: "below the limit", limit: 1, pods: []*corev1.Pod{Pod("a", Failed, Index("1"), Failures("0"))}},
		{reason: "equal", limit: 1, pods: []*corev1.Pod{Pod("a", Failed, Index("1"), Failures("1"))}, want: "1"},
		{reason: "greater", limit: 1, pods: []*corev1.Pod{Pod("a", Failed, Index("1"), Failures("2"))}, want: "1"},
		{reason: "limit 0", limit: 0, pods: []*corev1.Pod{Pod("a", Failed, Index("1"))}, want: "1"},
		{reason: "not failed", limit: 0, pods: []*corev1.Pod{Pod("a", Index("1"))}},
		{reason: "finalizer removed already", limit: 0, pods: []*corev1.Pod{Pod("a", Failed, Index("1"), Released)}},
		{reason: "no such index", limit: 0, pods: []*corev1.Pod{Pod("a", Failed, Index("5")), Pod("b", Failed)}},
		{reason: "FailIndex below the limit", limit: 9, pods: []*corev1.Pod{Pod("a", Exit(ExitFailIndex, After(0)), Index("1"))}, want: "1"},
		{reason: "Ignore at the limit", limit: 0, pods: []*corev1.Pod{Pod("a", Exit(ExitIgnore, After(0)), Index("1"))}},
		{reason: "failed indexes in the status stay", limit: 9, already: "0,4,5-9", want: "0,4"},
		{reason: "no limit per index", limit: 0, already: "0", pods: []*corev1.Pod{Pod("a", Failed, Index("1"))}, classifier: func(l *tracking.Classifier) { l.Limit = backoff.Limit{} }},
	} {
		classifier := tracking.Classifier{Indexed: true, Completions: 5, Limit: perIndex(tc.limit), Policy: policy()}
		if tc.classifier != nil {
			tc.classifier(&classifier)
		}
		already, _ := indexset.ParseDamaged(tc.already, 10)
		results := take(classifier, tc.pods...).IndexResults(indexset.Set{}, already)
		Same(t, tc.reason+": failed indexes", results.Failed.String(), tc.want)
	}
}

// KEP-3850 § Tracking the number of failures per index: "the Job controller
// removes finalizers of a failed pod for a given index, only once the replacement
// pod [...] is created, or the index is marked as failed".
func TestKEP3850_removalWaitsForTheReplacement(t *testing.T) {
	classifier := tracking.Classifier{Indexed: true, Completions: 5, Limit: perIndex(9)}
	first := Pod("first", Failed, Index("2"), Failures("0"))
	second := Pod("second", Failed, Index("2"), Failures("1"))
	strip := func(completed, failed indexset.Set, pods ...*corev1.Pod) []types.UID {
		c := take(classifier, pods...)
		c.IndexResults(completed, failed)
		return UIDsOf(c.Account(tracking.AccountInputs{}).Strip)
	}
	none, two := indexset.Set{}, indexset.Of(2)
	Same(t, "waits", strip(none, none, first), []types.UID(nil))
	Same(t, "replaced", strip(none, none, first, Pod("next", Index("2"))), UIDs("first"))
	Same(t, "index completed", strip(two, none, first), UIDs("first"))
	Same(t, "index failed", strip(none, two, first), UIDs("first"))
	Same(t, "only the last of several waits", strip(none, none, second, first), UIDs("first"))
}

// KEP-3850: "if x is the highest batch.kubernetes.io/job-index-failure-count for
// the index".
func TestKEP3850_predecessor(t *testing.T) {
	at := func(seconds int) Edit { return Exit(ExitPlain, After(seconds)) }
	for _, tc := range []struct {
		reason string
		a, b   *corev1.Pod
		want   types.UID
	}{
		{"the highest count", Pod("a", at(0), Index("0"), Failures("2")), Pod("b", at(9), Index("0"), Failures("1")), "a"},
		{"ignored failures count as well", Pod("a", at(0), Index("0"), Annotation(batchv1.JobIndexIgnoredFailureCountAnnotation, "2")), Pod("b", at(9), Index("0"), Failures("1")), "a"},
		{"then the latest", Pod("a", at(9), Index("0")), Pod("b", at(0), Index("0")), "a"},
		{"to the nanosecond", Pod("a", func(pod *corev1.Pod) {
			at(0)(pod)
			st := pod.Status.ContainerStatuses[0].State.Terminated
			st.FinishedAt.Time = st.FinishedAt.Add(1)
		}, Index("0")), Pod("b", at(0), Index("0")), "a"},
		{"then the highest UID, so that the result is deterministic", Pod("a", at(0), Index("0")), Pod("b", at(0), Index("0")), "b"},
	} {
		for _, pods := range [][]*corev1.Pod{{tc.a, tc.b}, {tc.b, tc.a}} {
			c := take(tracking.Classifier{Indexed: true, Completions: 1, Limit: perIndex(9)}, pods...)
			if p := c.Predecessors(); len(p) != 1 || c.Predecessor(0) != p[0] || p[0].Pod.UID != tc.want {
				t.Errorf("%s: got %v, want %s", tc.reason, p, tc.want)
			}
		}
	}
	c := take(tracking.Classifier{Indexed: true, Completions: 1}, Pod("a", Failed, Index("0")))
	if p := c.Predecessors(); len(p) != 0 || c.Predecessor(0) != nil {
		t.Errorf("without a limit per index there are %d predecessors, want none", len(p))
	}
}

// KEP-3939: how a pod that is being deleted counts, with both replacement policies.
func TestKEP3939_terminating(t *testing.T) {
	for _, tc := range []struct {
		pod                         *corev1.Pod
		failedOnly                  bool
		active, terminating, failed int32
	}{
		{Pod("a"), false, 1, 0, 0},
		{Pod("a"), true, 1, 0, 0},
		{Pod("a", Deleted), false, 0, 1, 1},
		{Pod("a", Deleted), true, 0, 1, 0},
		{Pod("a", Deleted, Failed), false, 0, 0, 1},
		{Pod("a", Deleted, Failed), true, 0, 0, 1},
		{Pod("a", Deleted, Succeeded), false, 0, 0, 0},
		{Pod("a", Deleted, Succeeded), true, 0, 0, 0},
	} {
		c := take(tracking.Classifier{ReplaceFailedOnly: tc.failedOnly}, tc.pod)
		got := [3]int32{c.Active, c.Terminating, c.Failed}
		Same(t, fmt.Sprintf("%s, deleted %v, replace failed only %v: active, terminating, failed", tc.pod.Status.Phase, tc.pod.DeletionTimestamp != nil, tc.failedOnly), got, [3]int32{tc.active, tc.terminating, tc.failed})
	}
}

// When the last failed pod of an index goes, the one before it of the same index takes its place.
func TestPredecessor_theLastGoes(t *testing.T) {
	at := func(seconds int, i string) []Edit { return []Edit{Exit(ExitPlain, After(seconds)), Index(i)} }
	c := take(tracking.Classifier{Indexed: true, Completions: 2, Limit: perIndex(9)})
	want := func(indexes ...types.UID) {
		t.Helper()
		Same(t, "predecessors", records(c.Predecessors()), indexes)
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
	c.Add(Pod("a", at(0, "0")...), false)
	c.Add(Pod("b", at(0, "1")...), false)
	c.Add(Pod("c", at(1, "0")...), false)
	want("c", "b")
	c.Remove("b") // and index 0 has two
	want("c")
	c.Add(Pod("d", at(2, "1")...), false)
	c.Remove("c") // and the next index has one
	want("a", "d")
	c.Remove("a") // and each index had one
	c.Add(Pod("e", at(3, "1")...), false)
	want("e")
	c.Remove("e")
	want("d")
}
