package census_test

// Defects that the Job controller has had. kN in a test name is issue or pull request N of
// kubernetes/kubernetes. A comment describes the defect first.

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// Counters wrapped around at the end of their range.
func TestLesson_countersSaturate(t *testing.T) {
	c := take(classify.Classifier{}, Pod("a", Failed), Pod("b", Succeeded))
	for counted, want := range map[int32]int32{math.MaxInt32: math.MaxInt32, math.MaxInt32 - 1: math.MaxInt32, 5: 6} {
		Same(t, "failed", c.FailedTotal(counted), want)
		Same(t, "succeeded", c.SucceededTotal(counted), want)
	}
}

// Fields without their defaults caused panics.
func TestLesson_k121147_k122235_nothingPanics(t *testing.T) {
	c := take(classify.Classifier{}, &corev1.Pod{})
	Same(t, "records", c.Len(), 1)
	c.Account(classify.AccountInputs{Ending: "unknown", Cap: -1})
	Same(t, "removed", []bool{c.Remove("other"), c.Remove(""), c.Remove("")}, []bool{false, true, false})
	newCensus(classify.Classifier{Indexed: true, Limit: perIndex(0), Completions: -1}, -1).IndexResults(indexset.Set{}, indexset.Set{})
}

// A new Job inherited the memory of an earlier Job of the same name. Here pods are
// identified by their UID, never by their name.
func TestLesson_k131917_k142142_sameName(t *testing.T) {
	again := Pod("new", Succeeded)
	again.Name = "pod-old"
	c := take(classify.Classifier{Uncounted: classify.ReadUncounted(Lists(UIDs("old"), nil))}, again)
	want := "succeeded[new] failed[] +1 +0 strip[new] handledmap[] recorded 1 full false"
	Same(t, "account", summary(c.Account(classify.AccountInputs{})), want)
}
