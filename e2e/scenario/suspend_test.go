package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/compare"
	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// resumed reports whether the condition says that the Job has been resumed.
func resumed(job *batchv1.Job) bool {
	c := job.Status.Conditions
	return len(c) == 1 && c[0].Type == batchv1.JobSuspended && c[0].Status == corev1.ConditionFalse && c[0].Reason == "JobResumed"
}

// wantEvents waits for events about the Job.
func wantEvents(w *world.World, reasons ...string) {
	w.T.Helper()
	for _, reason := range reasons {
		w.When("an event "+reason, func(s observe.State) bool { return s.Event(reason) != nil })
	}
}

// The pods of a suspended Job are deleted and do not count as failures, and the Job has no
// start time. "When a Job is resumed from suspension, its .status.startTime field will be
// reset".
func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := regular(3)
		spec.Parallelism, spec.BackoffLimit = new(int32(2)), new(int32(0))
		w.Create(spec)
		first := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Succeed(), first.Active()[0])
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 1})
		setSuspend(w, true)
		s := w.Until(observe.Want{Succeeded: 1, Conditions: suspended})
		if s.Job.Status.StartTime != nil {
			w.T.Errorf("the Job is suspended and has a start time: %s", s.Job.Status.StartTime)
		}
		wantEvents(w, "Suspended")
		setSuspend(w, false)
		s = w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 1})
		if at := s.Job.Status.StartTime; at == nil || !at.After(first.Job.Status.StartTime.Time) || !resumed(s.Job) {
			w.T.Errorf("started at %v and then at %v; conditions %v", first.Job.Status.StartTime, at, s.Job.Status.Conditions)
		}
		wantEvents(w, "Resumed")
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 3, Conditions: completed})
	})
}

// A Job that is created suspended has no pods until it is resumed.
func TestStartedSuspended(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.View.Always("pods come only after the Job has been resumed", func(s observe.State) bool {
			return len(s.Pods()) == 0 || !*s.Job.Spec.Suspend
		})
		spec := indexed(2)
		spec.Suspend = new(true)
		w.Create(spec)
		s := w.Until(observe.Want{Conditions: suspended})
		if s.Job.Status.StartTime != nil {
			w.T.Errorf("the Job is suspended and has a start time: %s", s.Job.Status.StartTime)
		}
		wantEvents(w, "Suspended")
		marker(w)
		setSuspend(w, false)
		s = w.Until(observe.Want{Active: 2, Ready: 2})
		if s.Job.Status.StartTime == nil || !resumed(s.Job) {
			w.T.Errorf("the Job is resumed; start time %v, conditions %v", s.Job.Status.StartTime, s.Job.Status.Conditions)
		}
		wantEvents(w, "Resumed")
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Completed: "0,1", Conditions: completed})
	})
}

// endsButStartTime compares two final states of which only jobfate's has a start time.
func endsButStartTime(ours, theirs observe.State) string {
	if ours.Job.Status.StartTime == nil || theirs.Job.Status.StartTime != nil {
		return "only under jobfate the Job must have a start time"
	}
	ours.Job = ours.Job.DeepCopy()
	ours.Job.Status.StartTime = nil
	return compare.Ends(ours, theirs)
}

// A Job with zero completions is complete even if it is suspended. jobfate sets a start time
// when it ends a Job: see start-time in docs/divergences.md.
func TestSuspendedWithZeroCompletions(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]batchv1.JobSpec{"regular": regular(0), "indexed": indexed(0)} {
		spec.Suspend = new(true)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothBut(t, kubelet.Always(kubelet.Run()), endsButStartTime, func(w *world.World) {
				w.Create(spec)
				w.Until(observe.Want{Conditions: completed})
			})
		})
	}
}

