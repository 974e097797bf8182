package counting_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/tracking"
	"github.com/jobfate/jobfate/tracking/counting"
)

// The four steps of counting, for a Job with two finished pods and a running one.
func Example() {
	var keys tracking.Keys // the zero Keys are those of Kubernetes
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "job-uid"}}
	pod := func(uid types.UID, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				UID: uid, Finalizers: []string{batchv1.JobTrackingFinalizer},
				OwnerReferences: []metav1.OwnerReference{tracking.Controller{}.Reference(job)},
			},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	pods := []*corev1.Pod{pod("anna", corev1.PodSucceeded), pod("bert", corev1.PodFailed), pod("cleo", corev1.PodRunning)}

	// 1. The UIDs of finished pods are added to the lists.
	counted := counting.Count(job, pods, keys)

	// 2. The status is stored.
	st := counted.Status
	fmt.Println("stored:", *st.UncountedTerminatedPods, st.Succeeded, st.Failed)

	// 3. The finalizers are removed. The second removal fails.
	for _, pod := range counted.Strip {
		fmt.Printf("patch %s: %s\n", pod.UID, keys.StripPatch(pod))
	}

	// 4. The UIDs of pods without the finalizer are removed from the lists and counted.
	st = counted.Settle("anna")
	fmt.Println("stored:", *st.UncountedTerminatedPods, st.Succeeded, st.Failed)
	// Output:
	// stored: {[anna] [bert]} 0 0
	// patch anna: {"metadata":{"uid":"anna","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}
	// patch bert: {"metadata":{"uid":"bert","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}
	// stored: {[] [bert]} 1 0
}
