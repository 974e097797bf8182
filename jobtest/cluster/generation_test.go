package cluster_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// "A sequence number representing a specific generation of the desired state." (ObjectMeta.generation)
// The API server raises it when the spec changes, and when a deletion begins.
func TestGeneration(t *testing.T) {
	c, _ := newStage(t, 1)
	expect := func(what string, want int64) {
		t.Helper()
		if got := c.Job().Generation; got != want {
			t.Errorf("%s: generation %d, want %d", what, got, want)
		}
	}
	expect("a new Job", 1)
	suspend := func(spec *batchv1.JobSpec) { spec.Suspend = new(true) }
	must(t, c.EditJob(suspend))
	expect("another spec", 2)
	must(t, c.EditJob(suspend))
	expect("the same spec", 2)
	c.SetStatus(batchv1.JobStatus{Failed: 1})
	expect("another status", 2)
	c.DeleteJob(metav1.DeletePropagationForeground)
	expect("a deletion", 3)
	c.DeleteJob(metav1.DeletePropagationForeground)
	expect("another deletion", 3)
}
