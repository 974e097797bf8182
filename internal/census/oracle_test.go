package census_test

// A slow and obvious implementation to compare the package with.

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// world is a Job and its pods.
type world struct {
	Indexed           bool
	Completions       int32
	PerIndex          bool
	Limit             int32
	ReplaceFailedOnly bool
	Restarts          bool
	WithPolicy        bool // the pod failure policy is policy()
	Succeeded, Failed []types.UID
	Pods              []*corev1.Pod
	Adopted, Stripped map[types.UID]bool
}

func (w world) classifier() classify.Classifier { return w.classifierFor(classify.Classifier{}) }

// classifierFor returns a classifier of the world that recognizes the pods of the same Job as c.
func (w world) classifierFor(c classify.Classifier) classify.Classifier {
	c.Indexed, c.Completions = w.Indexed, w.Completions
	c.ReplaceFailedOnly, c.CountRestarts = w.ReplaceFailedOnly, w.Restarts
	c.Uncounted = classify.ReadUncounted(Lists(w.Succeeded, w.Failed))
	if w.PerIndex {
		c.Limit = perIndex(w.Limit)
	}
	if w.WithPolicy {
		c.Policy = policy()
	}
	return c
}

func (w world) census() *census.Census {
	c := newCensus(w.classifier(), len(w.Pods))
	c.SetStripped(w.stripped())
	for _, pod := range w.Pods {
		relation := classify.Owned
		if w.Adopted[pod.UID] {
			relation = classify.Adoptable
		}
		c.Add(pod, relation)
	}
	return c
}

func (w world) stripped() (uids []types.UID) {
	for uid, stripped := range w.Stripped {
		if stripped {
			uids = append(uids, uid)
		}
	}
	return uids
}

// settled returns the indexes that need no new pod: those with an active pod and those
// that are done.
func (w world) settled(results census.IndexResults) map[int64]bool {
	settled := w.indexes(w.filter(active, w.valid))
	maps.Copy(settled, asMap(results.Completed))
	maps.Copy(settled, asMap(results.Failed))
	return settled
}

// filter returns the pods for which all conditions hold.
func (w world) filter(holds ...func(*corev1.Pod) bool) []*corev1.Pod {
	var out []*corev1.Pod
pods:
	for _, pod := range w.Pods {
		for _, h := range holds {
			if !h(pod) {
				continue pods
			}
		}
		out = append(out, pod)
	}
	return out
}

// carries: KEP-2307, "have a finalizer". The patch that adopts a pod adds it.
func (w world) carries(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) || w.Adopted[pod.UID]
}

func (w world) tracked(pod *corev1.Pod) bool { return w.carries(pod) && !w.Stripped[pod.UID] }

func (w world) listed(pod *corev1.Pod) bool {
	return w.carries(pod) && (slices.Contains(w.Succeeded, pod.UID) || slices.Contains(w.Failed, pod.UID))
}

func index64(pod *corev1.Pod) int64 {
	n, err := strconv.ParseInt(pod.Annotations[batchv1.JobCompletionIndexAnnotation], 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func (w world) valid(pod *corev1.Pod) bool {
	return !w.Indexed || index64(pod) >= 0 && index64(pod) < int64(w.Completions)
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func active(pod *corev1.Pod) bool      { return !ended(pod) && pod.DeletionTimestamp == nil }
func terminating(pod *corev1.Pod) bool { return !ended(pod) && pod.DeletionTimestamp != nil }

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return active(pod) && c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// looksFailed: KEP-3939. With ReplaceFailedOnly only "fully terminated" pods count as
// failed, otherwise terminating pods do too.
func (w world) looksFailed(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || terminating(pod) && !w.ReplaceFailedOnly
}

// failed reports whether the pod counts as failed. A list overrules the phase.
func (w world) failed(pod *corev1.Pod) bool {
	counts := w.looksFailed(pod) || pod.Status.Phase == corev1.PodSucceeded
	if counts && w.listed(pod) {
		return slices.Contains(w.Failed, pod.UID)
	}
	return w.looksFailed(pod)
}

func (w world) succeeded(pod *corev1.Pod) bool {
	counts := w.looksFailed(pod) || pod.Status.Phase == corev1.PodSucceeded
	if counts && w.listed(pod) {
		return !slices.Contains(w.Failed, pod.UID)
	}
	return pod.Status.Phase == corev1.PodSucceeded
}

// action returns the action of the rule that a pod matches.
func (w world) action(pod *corev1.Pod) batchv1.PodFailurePolicyAction {
	if !w.WithPolicy || len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Terminated == nil {
		return ""
	}
	return ActionOf(pod.Status.ContainerStatuses[0].State.Terminated.ExitCode)
}

func (w world) does(action batchv1.PodFailurePolicyAction) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { return w.failed(pod) && w.action(pod) == action }
}

// fresh returns the finished pods that no status has recorded.
func (w world) fresh(how func(*corev1.Pod) bool) []*corev1.Pod {
	return w.filter(w.tracked, w.valid, how, func(pod *corev1.Pod) bool { return !w.listed(pod) })
}

// bits returns the classification of a pod.
func (w world) bits(pod *corev1.Pod) map[string]bool {
	return map[string]bool{
		"active": active(pod), "ready": ready(pod), "terminating": terminating(pod),
		"succeeded": w.succeeded(pod), "failed": w.failed(pod),
		"finalized": w.carries(pod), "tracked": w.tracked(pod), "listed": w.listed(pod), "valid": w.valid(pod),
		"ignored":    w.does(batchv1.PodFailurePolicyActionIgnore)(pod),
		"failsIndex": w.failsIndex(pod),
		"failsJob":   w.does(batchv1.PodFailurePolicyActionFailJob)(pod),
	}
}

// bitsOf returns the classification in a record.
func bitsOf(r *census.Record) map[string]bool {
	return map[string]bool{
		"active": r.Active, "ready": r.Ready, "terminating": r.Terminating,
		"succeeded": r.Succeeded, "failed": r.Failed,
		"finalized": r.Finalized, "tracked": r.Tracked, "listed": r.Listed, "valid": r.Valid,
		"ignored": r.Ignored(), "failsIndex": r.FailsIndex(), "failsJob": r.FailsJob(),
	}
}

// sorted returns the pods ordered by index, then by UID. Indexes above the largest int32 count
// as equal.
func (w world) sorted(pods []*corev1.Pod) []*corev1.Pod {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	if w.Indexed {
		slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
			return cmp.Compare(min(index64(a), math.MaxInt32), min(index64(b), math.MaxInt32))
		})
	}
	return pods
}

