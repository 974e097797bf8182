package jobfate_test

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/tracking"
)

// noon is the time of the examples.
var noon = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)

// trainJob returns a Job of one pod.
func trainJob() *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train", UID: "job-uid", ResourceVersion: "7"}}
}

// trainPod returns a pod of that Job.
func trainPod(job *batchv1.Job, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "train-x7k2p", UID: "pod-uid", ResourceVersion: "6",
			Finalizers:      []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Status: corev1.PodStatus{Phase: phase},
	}
}

// A controller for a custom kind sets its name, its kind and its keys. It rejects Jobs of
// other controllers.
func ExampleManagedBy() {
	options := []jobfate.Option{
		jobfate.ManagedBy("batch.example.com/suites"),
		jobfate.Keys(tracking.Keys{Finalizer: "batch.example.com/tracking"}),
	}
	job := trainJob()
	_, err := jobfate.Decide(jobfate.Snapshot{Job: job, Now: noon}, options...)
	fmt.Println(errors.Is(err, jobfate.ErrNotManaged))

	name := "batch.example.com/suites"
	job.Spec.ManagedBy = &name
	d, err := jobfate.Decide(jobfate.Snapshot{Job: job, Now: noon}, options...)
	fmt.Println(d.Create[0].Pod().Finalizers, err)
	// Output:
	// true
	// [batch.example.com/tracking] <nil>
}

// An InputError names the invalid fields. Retrying does not help.
func ExampleInputError() {
	job := trainJob()
	negative := int32(-1)
	job.Spec.BackoffLimit = &negative

	_, err := jobfate.Decide(jobfate.Snapshot{Job: job, Now: noon})
	var input *jobfate.InputError
	if errors.As(err, &input) {
		for _, e := range input.Fields {
			fmt.Println(e.Field, e.BadValue)
		}
	}
	// Output:
	// spec.backoffLimit -1
}

// A rule with a name fails the Job, and the reason of the condition contains the name (KEP-4443). The Go types lack the
// name, so the policy is read from the unstructured Job.
func ExampleGranularReasons() {
	job := trainJob()
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	stored := map[string]any{"spec": map[string]any{"podFailurePolicy": map[string]any{"rules": []any{map[string]any{
		"name": "OutOfMemory", "action": "FailJob",
		"onExitCodes": map[string]any{"operator": "In", "values": []any{int64(137)}},
	}}}}}
	var named struct {
		Spec struct {
			PodFailurePolicy *failurepolicy.Spec `json:"podFailurePolicy"`
		} `json:"spec"`
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored, &named)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := trainPod(job, corev1.PodFailed)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  "main",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, FinishedAt: metav1.NewTime(noon)}},
	}}

	d, err := jobfate.Decide(jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: noon},
		jobfate.FailurePolicy(named.Spec.PodFailurePolicy), jobfate.GranularReasons())
	if err != nil {
		fmt.Println(err)
		return
	}
	condition := d.Status.Conditions[0]
	fmt.Println(condition.Type, condition.Reason)
	fmt.Println(explain.Of(d).LastFailure().Match.Name)
	// Output:
	// FailureTarget PodFailurePolicy_OutOfMemory
	// OutOfMemory
}

// The node of a deleted pod is lost. Five minutes after its grace period the Job still waits for the pod;
// after ten it is replaced.
func ExampleFailLostPods() {
	job := trainJob()
	onlyFailed := batchv1.Failed
	job.Spec.PodReplacementPolicy = &onlyFailed
	pod := trainPod(job, corev1.PodRunning)
	pod.Spec.NodeName, pod.DeletionTimestamp = "lost", &metav1.Time{Time: noon}
	for _, after := range []time.Duration{5 * time.Minute, 10 * time.Minute} {
		d, err := jobfate.Decide(jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: noon.Add(after)},
			jobfate.FailLostPods(10*time.Minute))
		fmt.Println("create", len(d.Create), "pods, requeue in", d.Requeue, err)
	}
	// Output:
	// create 0 pods, requeue in 5m0s <nil>
	// create 1 pods, requeue in 0s <nil>
}

// An evicted pod has the phase Failed, but its container has exited with 0.
func ExampleSucceedOnExitZero() {
	job := trainJob()
	pod := trainPod(job, corev1.PodFailed)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(noon)}},
	}}
	d, err := jobfate.Decide(jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: noon}, jobfate.SucceedOnExitZero())
	fmt.Println(d.Status.Conditions[0].Type, err)
	// Output:
	// SuccessCriteriaMet <nil>
}

// The event handler of pods queues the Jobs that a change concerns.
func ExampleRouteOf() {
	job := trainJob()
	jobs := func(namespace string) []*batchv1.Job { return []*batchv1.Job{job} }

	before, after := trainPod(job, corev1.PodRunning), trainPod(job, corev1.PodSucceeded)
	fmt.Println(jobfate.RouteOf(before, after, jobs))

	// No Job is left that could count this pod: it is an orphan.
	orphan := trainPod(job, corev1.PodFailed)
	orphan.OwnerReferences = nil
	fmt.Printf("%q\n", jobfate.RouteOf(nil, orphan, func(string) []*batchv1.Job { return nil })[0].Name)
	// Output:
	// [default/train]
	// ""
}

// The Job of a pod was deleted, and the finalizer blocks the deletion of the pod.
func ExampleOrphansIn() {
	orphan := trainPod(trainJob(), corev1.PodFailed)
	for _, m := range jobfate.OrphansIn([]*corev1.Pod{orphan}, nil) {
		for batch := m.Next(); len(batch) > 0; batch = m.Next() {
			for _, r := range batch {
				fmt.Println(r.Verb, r.Name)
				err := m.Answer(r, nil, notFound(r))
				if err != nil {
					fmt.Println(err)
				}
			}
		}
		fmt.Println("error:", m.Result().Err)
	}
	// Output:
	// get the Job train
	// patch pod train-x7k2p
	// error: <nil>
}

// The store of a cache queues the names of changed pods. Before a sync the worker feeds the
// cached pods with these names, so the sync needs no list.
func ExampleMachine_Feed() {
	job := trainJob()
	// send stands for a client. It stores the status and prints it.
	send := func(r jobfate.Request) (runtime.Object, error) {
		fmt.Println(r.Verb, "of", r.Name+":", r.Status.Active, "active,", *r.Status.Ready, "ready")
		job = job.DeepCopy()
		job.ResourceVersion, job.Status = "8", *r.Status
		return job, nil
	}

	m := jobfate.NewMachine()
	sync := func(v jobfate.View) {
		v.Job, v.Now, v.JobsVersion, v.Barrier = job, noon, job.ResourceVersion, "5"
		if err := m.Begin(v); err != nil {
			fmt.Println(err)
			return
		}
		m.Run(send)
	}

	pod := trainPod(job, corev1.PodRunning)
	sync(jobfate.View{Pods: []*corev1.Pod{pod}, PodsVersion: "7"})

	ready := pod.DeepCopy()
	ready.ResourceVersion = "9"
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	m.Feed(ready.Name, ready)
	sync(jobfate.View{Fed: true, PodsVersion: "9"})
	// Output:
	// patch the status of train: 1 active, 0 ready
	// patch the status of train: 1 active, 1 ready
}

func notFound(r jobfate.Request) error {
	return apierrors.NewNotFound(batchv1.Resource("jobs"), r.Name)
}
