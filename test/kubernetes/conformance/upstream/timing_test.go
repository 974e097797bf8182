package upstream

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

func TestLeastDelay(t *testing.T) {
	job := newJob(t, 2, 2, limitPerIndex(1))
	out := sync(real.Input{Job: job, Pods: []*corev1.Pod{newPod(job, "a", corev1.PodFailed, index(0), failures(0), exit(1, 0))}})
	created := out.Created()
	if len(created) != 1 || created[0].Annotations[batchv1.JobCompletionIndexAnnotation] != "1" || len(out.Requeues) != 0 {
		t.Errorf("created %v, timers %v; want only index 1, and no timer for index 0", out.Done(real.Create), out.Requeues)
	}
}

func TestFillFreeSlots(t *testing.T) {
	job := newJob(t, 2, 8, limitPerIndex(1))
	out := sync(real.Input{Job: job, Pods: []*corev1.Pod{
		newPod(job, "a", corev1.PodFailed, index(0), failures(0), exit(1, 0)),
		newPod(job, "b", corev1.PodFailed, index(1), failures(0), exit(1, 0)),
	}})
	if len(out.Created()) != 0 || len(out.Requeues) != 1 || out.Requeues[0] != 10*time.Second {
		t.Errorf("created %v, timers %v; want none for 10 s although indexes 2 to 7 could run", out.Done(real.Create), out.Requeues)
	}
}

func TestBackoffInDoubt(t *testing.T) {
	job := newJob(t, 1, 1)
	job.Status.Failed = 3
	counted := newPod(job, "a", corev1.PodFailed, exit(1, 0), func(p *corev1.Pod) { p.Finalizers = nil })
	in := real.Input{Job: job, Pods: []*corev1.Pod{counted}}
	in.Memory.Backoff = &real.Record{Failures: 3, LastFailure: &at(0).Time}
	if out := sync(in); len(out.Created()) != 0 {
		t.Errorf("before a restart: created %v, want none during the backoff", out.Done(real.Create))
	}
	in.Memory.Backoff = nil
	if out := sync(in); len(out.Created()) != 1 {
		t.Errorf("after a restart: created %v, want a pod at once", out.Done(real.Create))
	}
}

func TestCreationMetric(t *testing.T) {
	job := newJob(t, 1, 1)
	out := sync(real.Input{Job: job, Fail: real.Faults{Create: map[int]error{0: real.ErrInternal}}})
	want := map[string]float64{"failed": 1, "succeeded": 1} // although only one was sent
	if fixedIn(38) {
		want["succeeded"] = 0
	}
	for status, n := range want {
		if got := out.Metrics[`job_pods_creation_total{reason="new",status="`+status+`"}`]; got != n {
			t.Errorf("%v creations %s, want %v", got, status, n)
		}
	}
}

func TestSettleMetric(t *testing.T) {
	job := newJob(t, 0, 5)
	in := real.Input{Job: job, Fail: real.Faults{Strip: map[string]error{"b": real.ErrInternal}}, Pods: []*corev1.Pod{
		newPod(job, "a", corev1.PodFailed, exit(1, 0)), newPod(job, "b", corev1.PodFailed, exit(1, 0)),
	}}
	const metric = `job_pods_finished_total{completion_mode="NonIndexed",result="failed"}`
	first := sync(in)
	next := real.Input{Job: job.DeepCopy(), Pods: in.Pods[1:]}
	next.Job.Status = *last(t, first)
	second := sync(next)
	if got := last(t, second).Failed; got != 2 || first.Metrics[metric]+second.Metrics[metric] != 1 {
		t.Errorf("%d failed, the metric counts %v and %v; want 2 failed and 1 in the metric", got, first.Metrics[metric], second.Metrics[metric])
	}
}

func TestEarlyEvents(t *testing.T) {
	job := newJob(t, 1, 1, func(s *batchv1.JobSpec) { s.Suspend = new(true) })
	out := sync(real.Input{Job: job, Fail: real.Faults{Status: map[int]error{0: real.ErrConflict}}})
	if len(out.Events) != 1 || out.Events[0].Reason != "Suspended" || len(out.Statuses()) != 0 {
		t.Errorf("events %v, %d statuses stored; want Suspended although no status is stored", out.Events, len(out.Statuses()))
	}
}