var failedBefore = backoff.Record{Job: "job", Failures: 2, LastFailure: After(4).Time}

// indexes returns the indexes of the pods. Values that are no index are left out.
func (w world) indexes(pods []*corev1.Pod) map[int64]bool {
	set := map[int64]bool{}
	for _, pod := range pods {
		if w.Indexed && index64(pod) >= 0 && index64(pod) < 1<<31-1 {
			set[index64(pod)] = true
		}
	}
	return set
}

// exhausted: KEP-3850, "the value of the annotation is greater or equal to the
// configured backoff limit per index".
func (w world) exhausted(pod *corev1.Pod) bool {
	return w.action(pod) != batchv1.PodFailurePolicyActionIgnore &&
		(w.action(pod) == batchv1.PodFailurePolicyActionFailIndex || classify.CountsOf(&names, pod.Annotations).Failures >= w.Limit)
}

// failsIndex reports whether the failure of a pod fails its index.
func (w world) failsIndex(pod *corev1.Pod) bool {
	if w.Indexed && w.PerIndex {
		return w.failed(pod) && w.exhausted(pod)
	}
	return w.does(batchv1.PodFailurePolicyActionFailIndex)(pod)
}

// predecessors returns, for each index, the pod that its next pod replaces.
func (w world) predecessors(done map[int64]bool) map[int64]types.UID {
	byIndex := map[int64][]*corev1.Pod{}
	if w.Indexed && w.PerIndex {
		for _, pod := range w.filter(w.tracked, w.valid, w.failed) {
			if !done[index64(pod)] {
				byIndex[index64(pod)] = append(byIndex[index64(pod)], pod)
			}
		}
	}
	out := map[int64]types.UID{}
	for i, pods := range byIndex {
		slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
		slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return backoff.FinishTime(a).Compare(backoff.FinishTime(b)) })
		slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
			x, y := classify.CountsOf(&names, a.Annotations), classify.CountsOf(&names, b.Annotations)
			return int(x.Failures) + int(x.Ignored) - int(y.Failures) - int(y.Ignored)
		})
		out[i] = pods[len(pods)-1].UID
	}
	return out
}

// drawWorld draws pods in every state, with edited annotations and damaged lists.
func drawWorld(t *rapid.T) world {
	flip := rapid.Bool()
	w := world{
		Indexed: flip.Draw(t, "indexed"), Completions: rapid.Int32Range(0, 5).Draw(t, "completions"),
		PerIndex: flip.Draw(t, "per index"), Limit: rapid.Int32Range(0, 3).Draw(t, "limit"),
		ReplaceFailedOnly: flip.Draw(t, "replace failed only"), Restarts: flip.Draw(t, "restarts"), WithPolicy: flip.Draw(t, "policy"),
		Adopted: map[types.UID]bool{}, Stripped: map[types.UID]bool{},
	}
	for i := range rapid.IntRange(0, 9).Draw(t, "pods") {
		pod := DrawPod(t, "uid-"+strconv.Itoa(i))
		w.Pods = append(w.Pods, pod)
		w.Adopted[pod.UID] = OneIn(t, 8, "adopted")
		w.Stripped[pod.UID] = OneIn(t, 6, "stripped")
		if OneIn(t, 4, "in the list of succeeded") {
			w.Succeeded = append(w.Succeeded, pod.UID)
		}
		if OneIn(t, 4, "in the list of failed") {
			w.Failed = append(w.Failed, pod.UID)
		}
	}
	for _, uid := range []types.UID{"gone-1", "gone-2", "gone-2", "", "gone-3"} {
		if OneIn(t, 3, "gone succeeded") {
			w.Succeeded = append(w.Succeeded, uid)
		}
		if OneIn(t, 3, "gone failed") {
			w.Failed = append(w.Failed, uid)
		}
	}
	return w
}
