package tracking

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// As long as all pods of the lists carry their finalizers nobody goes through them.
func TestAccount_releasesNothingForNothing(t *testing.T) {
	lists := &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a", "b"}}
	c := NewCensus(Lens{Uncounted: ReadUncounted(lists)}, 0)
	var pods []*corev1.Pod
	for _, uid := range []types.UID{"a", "b", "c"} {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: uid, Finalizers: []string{batchv1.JobTrackingFinalizer}},
			Status:     corev1.PodStatus{Phase: corev1.PodFailed},
		})
		c.Add(pods[len(pods)-1], false)
	}
	a := Account{Lists: lists}
	if n := testing.AllocsPerRun(10, func() { a.release(c) }); n != 0 || a.Failed != 0 {
		t.Errorf("%d released with %v allocations, want none", a.Failed, n)
	}
	c.Remove(pods[1])
	if a.release(c); a.Failed != 1 || len(a.Lists.Failed) != 1 || a.Lists.Failed[0] != "a" {
		t.Errorf("%d released, left is %v, want b released", a.Failed, a.Lists.Failed)
	}
}

// These labels are nobody's business but ours: a selector of them compiles without
// allocating. The others are for the API's own rules.
func TestCompileLabels(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, key := range []string{"a", "z", "0", "9", "A", "Z", "a.b-c", "a/b", "z9/A.Z", long, long + "/" + long} {
		for _, value := range []string{"", "a", "z", "0", "9", "A", "Z", "a.b-c", long} {
			if got, ok := compileLabels(&metav1.LabelSelector{MatchLabels: map[string]string{key: value}}); !ok || got.labels[0] != (label{key, value}) {
				t.Errorf("%s=%s: got %v, %v", key, value, got, ok)
			}
		}
	}
	for key, value := range map[string]string{
		"": "a", "-a": "a", "a-": "a", "a..b": "a", "a_b": "a", "/a": "a", "a/": "a", "A/b": "a", "a/b/c": "a",
		long + "x": "a", long + "x/a": "a", "a/" + long + "x": "a", "a": long + "x", "b": "-", "c": "a b",
	} {
		if _, ok := compileLabels(&metav1.LabelSelector{MatchLabels: map[string]string{key: value}}); ok {
			t.Errorf("%q=%q is not plain", key, value)
		}
	}
	four := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
	got, ok := compileLabels(&metav1.LabelSelector{MatchLabels: four})
	if !ok {
		t.Errorf("four labels: got %v", ok)
	}
	for _, l := range got.labels {
		if four[l.key] != l.value {
			t.Errorf("four labels: got %v", got.labels)
		}
	}
	four["e"] = "5"
	if _, ok := compileLabels(&metav1.LabelSelector{MatchLabels: four}); ok {
		t.Error("five labels are not few")
	}
}
