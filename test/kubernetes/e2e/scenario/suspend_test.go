package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/compare"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// endsButStartTime compares two final states of which only jobfate's has a start time.
func endsButStartTime(ours, theirs script.State) string {
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
	for _, mode := range []string{"NonIndexed", "Indexed"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			play(t, kubelet.Always(kubelet.Run()), endsButStartTime, func(w *world.World) {
				w.Play("create {completions: 0, parallelism: 0, suspend: true, completionMode: " + mode + "}\nuntil " + world.Completed)
			}, jobfate, builtIn)
		})
	}
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
		w.Play("create {suspend: true}")
		w.Update(changeDirectives)
		w.Until("Suspended/JobSuspended")
		w.Update(func(job *batchv1.Job) {
			job.Spec.Template.Labels["late"] = "yes"
			job.Spec.Suspend = new(false)
		})
		s := w.Until("active=1 ready=1")
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
		w.Play(`create {completions: 2, parallelism: 2, podReplacementPolicy: Failed}
			until active=2 ready=2
			edit {suspend: true}
			until terminating=2 Suspended/JobSuspended
			become deleted run
			until Suspended/JobSuspended`)
		w.Update(changeDirectives)
		s := w.Play("edit {suspend: false}\nuntil active=2 ready=2")
		wantDirectives(w, s.Active())
		w.Play("become all succeed\nuntil succeeded=2 " + world.Completed)
	})
}

// The deadline does not count time while a Job is suspended, or before: it restarts when the
// Job is resumed. Another Job with the same deadline, which starts later, shows when it would
// have passed.
func TestActiveDeadlineOfSuspendedJob(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Play(`create {completions: 2, parallelism: 2, activeDeadlineSeconds: 8}
			until active=2 ready=2
			edit {suspend: true}
			until Suspended/JobSuspended`)
		clock := w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "clock"}, Spec: batchv1.JobSpec{ActiveDeadlineSeconds: new(int64(8))}})
		w.When("the other Job has failed", func(s script.State) bool {
			pods := s.Sorted(func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, clock) })
			return len(pods) > 0 && pods[0].DeletionTimestamp != nil
		})
		w.Play(`edit {suspend: false}
			until active=2 ready=2
			become all succeed
			until succeeded=2 ` + world.Completed)
	})
}
