package bugs_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobtest/internal/bugs"
)

func ExampleForgetVerdict() {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train", UID: "job-uid"}}
	job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
		},
	}}}
	evicted := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "train-x7k2p", UID: "pod-uid",
		Finalizers:      []string{batchv1.JobTrackingFinalizer},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}}
	evicted.Status.Phase = corev1.PodFailed
	evicted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}

	in := jobfate.Snapshot{
		Job: job, Pods: []*corev1.Pod{evicted}, Now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		InFlight: jobfate.InFlight{Creations: 1},
	}
	d, _ := jobfate.Decide(in)
	fmt.Println("finalizers to remove:", len(d.Strip))
	bugs.ForgetVerdict(in, &d)
	fmt.Println("finalizers to remove:", len(d.Strip))
	// Output:
	// finalizers to remove: 0
	// finalizers to remove: 1
}