// The last success comes while the Job is suspended and has no start time. The API server
// rejects the status of the built-in controller: see start-time in docs/divergences.md. jobfate
// sets the start time when it ends the Job.
func TestLastSuccessWhileSuspended(t *testing.T) {
	t.Parallel()
	onlyJobfate(t, kubelet.Always(kubelet.Run().NeverDying()), func(w *world.World) {
		spec := regular(1)
		spec.PodReplacementPolicy = new(batchv1.Failed)
		w.Create(spec)
		s := w.Until(observe.Want{Active: 1, Ready: 1})
		w.DeletePods(s.Active()...)
		w.Until(observe.Want{Terminating: 1})
		setSuspend(w, true)
		w.Until(observe.Want{Terminating: 1, Conditions: suspended})
		w.Become(kubelet.Run().Dying(0, 0), s.Active()...)
		end := w.Until(observe.Want{Succeeded: 1, Conditions: append(suspended[:1:1], completed...)})
		if end.Job.Status.StartTime == nil {
			w.T.Error("the Job has ended and has no start time")
		}
	})
}

// changeDirectives changes the scheduling directives and the resources of the pods
// (KEP-2926, KEP-5440). The gates MutableSchedulingDirectivesForSuspendedJobs and
// MutablePodResourcesForSuspendedJobs allow that, and are on by default in 1.36.
func changeDirectives(job *batchv1.Job) {
	pod := &job.Spec.Template.Spec
	pod.NodeSelector = map[string]string{"zone": "here"}
	pod.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
}

// wantDirectives checks that pods have the values that changeDirectives sets.
func wantDirectives(w *world.World, pods []*corev1.Pod) {
	w.T.Helper()
	for _, pod := range pods {
		cpu := pod.Spec.Containers[0].Resources.Requests.Cpu().String()
		if zone := pod.Spec.NodeSelector["zone"]; zone != "here" || cpu != "200m" {
			w.T.Errorf("pod %s: node selector %q, CPU %s, want here and 200m", pod.Name, zone, cpu)
		}
	}
}

// wantRefused checks that the API server rejects a change of the Job.
func wantRefused(w *world.World, change func(*batchv1.Job)) {
	w.T.Helper()
	jobs := w.Client.BatchV1().Jobs(w.Namespace)
	job, err := jobs.Get(w.T.Context(), world.JobName, metav1.GetOptions{})
	w.Must(err)
	change(job)
	if _, err := jobs.Update(w.T.Context(), job, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); !apierrors.IsInvalid(err) {
		w.T.Errorf("the server answers %v, want that it is invalid", err)
	}
}

// The template changes before the Job is first resumed, and in the same update. Afterwards it
// is immutable.
func TestTemplateChangedBeforeStart(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(batchv1.JobSpec{Suspend: new(true)})
		w.Update(changeDirectives)
		w.Until(observe.Want{Conditions: suspended})
		w.Update(func(job *batchv1.Job) {
			job.Spec.Template.Labels["late"] = "yes"
			job.Spec.Suspend = new(false)
		})
		s := w.Until(observe.Want{Active: 1, Ready: 1})
		wantDirectives(w, s.Active())
		if s.Active()[0].Labels["late"] != "yes" {
			w.T.Errorf("the pod has the labels %v, want the late one", s.Active()[0].Labels)
		}
		wantRefused(w, func(job *batchv1.Job) { job.Spec.Template.Labels["late"] = "no" })
		wantRefused(w, func(job *batchv1.Job) { job.Spec.Template.Spec.NodeSelector = nil })
		wantRefused(w, func(job *batchv1.Job) { job.Spec.Template.Spec.Containers[0].Resources.Requests = nil })
	})
}

// A Job is suspended after it has run, and its template changes. It must not change while pods
// of the old template exist.
func TestTemplateChangedWhileSuspended(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run().NeverDying()), func(w *world.World) {
		spec := regular(2)
		spec.PodReplacementPolicy = new(batchv1.Failed)
		w.Create(spec)
		old := w.Until(observe.Want{Active: 2, Ready: 2})
		setSuspend(w, true)
		w.Until(observe.Want{Terminating: 2, Conditions: suspended})
		w.Become(kubelet.Run(), old.Active()...)
		w.Until(observe.Want{Conditions: suspended})
		w.Update(changeDirectives)
		setSuspend(w, false)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		wantDirectives(w, s.Active())
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
	})
}
