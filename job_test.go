package jobfate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/tracking"
	"github.com/jobfate/jobfate/validation"
)

// specJob returns a Job with a spec in YAML, as the API server stores it.
func specJob(t *testing.T, spec string) *batchv1.Job {
	t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "job", UID: "job-1", ResourceVersion: "1",
		CreationTimestamp: metav1.NewTime(time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)),
	}}
	if err := yaml.Unmarshal([]byte(spec), &job.Spec); err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main"}}}
	job = validation.Prepared(job)
	if errs := validation.Create(job); len(errs) > 0 {
		t.Fatalf("the API server rejects the Job: %v", errs.ToAggregate())
	}
	return job
}

// podIn returns a pod of the Job in a phase. n is the number of the pod, from 1 on.
func podIn(job *batchv1.Job, n int, phase corev1.PodPhase) *corev1.Pod {
	fresh := job.DeepCopy()
	fresh.Status, fresh.DeletionTimestamp = batchv1.JobStatus{}, nil
	fresh.Spec.Suspend, *fresh.Spec.Parallelism = nil, 1000
	o, err := Decide(Snapshot{Job: fresh, Now: job.CreationTimestamp.Time})
	if err != nil {
		panic(err)
	}
	i := slices.IndexFunc(o.Create, func(c Creation) bool {
		return c.Index == tracking.NoIndex || int(c.Index) == n-1
	})
	pod := o.Create[i].Pod()
	pod.UID, pod.Name = types.UID(fmt.Sprintf("pod-%d", n)), fmt.Sprintf("%s%d", pod.GenerateName, n)
	pod.CreationTimestamp, pod.Status.Phase = job.CreationTimestamp, phase
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: pod.CreationTimestamp}}
	switch exit := int32(0); phase {
	case corev1.PodFailed:
		exit = 1
		fallthrough
	case corev1.PodSucceeded:
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, FinishedAt: pod.CreationTimestamp}}
	case corev1.PodRunning:
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: pod.CreationTimestamp}}
	}
	if phase != corev1.PodPending {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: state}}
	}
	return pod
}
