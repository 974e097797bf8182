package inflight_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/inflight"
)

// A cache that lags: the pod that was created is not to be seen yet, and no other
// is created in its place.
func ExampleMemory() {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train", UID: "job-uid"}}
	view := inflight.View{Job: job, Now: time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)}
	var memory inflight.Memory

	first, _ := jobfate.Decide(memory.Snapshot(view))
	fmt.Println("create:", len(first.Create))
	memory.Create("pod-uid") // what the API server returned

	second, _ := jobfate.Decide(memory.Snapshot(view))
	fmt.Println("create:", len(second.Create))

	view.Pods = []*corev1.Pod{first.Create[0].Pod()}
	view.Pods[0].UID = "pod-uid"
	memory.Snapshot(view)
	fmt.Println("in flight:", memory.InFlight())
	// Output:
	// create: 1
	// create: 0
	// in flight: false
}
