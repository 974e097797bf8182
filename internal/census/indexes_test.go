package census

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// indexedCensus returns the census of pods of an Indexed Job with 9 completions, and a limit per index unless it is
// negative.
func indexedCensus(t *testing.T, limit int32, pods ...*corev1.Pod) *Census {
	t.Helper()
	job := largeJob(0)
	job.Spec.Completions, job.Spec.BackoffLimitPerIndex = new(int32(9)), &limit
	if limit < 0 {
		job.Spec.BackoffLimitPerIndex = nil
	}
	c, _ := censusOf(t, job, classify.Options{}, pods...)
	return c
}

func done(index string) *corev1.Pod { return Pod("done-"+index, Succeeded, Index(index)) }

func failedPod(index string) *corev1.Pod { return Pod("failed-"+index, Failed, Index(index)) }

// The status of another process may have as many indexes as the pods and the status before had, but others.
func TestIndexResults_otherIndexesOfTheSameNumber(t *testing.T) {
	for _, limit := range []int32{-1, 0} {
		c := indexedCensus(t, limit, done("0"), done("1"))
		results := func(completed, failed string) string {
			r := c.IndexResults(indexset.MustParse(completed), indexset.MustParse(failed))
			return r.Completed.String() + "; " + r.Failed.String()
		}
		Same(t, "the pods", results("", ""), "0,1; ")
		Same(t, "as many in the status", results("0,2", ""), "0-2; ")
		Same(t, "as many others", results("0,3", ""), "0,1,3; ")
		Same(t, "the status records the pods", results("0,1,3", ""), "0,1,3; ")
		if limit < 0 {
			continue
		}
		Same(t, "one failed", results("0,1,3", "5"), "0,1,3; 5")
		Same(t, "another failed", results("0,1,3", "6"), "0,1,3; 6")
		Same(t, "it has completed", results("0,1,6", "6"), "0,1,6; ")
		Same(t, "another has completed instead", results("0,1,4", "6"), "0,1,4; 6")
	}
}

// A pod that comes and goes between two decisions leaves no index. Nor does one without the finalizer.
func TestIndexResults_ofPodsThatAreGone(t *testing.T) {
	c := indexedCensus(t, 0, done("0"), Pod("freed", Succeeded, Index("7"), Released))
	none := indexset.Set{}
	Same(t, "completed", c.IndexResults(none, none).Completed.String(), "0")
	c.Add(done("3"), classify.Owned)
	c.Remove("done-3")
	Same(t, "completed after one has come and gone", c.IndexResults(none, none).Completed.String(), "0")
	c.Add(done("4"), classify.Owned)
	c.Remove("done-0")
	Same(t, "completed after one has come and another has gone", c.IndexResults(none, none).Completed.String(), "4")
	Same(t, "in the status alone", c.Counted().Len(), 0)
}

// A failed index whose pod succeeds after all is no longer failed.
func TestIndexResults_successOfAFailedIndex(t *testing.T) {
	c := indexedCensus(t, 0, failedPod("2"))
	none := indexset.Set{}
	Same(t, "failed", c.IndexResults(none, none).Failed.String(), "2")
	c.Add(done("2"), classify.Owned)
	r := c.IndexResults(none, none)
	Same(t, "completed, and failed", r.Completed.String()+"; "+r.Failed.String(), "2; ")
}

// Whether a failed pod waits for its replacement changes with what the status says of its index, and with the other pods
// of the index.
func TestAccount_whenAPodStopsWaiting(t *testing.T) {
	strips := func(c *Census) []types.UID { return UIDsOf(c.Account(classify.AccountInputs{}).Strip) }
	c := indexedCensus(t, 5, failedPod("2"), done("0"))
	none := indexset.Set{}
	Same(t, "it waits", strips(c), UIDs("done-0"))
	c.SetDone(indexset.Of(2), none)
	Same(t, "its index is done", strips(c), UIDs("done-0", "failed-2"))
	c.SetDone(none, none)
	Same(t, "it is not", strips(c), UIDs("done-0"))
	c.SetDone(none, indexset.Of(2))
	Same(t, "its index has failed", strips(c), UIDs("done-0", "failed-2"))
	c.SetDone(none, none)
	c.Add(Pod("next", Index("2")), classify.Owned)
	Same(t, "there is another pod", strips(c), UIDs("done-0", "failed-2"))
	c.Remove("next")
	Same(t, "the other pod is gone", strips(c), UIDs("done-0"))
	Same(t, "an inconsistency", c.Check(), nil)
}

// An index whose pod goes is vacant, and those of the pods beside it are not.
func TestVacant_betweenPods(t *testing.T) {
	c, _ := censusOf(t, largeJob(5), classify.Options{}, Pod("a", Index("2")), Pod("b", Index("3")), Pod("c", Index("4")))
	before := c.Vacancies()
	c.Remove("b")
	Same(t, "vacant", c.Vacancies(), before+1)
	Same(t, "an inconsistency", c.Check(), nil)
}

