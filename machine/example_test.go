package machine_test

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/machine"
)

// The last pod of a Job has succeeded. The Machine records the pod, removes its finalizer, and
// then completes the Job.
func ExampleMachine() {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train", UID: "job-uid", ResourceVersion: "7"}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "train-x7k2p", UID: "pod-uid", ResourceVersion: "6",
			Finalizers:      []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Status: corev1.PodStatus{Phase: corev1.PodSucceeded},
	}
	// send stands for a client. It stores the objects of the requests.
	send := func(r machine.Request) (runtime.Object, error) {
		switch r.Verb {
		case machine.PatchPod:
			return pod, nil
		case machine.PatchStatus:
			job = job.DeepCopy()
			job.ResourceVersion, job.Status = job.ResourceVersion+"0", *r.Status
			return job, nil
		}
		return nil, errors.ErrUnsupported
	}

	m := machine.New()
	err := m.Begin(machine.View{
		Job: job, Pods: []*corev1.Pod{pod}, Now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		JobsVersion: "7", PodsVersion: "7", Barrier: "5",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		for _, r := range batch {
			object, err := send(r)
			if err := m.Answer(r, object, err); err != nil {
				fmt.Println(err)
			}
			fmt.Println(r.Verb, r.Name+": uncounted", job.Status.UncountedTerminatedPods.Succeeded, "succeeded", job.Status.Succeeded)
		}
	}
	result := m.Result()
	fmt.Println("ended", result.Ended, "events", result.Events)
	fmt.Println(m)
	// Output:
	// patch the status train: uncounted [pod-uid] succeeded 0
	// patch pod train-x7k2p: uncounted [pod-uid] succeeded 0
	// patch the status train: uncounted [] succeeded 1
	// ended true events [{Normal Completed Job completed}]
	// waiting to observe version 700 of the Job, 1 removed finalizers
}

// The store of a cache queues the names of changed pods. Before a sync the worker feeds the
// cached pods with these names, so the sync needs no list.
func ExampleMachine_Feed() {
	job := Train(1)
	// send stands for a client. It stores the status and prints it.
	send := func(r machine.Request) (runtime.Object, error) {
		fmt.Println(r.Verb, "of", r.Name+":", r.Status.Active, "active,", *r.Status.Ready, "ready")
		job = job.DeepCopy()
		job.ResourceVersion, job.Status = "11", *r.Status
		return job, nil
	}

	m := machine.New()
	sync := func(v machine.View) {
		v.Job, v.Now, v.JobsVersion, v.Barrier = job, Noon(), job.ResourceVersion, "5"
		if err := m.Begin(v); err != nil {
			fmt.Println(err)
			return
		}
		m.Run(send)
	}

	pod := PodOf(job, "x7k2p", "6", Phase(corev1.PodRunning))
	sync(machine.View{Pods: []*corev1.Pod{pod}, PodsVersion: "10"})

	ready := pod.DeepCopy()
	ready.ResourceVersion = "12"
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	m.Feed(ready.Name, ready)
	sync(machine.View{Fed: true, PodsVersion: "12"})
	// Output:
	// patch the status of train: 1 active, 0 ready
	// patch the status of train: 1 active, 1 ready
}
