package census_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/owner"
)

// ReadsAs reports changes of the Job and of the classifier that affect the classification.
func TestReadsAs(t *testing.T) {
	before := census.Classifier{Indexed: true, Completions: 3, Limit: perIndex(1)}
	job := newJob()
	c := census.New(before, 0)
	same(t, "read", c.Read(ownerOf(t, job), nil), true)
	for _, tc := range []struct {
		reason string
		change func(*batchv1.Job, *census.Classifier)
		want   bool
	}{
		{"nothing", func(*batchv1.Job, *census.Classifier) {}, true},
		{"the finalizer has its default name", func(_ *batchv1.Job, k *census.Classifier) { k.Keys.Finalizer = batchv1.JobTrackingFinalizer }, true},
		{"another annotation", func(_ *batchv1.Job, k *census.Classifier) { k.Keys.Index = "example.com/index" }, false},
		{"no indexes", func(_ *batchv1.Job, k *census.Classifier) { k.Indexed = false }, false},
		{"more completions", func(_ *batchv1.Job, k *census.Classifier) { k.Completions = 4 }, false},
		{"another limit", func(_ *batchv1.Job, k *census.Classifier) { k.Limit = perIndex(2) }, false},
		{"only failed pods are replaced", func(_ *batchv1.Job, k *census.Classifier) { k.ReplaceFailedOnly = true }, false},
		{"restarts count", func(_ *batchv1.Job, k *census.Classifier) { k.CountRestarts = true }, false},
		{"another UID", func(job *batchv1.Job, _ *census.Classifier) { job.UID = "other" }, false},
		{"deleted", func(job *batchv1.Job, _ *census.Classifier) { job.DeletionTimestamp = &metav1.Time{} }, false},
	} {
		now, as := newJob(), before
		tc.change(now, &as)
		of, err := owner.Of(now, as.Keys)
		if err != nil {
			t.Fatal(err)
		}
		same(t, tc.reason, c.ReadsAs(&of, &as), tc.want)
	}
}

// PutNamed replaces pods of the Job's namespace only, both without and with the map of
// names.
func TestPutNamed_otherNamespace(t *testing.T) {
	for _, n := range []int{1, 20} {
		mine, elsewhere := newPod("mine"), newPod("elsewhere")
		mine.Name, elsewhere.Name, elsewhere.Namespace = "pod", "pod", "other"
		c := census.New(census.Classifier{}, 0)
		same(t, "read", c.Read(ownerOf(t, newJob()), clones([]*corev1.Pod{elsewhere}, n)), true)
		for step, pod := range []*corev1.Pod{mine, nil, mine} {
			c.PutNamed("pod", pod)
			want := n
			if pod != nil {
				want++
			}
			same(t, fmt.Sprintf("pods after step %d, with %d of another namespace", step, n), len(c.Pods()), want)
			same(t, fmt.Sprintf("step %d: the census has the pod", step), c.Of("mine") != nil, pod != nil)
		}
	}
}