// Without ReplaceFailedOnly the index of a terminating pod is vacant, also after the vacant indexes were read.
func TestVacant_terminatingPod(t *testing.T) {
	for policy, want := range map[batchv1.PodReplacementPolicy]int{batchv1.TerminatingOrFailed: 9, batchv1.Failed: 8} {
		job := largeJob(5)
		job.Spec.Completions, job.Spec.PodReplacementPolicy = new(int32(9)), &policy
		c, _ := censusOf(t, job, classify.Options{}, Pod("a", Index("2")))
		Same(t, "vacant beside an active pod", c.Vacancies(), 8)
		c.Add(Pod("a", Index("2"), Deleted), classify.Owned)
		Same(t, "vacant beside a terminating pod, policy "+string(policy), c.Vacancies(), want)
		Same(t, "an inconsistency", c.Check(), nil)
	}
}

// A clone has the finalizers that were removed, and the indexes that the status has, but not those of the pods.
func TestClone_ofACensus(t *testing.T) {
	c := indexedCensus(t, 5, done("0"), done("1"), Pod("a", Index("2")))
	c.IndexResults(indexset.Of(7), indexset.Of(8))
	c.SetStripped(UIDs("a"))
	clone := c.Clone()
	Same(t, "completed indexes of the status", clone.Counted().String(), "7")
	clone.Remove("done-0")
	r := clone.IndexResults(indexset.Of(7), indexset.Of(8))
	Same(t, "completed, and failed", r.Completed.String()+"; "+r.Failed.String(), "1,7; 8")
	clone.SetStripped(nil)
	Same(t, "tracked in the clone, once nothing is removed", clone.Of("a").Tracked, true)
	Same(t, "tracked in the original", c.Of("a").Tracked, false)
	Same(t, "completed in the original", c.IndexResults(indexset.Of(7), indexset.Of(8)).Completed.String(), "0,1,7")
	if clone.Of("a") == c.Of("a") {
		t.Error("the two share a record")
	}
}

// The chunks of a set lie side by side in the slice that it was made from. Items that are added to one do not overwrite
// the next.
func TestOrdered_insertBetweenChunks(t *testing.T) {
	var items []int
	for i := range 3 * mostItems {
		items = append(items, 2*i)
	}
	set := newOrdered(func(a, b int) int { return a - b }, slices.Clone(items))
	for _, at := range []int{mostItems, 3, 2*mostItems - 1, 5 * mostItems} {
		set.insert(at | 1)
		items = append(items, at|1)
	}
	slices.Sort(items)
	Same(t, "items", slices.Collect(set.all()), items)
}

// Restarts follow a pod that is otherwise as before, and those of a lost pod do not count.
func TestRestarts_ofNewVersions(t *testing.T) {
	restarted := func(n int32) Edit {
		return func(pod *corev1.Pod) { pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}} }
	}
	job := NewJob()
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	lost := func(pod *corev1.Pod) { pod.DeletionTimestamp, pod.Spec.NodeName = new(After(0)), "node" }
	c, _ := censusOf(t, job, classify.Options{LostAfter: time.Second, Now: After(5).Time}, Pod("a", restarted(2)), Pod("b", restarted(3), lost))
	Same(t, "restarts", c.Restarts, int64(2))
	c.Add(Pod("a", restarted(4)), classify.Owned)
	Same(t, "restarts of the new version", c.Restarts, int64(4))
}

// The time until a pod is lost ends with the pod, and a clock that goes back brings it back.
func TestUntilLost_again(t *testing.T) {
	of := func(now int) *classify.Classifier {
		c := Must(classify.Of(NewJob(), tracking.Keys{}.WithDefaults(), classify.Options{LostAfter: 10 * time.Second, Now: After(now).Time}))
		return &c
	}
	deleted := func(pod *corev1.Pod) { pod.DeletionTimestamp, pod.Spec.NodeName = new(After(0)), "node" }
	c := New(of(4), 0)
	c.Add(Pod("a", deleted), classify.Owned)
	for _, step := range []struct {
		now    int
		failed int32
		wait   time.Duration
	}{{4, 0, 6 * time.Second}, {10, 1, 0}, {7, 0, 3 * time.Second}} {
		c.SetClassifier(of(step.now))
		Same(t, "lost, and the time until then", []any{c.Of("a").Lost, c.UntilLost}, []any{step.failed == 1, step.wait})
	}
	c.Remove("a")
	c.SetClassifier(of(8))
	Same(t, "the time without the pod", c.UntilLost, 0)
}

// Pods that come after a census has become sparse do not make it dense, and a record that was dropped holds no pod.
func TestIsSparse_afterAnotherPod(t *testing.T) {
	c, _ := censusOf(t, NewJob(), classify.Options{}, somePods(100)...)
	first := c.Of("pod-0")
	for _, pod := range somePods(90) {
		c.drop(c.Of(pod.UID))
	}
	c.Add(Pod("another"), classify.Owned)
	Same(t, "sparse", c.IsSparse(), true)
	Same(t, "the pod of a dropped record", first.Pod, nil)
}
