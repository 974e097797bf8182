package cluster

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A controller that has read two versions of the Job and eight lists of pods may have decided
// on each Job with each list. Every combination is remembered once: repeated combinations once
// displaced others, and a correct status was taken for wrong (seed 17363 of the controller's
// schedules).
func TestSight_remembersEachCombinationOnce(t *testing.T) {
	versions := []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{UID: "job", ResourceVersion: "1"}}, {ObjectMeta: metav1.ObjectMeta{UID: "job", ResourceVersion: "2"}}}
	view := func(job *batchv1.Job, pods []*corev1.Pod) View {
		return View{Job: job, Jobs: []*batchv1.Job{job}, Pods: pods}
	}
	lists := [][]*corev1.Pod{nil}
	for i := range 7 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name:            fmt.Sprint("pod-", i),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(versions[0], batchv1.SchemeGroupVersion.WithKind("Job"))},
		}}
		lists = append(lists, append(lists[i][:i:i], pod))
	}

	s := &sight{cached: view(versions[0], lists[0])}
	for i, pods := range lists {
		job := versions[i*len(versions)/len(lists)]
		s.look(view(job, pods), Jobs)
		s.look(view(job, pods), Pods)
	}

	seen := map[string]int{}
	for _, v := range append(s.earlier, s.cached) {
		seen[fmt.Sprint("version ", v.Job.ResourceVersion, ", pods ", len(v.Pods))]++
	}
	for _, job := range versions {
		for _, pods := range lists {
			combination := fmt.Sprint("version ", job.ResourceVersion, ", pods ", len(pods))
			if seen[combination] != 1 {
				t.Errorf("%s: remembered %d times, want once", combination, seen[combination])
			}
		}
	}
}
