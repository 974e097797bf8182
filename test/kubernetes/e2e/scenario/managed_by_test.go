package scenario

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// noManager manages no Jobs.
const noManager = "example.com/none"

// untouched checks from now on that no controller changes a Job that no controller manages.
func untouched(w *world.World) {
	w.Always("the Job has no status and no pods", func(s script.State) bool {
		if s.Job == nil || s.Job.Spec.ManagedBy == nil || *s.Job.Spec.ManagedBy != noManager {
			return true
		}
		return equality.Semantic.DeepEqual(s.Job.Status, batchv1.JobStatus{}) && len(s.Pods()) == 0
	})
}

// "Your cluster's built-in controller ignores Jobs that have a different value", and so does
// every other controller, whether the Jobs are suspended or not, and whatever changes.
func TestManagedByAnotherController(t *testing.T) {
	t.Parallel()
	for name, suspend := range map[string]bool{"running": false, "suspended": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
				untouched(w)
				w.Play(fmt.Sprintf("create {managedBy: %s, suspend: %t}\nedit {parallelism: 2}\nedit {suspend: %t}\nobserved", noManager, suspend, !suspend))
			})
		})
	}
}

// A controller that uses the same finalizer removes it itself. Other controllers do not count
// its pods, even after the Job has ended.
func TestManagedByAnotherControllerWithFinalizers(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Succeed()), func(w *world.World) {
		job := w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: world.JobName}, Spec: batchv1.JobSpec{ManagedBy: new(noManager)}})
		pod := &corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
		pod.Name, pod.Finalizers = "theirs", []string{batchv1.JobTrackingFinalizer}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		_, err := w.Client.CoreV1().Pods(w.Namespace).Create(w.T.Context(), pod, metav1.CreateOptions{})
		w.Must(err)
		s := w.When("their pod has ended", func(s script.State) bool {
			return len(s.Pods()) == 1 && s.Pods()[0].Status.Phase == corev1.PodSucceeded
		})
		theirs := s.Pods()[0]
		dropped := false
		w.Always("their pod keeps its finalizer", func(s script.State) bool {
			return dropped || len(s.All[theirs.Name].Finalizers) == 1
		})

		job, now := s.Job.DeepCopy(), metav1.Now()
		job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
		for _, c := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue})
		}
		_, err = w.Client.BatchV1().Jobs(w.Namespace).UpdateStatus(w.T.Context(), job, metav1.UpdateOptions{})
		w.Must(err)
		w.When("the Job has ended", func(s script.State) bool { return s.Ended() })
		w.Play("patch ended {metadata: {annotations: {changed: done}}}\nobserved")
		dropped = true
		w.Play("patch ended {metadata: {finalizers: null}}")
	})
}

// The field is immutable, so a Job changes its controller by being created again: here from
// each controller to the other.
func TestHandOver(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		other := jobfate.ManagedBy
		if w.Side.ManagedBy != nil {
			other = new(batchv1.JobControllerName)
		}
		w.Play(`create {completions: 2, parallelism: 2}
			until active=2 ready=2
			become first:1 fail 1
			when failed=1
			delete-job Foreground
			when job=gone
			create {completions: 2, parallelism: 2, managedBy: ` + *other + `}
			until active=2 ready=2
			become all succeed
			until succeeded=2 ` + world.Completed)
	})
}

// A pod of the Job has just ended, and the controller is about to sync, when a Job of the same
// name for another controller replaces the first.
func TestHandOverWithSyncPending(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		untouched(w)
		w.Play(`create {completions: 1, parallelism: 1}
			until active=1 ready=1
			become all succeed
			when ended=1
			delete-job Background
			create {managedBy: ` + noManager + `}
			when job=there pods=0
			observed`)
	})
}
