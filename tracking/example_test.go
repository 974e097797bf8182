package tracking_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/tracking"
)

// The four steps of counting, for a Job with two pods that have finished and one
// that runs.
func Example() {
	pods := []*corev1.Pod{tracked("anna", corev1.PodSucceeded), tracked("bert", corev1.PodFailed), tracked("cleo", corev1.PodRunning)}
	var status batchv1.JobStatus

	// 1. The UIDs of finished pods go to the lists.
	census := tracking.NewCensus(tracking.Lens{Uncounted: tracking.ReadUncounted(status.UncountedTerminatedPods)}, len(pods))
	for _, pod := range pods {
		census.Add(pod, false)
	}
	account := census.Account(tracking.Terms{})

	// 2. The status is stored.
	status.UncountedTerminatedPods = account.Lists
	status.Succeeded += account.Succeeded
	status.Failed += account.Failed
	fmt.Println("stored:", *status.UncountedTerminatedPods, status.Succeeded, status.Failed)

	// 3. The finalizers are removed. The second removal fails.
	for _, pod := range account.Strip {
		fmt.Printf("patch %s: %s\n", pod.UID, tracking.StripPatch(pod))
	}
	gone := []types.UID{"anna"}

	// 4. The UIDs whose finalizer is gone leave the lists, and the counters go up.
	settled := account.Settle(gone)
	status.UncountedTerminatedPods = settled.Lists
	status.Succeeded += settled.Succeeded
	status.Failed += settled.Failed
	fmt.Println("stored:", *status.UncountedTerminatedPods, status.Succeeded, status.Failed)
	// Output:
	// stored: {[anna] [bert]} 0 0
	// patch anna: {"metadata":{"uid":"anna","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}
	// patch bert: {"metadata":{"uid":"bert","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}
	// stored: {[] [bert]} 1 0
}

// tracked returns a pod with the tracking finalizer.
func tracked(uid types.UID, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: uid, Finalizers: []string{batchv1.JobTrackingFinalizer}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

func ExampleOwner_Relation() {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "job-uid"},
		Spec:       batchv1.JobSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "sum"}}},
	}
	owner, err := tracking.OwnerOf(job)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := tracked("anna", corev1.PodRunning)
	pod.Labels = map[string]string{"app": "sum"}
	fmt.Println("nobody's:", owner.Relation(pod))

	var controller tracking.Controller
	pod.OwnerReferences = []metav1.OwnerReference{controller.Reference(job)}
	fmt.Println("the Job's:", owner.Relation(pod))

	pod.Labels["app"] = "max"
	fmt.Println("with another label:", owner.Relation(pod))
	// Output:
	// nobody's: adoptable
	// the Job's: owned
	// with another label: releasable
}
