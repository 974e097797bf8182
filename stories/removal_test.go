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

// If one of two pods is surplus, the controller deletes the one whose deletion loses less,
// regardless of their order.
func TestRemoval_choice(t *testing.T) {
	readySince := func(since metav1.Time) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
		}
	}
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.Phase, pod.Status.Conditions = phase, nil }
	}
	createdAt := func(created metav1.Time) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.CreationTimestamp, pod.Status.Conditions = created, nil }
	}
	scheduledLately := func(pod *corev1.Pod) {
		readySince(atMinute(1))(pod)
		scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: atMinute(9)}
		pod.Status.Conditions = slices.Insert(pod.Status.Conditions, 0, scheduled)
	}
	for _, test := range []struct {
		name         string
		lesser, more func(*corev1.Pod)
	}{
		{"pending, and of an unknown phase", phase(corev1.PodPending), phase(corev1.PodUnknown)},
		{"of an unknown phase, and running", phase(corev1.PodUnknown), phase(corev1.PodRunning)},
		{"ready, since an unknown time", readySince(metav1.Time{}), readySince(atMinute(9))},
		{"ready for a shorter time", readySince(atMinute(9)), readySince(atMinute(1))},
		{"only the Ready condition has the time", readySince(atMinute(5)), scheduledLately},
		{"created, at an unknown time", createdAt(metav1.Time{}), createdAt(atMinute(3))},
		{"created later", createdAt(atMinute(3)), createdAt(atMinute(2))},
	} {
		wantRemoved(t, specJob(t, "completions: 2\nparallelism: 1"), test.name, test.lesser, test.more)
	}
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

// If everything is equal, including an unknown creation time, the UID decides.
func TestRemoval_allEqual(t *testing.T) {
	job := specJob(t, "completions: 3\nparallelism: 1")
	var pods []*corev1.Pod
	for n := range 3 {
		pod := podIn(job, 3-n, corev1.PodRunning)
		pod.CreationTimestamp, pod.Status.Conditions = metav1.Time{}, nil
		pods = append(pods, pod)
	}
	d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: pods, Now: atMinute(30).Time})
	if got, want := uidsOf(d.Delete), []types.UID{"pod-1", "pod-2"}; !slices.Equal(got, want) {
		t.Errorf("%v are deleted, want %v", got, want)
	}
}

// Misplaced pods are deleted in the order of the Job controller: from the lowest index up, but
// pods beyond completions before the duplicates of the highest index. No pod is deleted twice,
// and no pod is created in the same sync.
func TestRemoval_orderOfMisplaced(t *testing.T) {
	job := specJob(t, "completions: 3\nparallelism: 3\ncompletionMode: Indexed")
	pod := func(uid types.UID, index string, phase corev1.PodPhase) *corev1.Pod {
		pod := podIn(job, 1, phase)
		pod.Name, pod.UID, pod.Status.Conditions = string(uid), uid, nil
		pod.Annotations[batchv1.JobCompletionIndexAnnotation], pod.Labels[batchv1.JobCompletionIndexAnnotation] = index, index
		return pod
	}
	for _, test := range []struct {
		name        string
		parallelism int32
		pods        []*corev1.Pod
		want        []types.UID
	}{
		{"beyond before the highest", 3, []*corev1.Pod{
			pod("a", "0", corev1.PodPending), pod("b", "0", corev1.PodRunning), pod("c", "1", corev1.PodPending), pod("d", "1", corev1.PodRunning),
			pod("e", "3", corev1.PodRunning),
		}, []types.UID{"a", "e", "c"}},
		{"only beyond", 3, []*corev1.Pod{pod("a", "4", corev1.PodRunning), pod("b", "3", corev1.PodRunning)}, []types.UID{"b", "a"}},
		{"a duplicate, and an index without a pod", 3, []*corev1.Pod{pod("a", "0", corev1.PodRunning), pod("b", "0", corev1.PodPending)}, []types.UID{"b"}},
		{"misplaced pods do not count as surplus too", 2, []*corev1.Pod{
			pod("a", "x", corev1.PodPending), pod("b", "0", corev1.PodRunning), pod("c", "1", corev1.PodRunning), pod("d", "2", corev1.PodPending),
		}, []types.UID{"a", "d"}},
	} {
		job := job.DeepCopy()
		job.Spec.Parallelism = &test.parallelism
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: test.pods, Now: atMinute(30).Time})
		if got := uidsOf(d.Delete); !slices.Equal(got, test.want) || len(d.Create) != 0 {
			t.Errorf("%s: %v are deleted and %d are created, want %v, none", test.name, got, len(d.Create), test.want)
		}
	}
}

func uidsOf(deletions []jobfate.Deletion) (uids []types.UID) {
	for _, d := range deletions {
		uids = append(uids, d.Pod.UID)
	}
	return uids
}
