package podtest

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/indexset"
)

// OneIn draws true in one of n cases.
func OneIn(t *rapid.T, n int, label string) bool { return rapid.IntRange(1, n).Draw(t, label) == n }

// DrawConditions draws conditions in any order, some types more than once. Half of them are True.
func DrawConditions(t *rapid.T) (all []batchv1.JobCondition) {
	statuses := [...]corev1.ConditionStatus{"True", "False", "True", "Unknown", "True", ""}
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, 71), 0, 5).Draw(t, "conditions") {
		c := Stated(ConditionTypes()[n%6], statuses[n/6%6])
		c.Reason = [...]string{"A", "B"}[n/36%2]
		all = append(all, c)
	}
	return all
}

// DrawIndexes draws a set of indexes below 8, as a map and as a Set.
func DrawIndexes(t *rapid.T, label string) (map[int]bool, indexset.Set) {
	m, s := map[int]bool{}, indexset.Builder{}
	for _, i := range rapid.SliceOfN(rapid.IntRange(0, 7), 0, 6).Draw(t, label) {
		m[i] = true
		s.Add(int32(i))
	}
	return m, s.Set()
}

// DrawPod draws a pod of Pod in any state, with any index and counts of failures, some of them no
// numbers.
func DrawPod(t *rapid.T, uid string) *corev1.Pod {
	pod := Pod(uid, Phase(OneOf(t, "phase", corev1.PodPending, corev1.PodRunning, corev1.PodRunning,
		corev1.PodSucceeded, corev1.PodFailed, corev1.PodFailed, corev1.PodUnknown, "")))
	if OneIn(t, 3, "deleted") {
		Deleted(pod)
		pod.DeletionGracePeriodSeconds = new(rapid.Int64Range(0, 3).Draw(t, "grace"))
	}
	if OneIn(t, 5, "released") {
		Released(pod)
	}
	if rapid.Bool().Draw(t, "has a container") {
		st := corev1.ContainerStatus{Name: "main", RestartCount: rapid.Int32Range(0, 3).Draw(t, "restarts")}
		if rapid.Bool().Draw(t, "terminated") {
			code := rapid.Int32Range(0, ExitFailJob).Draw(t, "exit code")
			finished := After(rapid.IntRange(-3, 3).Draw(t, "finished"))
			finished.Time = finished.Add(OneOf[time.Duration](t, "nanos", 0, 1))
			st.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: finished}
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{st}
	}
	for range rapid.IntRange(0, 2).Draw(t, "ready conditions") {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			corev1.PodCondition{Type: corev1.PodReady,
				Status:             OneOf(t, "ready", corev1.ConditionTrue, "False", "Unknown"),
				LastTransitionTime: After(rapid.IntRange(-3, 3).Draw(t, "transition"))})
	}
	for _, a := range []struct {
		key    string
		values []string
	}{
		{batchv1.JobCompletionIndexAnnotation, []string{"0", "0", "1", "1", "2", "3", "4", "7", "+1", "02", "-1",
			"x", "2147483646", "2147483647", "99999999999"}},
		{batchv1.JobIndexFailureCountAnnotation, []string{"0", "1", "2", "3", "2147483647", "2147483648", "-1", "x"}},
		{batchv1.JobIndexIgnoredFailureCountAnnotation, []string{"0", "1", "2147483647", "x"}},
	} {
		if !OneIn(t, 4, "no "+a.key) {
			Annotation(a.key, OneOf(t, a.key, a.values...))(pod)
		}
	}
	return pod
}
