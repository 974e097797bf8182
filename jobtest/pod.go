package jobtest

import (
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// drawPod generates the n-th pod of a Job.
func drawPod(d Dice, m Mix, job *batchv1.Job, n int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       job.Namespace,
			Name:            fmt.Sprintf("%s-%d", job.Name, n),
			UID:             types.UID(fmt.Sprintf("uid-%02d", n)),
			ResourceVersion: "1",
			Labels: map[string]string{batchv1.ControllerUidLabel: string(job.UID),
				batchv1.JobNameLabel: job.Name},
			CreationTimestamp: instant(d, 600, 0, "created"),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job,
				batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: *job.Spec.Template.Spec.DeepCopy(),
	}
	if d.Chance(78, "finalizer") {
		pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
	}
	if job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion {
		drawIndex(d, m, job, pod)
	}
	drawOwner(d, m, pod)
	drawState(d, pod)
	return pod
}

func drawIndex(d Dice, m Mix, job *batchv1.Job, pod *corev1.Pod) {
	index := strconv.Itoa(d.Between(0, int(min(*job.Spec.Completions, 6)), "index"))
	pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
	pod.Labels[batchv1.JobCompletionIndexAnnotation] = index
	if d.Chance(m.Edited, "index edited") {
		pod.Annotations[batchv1.JobCompletionIndexAnnotation] = pick(d, "edited index", "0", "-1", "x", "", "1",
			"99", "99999999999", "+1")
	}
	if d.Chance(4, "no index") {
		delete(pod.Annotations, batchv1.JobCompletionIndexAnnotation)
	}
	if job.Spec.BackoffLimitPerIndex == nil {
		return
	}
	if d.Chance(95, "failure count") {
		pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(int(small(d, 4, "failures")))
	}
	if d.Chance(25, "ignored count") {
		pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(int(small(d, 4, "ignored")))
	}
	for _, key := range []string{batchv1.JobIndexFailureCountAnnotation,
		batchv1.JobIndexIgnoredFailureCountAnnotation} {
		if d.Chance(m.Edited/2, "count edited") {
			pod.Annotations[key] = pick(d, "edited count", "x", "-3", "2147483647", "2147483646", "2147483648",
				"99999999999999999999", "1e3", "")
		}
	}
}

func drawOwner(d Dice, m Mix, pod *corev1.Pod) {
	switch weighted(d, "owner", w(100-m.Edited/2-2, 0), w(1+m.Edited/8, 1), w(1+m.Edited/8, 2),
		w(m.Edited/8, 3), w(m.Edited/8, 4)) {
	case 1: // an orphan that the Job selects
		pod.OwnerReferences = nil
	case 2: // a pod of another Job
		pod.OwnerReferences[0].UID = "other-uid"
	case 3: // a pod of the Job that it does not select
		pod.Labels = map[string]string{"other": "label"}
	case 4: // a pod without an owner that is not selected
		pod.OwnerReferences, pod.Labels = nil, map[string]string{"other": "label"}
	}
}

// drawState draws the status and the deletion of a pod.
func drawState(d Dice, pod *corev1.Pod) {
	pod.Status.Phase = weighted(d, "phase", w(3, corev1.PodRunning), w(2, corev1.PodPending),
		w(2, corev1.PodSucceeded), w(4, corev1.PodFailed), w(1, corev1.PodUnknown), w(1, corev1.PodPhase("")))
	if d.Chance(22, "deleted") {
		pod.DeletionTimestamp = new(instant(d, 100, 30, "deletion"))
		if d.Chance(80, "grace") {
			pod.DeletionGracePeriodSeconds = new(pick[int64](d, "grace seconds", 30, 0, 5))
		}
	}
	if pod.Status.Phase != corev1.PodPending || d.Chance(30, "assigned") {
		pod.Spec.NodeName = pick(d, "node", "node-1", "node-2")
	}
	drawConditions(d, pod)
	for i := range pod.Spec.Containers {
		if d.Chance(85, "container status") {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
				drawContainer(d, pod, pod.Spec.Containers[i].Name))
		}
	}
	for i := range pod.Spec.InitContainers {
		if d.Chance(85, "init container status") {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses,
				drawContainer(d, pod, pod.Spec.InitContainers[i].Name))
		}
	}
}

func drawConditions(d Dice, pod *corev1.Pod) {
	if d.Chance(65, "Ready known") {
		ready := corev1.PodCondition{Type: corev1.PodReady,
			Status: pick(d, "Ready", corev1.ConditionTrue, corev1.ConditionFalse)}
		if d.Chance(90, "Ready since") {
			ready.LastTransitionTime = instant(d, 500, 0, "Ready transition")
		}
		pod.Status.Conditions = append(pod.Status.Conditions, ready)
	}
	if d.Chance(25, "disrupted") {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: pick(d, "disruption", corev1.ConditionTrue, corev1.ConditionFalse),
		})
	}
	if d.Chance(8, "custom condition") {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: "Custom", Status: corev1.ConditionTrue})
	}
}

func drawContainer(d Dice, pod *corev1.Pod, name string) corev1.ContainerStatus {
	cs := corev1.ContainerStatus{Name: name, RestartCount: small(d, 3, "restarts")}
	terminal := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if !terminal && !d.Chance(12, "exited early") {
		cs.State.Running = &corev1.ContainerStateRunning{}
		return cs
	}
	if terminal && d.Chance(8, "exit unknown") {
		return cs
	}
	cs.State.Terminated = &corev1.ContainerStateTerminated{}
	if pod.Status.Phase != corev1.PodSucceeded {
		cs.State.Terminated.ExitCode = pick[int32](d, "exit code", 1, 42, 0, 2, 3, 137)
	}
	if d.Chance(90, "finish known") {
		cs.State.Terminated.FinishedAt = instant(d, 120, 20, "finished")
	}
	return cs
}
