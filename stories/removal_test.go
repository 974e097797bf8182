package stories

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
)

// atMinute is a time before the noon of the tests.
func atMinute(minute int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 11, minute, 0, 0, time.UTC))
}

// wantRemoved checks that the lesser of two running pods is deleted.
func wantRemoved(t *testing.T, job *batchv1.Job, name string, lesser, more func(*corev1.Pod)) {
	t.Helper()
	for at := range 2 {
		pods := []*corev1.Pod{podIn(job, 1, corev1.PodRunning), podIn(job, 2, corev1.PodRunning)}
		lesser(pods[at])
		more(pods[1-at])
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: pods, Now: atMinute(30).Time})
		if len(d.Delete) != 1 || d.Delete[0].Pod != pods[at] {
			t.Errorf("%s: %v are deleted, want %s", name, uidsOf(d.Delete), pods[at].UID)
		}
	}
}

// The restarts of the most restarted container count, not the sum of all containers. Regular
// containers are compared first, then sidecars.
func TestRemoval_theMostRestartedContainerCounts(t *testing.T) {
	job := specJob(t, `
completions: 2
parallelism: 1
template:
  spec:
    restartPolicy: Never
    initContainers: [{name: s1, restartPolicy: Always}, {name: s2, restartPolicy: Always}]
    containers: [{name: c1}, {name: c2}]`)
	restarted := func(name string, a, b int32) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: name + "1", RestartCount: a}, {Name: name + "2", RestartCount: b}}
	}
	regular := func(a, b int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.ContainerStatuses = restarted("c", a, b) }
	}
	sidecar := func(a, b int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.InitContainerStatuses = restarted("s", a, b) }
	}
	wantRemoved(t, job, "regular containers", regular(0, 3), regular(2, 2))
	wantRemoved(t, job, "sidecars", sidecar(0, 3), sidecar(2, 2))
}

// In an Indexed Job, pods without a valid index and all but one of the pods of an index are deleted, whether or not
// there are surplus pods, in the order of the Job controller: from the lowest index up, but pods beyond completions
// before the duplicates of the highest index. No pod is deleted twice, and no pod is created in the same sync.
func TestRemoval_misplaced(t *testing.T) {
	const running, pending = corev1.PodRunning, corev1.PodPending
	job := specJob(t, "completions: 3\nparallelism: 3\ncompletionMode: Indexed")
	pod := func(uid types.UID, index string, phase corev1.PodPhase) *corev1.Pod {
		pod := podIn(job, 1, phase)
		pod.Name, pod.UID, pod.Status.Conditions = string(uid), uid, nil
		pod.Annotations[batchv1.JobCompletionIndexAnnotation], pod.Labels[batchv1.JobCompletionIndexAnnotation] = index, index
		return pod
	}
	unmarked := pod("b", "0", running)
	unmarked.Annotations = nil
	for _, test := range []struct {
		name        string
		parallelism int32
		pods        []*corev1.Pod
		want        []string
	}{
		{"all in place", 3, []*corev1.Pod{pod("a", "0", running), pod("b", "1", running), pod("c", "2", running)}, nil},
		{"a duplicate, and an index without a pod", 3, []*corev1.Pod{pod("a", "0", running), pod("b", "0", pending)},
			[]string{"b: " + jobfate.CauseDuplicate}},
		{"three of one index", 3, []*corev1.Pod{pod("a", "1", pending), pod("b", "1", running), pod("c", "1", pending)},
			[]string{"a: " + jobfate.CauseDuplicate, "c: " + jobfate.CauseDuplicate}},
		{"beyond", 3, []*corev1.Pod{pod("a", "0", running), pod("b", "2147483648", running), pod("c", "4", running), pod("d", "3", running)},
			[]string{"d: " + jobfate.CauseBeyond, "c: " + jobfate.CauseBeyond, "b: " + jobfate.CauseBeyond}},
		{"beyond before the highest", 3, []*corev1.Pod{
			pod("a", "0", pending), pod("b", "0", running), pod("c", "1", pending), pod("d", "1", running), pod("e", "3", running),
		}, []string{"a: " + jobfate.CauseDuplicate, "e: " + jobfate.CauseBeyond, "c: " + jobfate.CauseDuplicate}},
		{"no index", 3, []*corev1.Pod{pod("a", "", running), unmarked},
			[]string{"a: " + jobfate.CauseNoIndex, "b: " + jobfate.CauseNoIndex}},
		{"misplaced pods do not count as surplus too", 2, []*corev1.Pod{
			pod("a", "x", pending), pod("b", "0", running), pod("c", "1", running), pod("d", "2", pending),
		}, []string{"a: " + jobfate.CauseNoIndex, "d: " + jobfate.CauseTooMany}},
	} {
		job := job.DeepCopy()
		job.Spec.Parallelism = &test.parallelism
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: test.pods, Now: atMinute(30).Time})
		var got []string
		for _, del := range d.Delete {
			got = append(got, string(del.Pod.UID)+": "+del.Cause)
		}
		if !slices.Equal(got, test.want) || len(d.Create) != 0 {
			t.Errorf("%s: %q are deleted and %d are created, want %q, none", test.name, got, len(d.Create), test.want)
		}
	}
}

func uidsOf(deletions []jobfate.Deletion) (uids []types.UID) {
	for _, d := range deletions {
		uids = append(uids, d.Pod.UID)
	}
	return uids
}
