package cluster

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A controller that read two versions of the Job and many lists of pods may have decided on
// each version with each list. It may also have taken the pods of the Job from one list and
// the other pods from another. If the cluster forgot the first lists, the referee would
// report a violation for a correct status.
func TestSyncReads_remembersEachCombination(t *testing.T) {
	job := func(version string) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "job", ResourceVersion: version}}
	}
	versions := []*batchv1.Job{job("1"), job("2")}
	view := func(job *batchv1.Job, pods []*corev1.Pod) View {
		return View{Job: job, Jobs: []*batchv1.Job{job}, Pods: pods}
	}
	// Each list has one pod of the Job and one orphan more than the last.
	lists := [][]*corev1.Pod{nil}
	for i := range 39 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			UID:             types.UID(fmt.Sprint("pod-", i)),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(versions[0], batchv1.SchemeGroupVersion.WithKind("Job"))},
		}}
		orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint("orphan-", i))}}
		lists = append(lists, append(lists[i][:2*i:2*i], pod, orphan))
	}

	s := newSyncReads(types.NamespacedName{}, view(versions[0], lists[0]))
	for i, pods := range lists {
		job := versions[i*len(versions)/len(lists)]
		for range 2 { // repeated reads change nothing
			s.readCache(view(job, pods), Jobs)
			s.readCache(view(job, pods), Pods)
		}
	}

	type combination struct {
		version      string
		own, orphans int
	}
	seen := map[combination]int{}
	step := s.step(Step{})
	for v := range step.Earlier {
		c := combination{version: v.Job.ResourceVersion}
		for _, pod := range v.Pods {
			if metav1.IsControlledBy(pod, v.Job) {
				c.own++
			} else {
				c.orphans++
			}
		}
		seen[c]++
	}
	for _, version := range []string{"1", "2"} {
		for own := range lists {
			for orphans := range lists {
				if c := (combination{version, own, orphans}); seen[c] != 1 {
					t.Errorf("%+v: remembered %d times, want once", c, seen[c])
				}
			}
		}
	}
	if want := len(versions) * len(lists) * len(lists); len(seen) != want {
		t.Errorf("%d combinations, want %d", len(seen), want)
	}
}
