package census_test

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// A Job may have 10^5 pods, with a Record each.
func TestRecordIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(census.Record{}); size > 48 {
		t.Errorf("a Record takes %d bytes, want at most 48", size)
	}
}

func TestFinishOfUnknownTimes(t *testing.T) {
	pod := Pod("a", Failed)
	pod.Status.ContainerStatuses = nil
	pod.CreationTimestamp.Reset()
	if got := take(tracking.Classifier{}, pod).Of("a").Finish(); !got.IsZero() {
		t.Errorf("Finish = %v, want the zero time", got)
	}
}

// Pods are ordered by index, then by UID, also if many UIDs have the same start.
func TestInOrder(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, indexed := range []bool{true, false} {
		var pods []*corev1.Pod
		for i := range 500 {
			pods = append(pods, Pod(fmt.Sprintf("%s-%03d", []string{"a", "long-start", "long-start-2", ""}[i%4], i), Index(fmt.Sprint(r.Intn(100)))))
		}
		r.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		records := take(tracking.Classifier{Indexed: indexed, Completions: 100}, pods...).ActiveInOrder()
		Same(t, "records", len(records), len(pods))
		Same(t, fmt.Sprintf("indexed %v: in order", indexed), slices.IsSortedFunc(records, byIndexAndUID), true)
		Same(t, "none", len(inOrder(take(tracking.Classifier{}, pods...), func(r *census.Record) bool { return r.Failed })), 0)
	}
}

// byIndexAndUID is the order of pods without the shortcut that a Record takes.
func byIndexAndUID(a, b *census.Record) int {
	return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Pod.UID, b.Pod.UID))
}

// The first Ready condition decides. Only active pods are ready.
func TestReady(t *testing.T) {
	conditions := func(statuses ...corev1.ConditionStatus) Edit {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
			for _, s := range statuses {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: s})
			}
		}
	}
	for _, tc := range []struct {
		pod  *corev1.Pod
		want int32
	}{
		{Pod("a", conditions()), 0},
		{Pod("a", conditions(corev1.ConditionTrue)), 1},
		{Pod("a", conditions(corev1.ConditionFalse, corev1.ConditionTrue)), 0},
		{Pod("a", conditions(corev1.ConditionUnknown)), 0},
		{Pod("a", conditions(corev1.ConditionTrue), Deleted), 0},
		{Pod("a", conditions(corev1.ConditionTrue), Failed), 0},
	} {
		Same(t, fmt.Sprint("ready with ", tc.pod.Status.Conditions), take(tracking.Classifier{}, tc.pod).Ready, tc.want)
	}
}

// Only the restarts of pending and running pods count.
func TestRestarts(t *testing.T) {
	restarted := func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1<<31 - 1}}
	}
	pods := []*corev1.Pod{Pod("a", restarted), Pod("b", restarted), Pod("c", restarted, Phase(corev1.PodFailed))}
	Same(t, "restarts", take(tracking.Classifier{CountRestarts: true}, pods...).Restarts, int64(2)*(1<<31-1))
	Same(t, "without CountRestarts", take(tracking.Classifier{}, pods...).Restarts, int64(0))
}

// Without a backoff limit per index, the failure counts of a pod are not read.
func TestCountsAreReadPerIndex(t *testing.T) {
	pod := Pod("a", Failed, Index("0"), Failures("3"))
	for limit, want := range map[backoff.Limit]int32{perIndex(1): 3, {PerJob: 1}: 0} {
		classifier := tracking.Classifier{Indexed: true, Completions: 1, Limit: limit}
		Same(t, fmt.Sprintf("failures with %+v", limit), take(classifier, pod).Of("a").Counts.Failures, want)
	}
}

// Of several pods that fail the Job, FailsJob returns the first in the order of Before,
// whichever was added first. Without indexes that is the pod with the lowest UID.
func TestFailsJobNamesTheFirst(t *testing.T) {
	fails := func(uid string) *corev1.Pod { return Pod(uid, Exit(ExitFailJob, After(0))) }
	pods := []*corev1.Pod{fails("b"), fails("a"), fails("c")}
	if got := failsJob(take(tracking.Classifier{Policy: policy()}, pods...)); got != pods[1] {
		t.Errorf("FailsJob = %v, want a", got)
	}
}

// A removed pod leaves no record.
func TestRemoveLeavesNoRecord(t *testing.T) {
	pods := []*corev1.Pod{Pod("a"), Pod("b"), Pod("c")}
	c := take(tracking.Classifier{}, pods...)
	for left := len(pods) - 1; left >= 0; left-- {
		if !c.Remove(pods[left].UID) {
			t.Fatalf("Remove(%s) = false, want true", pods[left].UID)
		}
		Same(t, "records", c.Len(), left)
		Same(t, "active", int(c.Active), left)
	}
}

// KEP-2307 § Pod adoption: "this Pod might not have a finalizer".
func TestAdoptedPodIsTracked(t *testing.T) {
	for _, adopted := range []bool{true, false} {
		c := newCensus(tracking.Classifier{}, 1)
		c.Add(Pod("a", Ownerless, Released, Failed), adopted)
		Same(t, "is tracked", c.Of("a").Tracked, adopted)
		Same(t, "strip", len(c.Account(tracking.AccountInputs{}).Strip) == 1, adopted)
	}
}
