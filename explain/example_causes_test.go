package explain_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
)

// stuckJob returns an Indexed Job of three indexes and their pods: index 0 has succeeded,
// and the pods of indexes 1 and 2 cannot pull their image.
func stuckJob() (*batchv1.Job, []*corev1.Pod) {
	three, indexed := int32(3), batchv1.IndexedCompletion
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train", UID: "job-uid"},
		Spec:       batchv1.JobSpec{Completions: &three, Parallelism: &three, CompletionMode: &indexed},
	}
	pod := func(index string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "train-" + index, UID: "pod-" + types.UID(index),
				Annotations:     map[string]string{batchv1.JobCompletionIndexAnnotation: index},
				Finalizers:      []string{batchv1.JobTrackingFinalizer},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
			},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	pods := []*corev1.Pod{pod("0", corev1.PodSucceeded), pod("1", corev1.PodPending), pod("2", corev1.PodPending)}
	for _, pod := range pods[1:] {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", Image: "registry.example/train:v2",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "ImagePullBackOff", Message: "Back-off pulling image \"registry.example/train:v2\"",
			}},
		}}
	}
	return job, pods
}

// Cause looks at the pods as well as at the decision, and says what to do.
func ExampleExplanation_Cause() {
	job, pods := stuckJob()
	d, err := decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := explain.Of(d)
	cause := e.Cause()
	fmt.Println(cause.Code, cause.Attention, cause.Pods)
	fmt.Println(cause.Text)
	fmt.Println(cause.Advice)
	fmt.Println(e.Totals())
	for _, group := range e.Groups() {
		fmt.Println(group)
	}
	// Output:
	// ImagePullFailed Stuck [train-1 train-2]
	// 2 of 2 active pods cannot pull an image: container main: ImagePullBackOff: Back-off pulling image "registry.example/train:v2"
	// Check the name and the tag of the image, imagePullSecrets, and that the node reaches the registry. The pod template is immutable: delete the Job and create it again.
	// done 1 · stuck 2
	// indexes 1,2: pods cannot pull an image
}

// decide.Job returns ErrNotManaged for this Job. Unmanaged says who runs it.
func ExampleUnmanaged() {
	job, _ := stuckJob()
	manager := "kueue.x-k8s.io/multikueue"
	job.Spec.ManagedBy = &manager
	fmt.Println(explain.Unmanaged(job).Code)
	// Output:
	// MultiKueue
}
