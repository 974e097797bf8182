package scenario

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// Actions of users, and checks that they have no effect.

// suspended is the condition of a suspended Job, as an observe.Want has it.
var suspended = []string{"Suspended/JobSuspended"}

// setParallelism changes how many pods of the Job run at once.
func setParallelism(w *world.World, parallelism int32) {
	w.T.Helper()
	w.Update(func(job *batchv1.Job) { job.Spec.Parallelism = &parallelism })
}

// setSuspend suspends or resumes the Job.
func setSuspend(w *world.World, suspend bool) {
	w.T.Helper()
	w.Update(func(job *batchv1.Job) { job.Spec.Suspend = &suspend })
}

// patchPod sends a JSON merge patch of a pod.
func patchPod(w *world.World, pod *corev1.Pod, patch string) {
	w.T.Helper()
	_, err := w.Client.CoreV1().Pods(w.Namespace).Patch(w.T.Context(), pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	w.Must(err)
}

// dropFinalizers removes all finalizers of a pod.
func dropFinalizers(w *world.World, pod *corev1.Pod) {
	w.T.Helper()
	patchPod(w, pod, `{"metadata":{"finalizers":null}}`)
}

// marker makes the controller of this side run another Job from beginning to end. The
// controller has then observed everything that happened before.
func marker(w *world.World) {
	w.T.Helper()
	_, end := beginMarker(w)
	end()
}

// beginMarker begins a marker, and returns a function that ends it.
func beginMarker(w *world.World) (job *batchv1.Job, end func()) {
	w.T.Helper()
	job = w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "marker-"}})
	mine := func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, job) }
	s := w.When("the marker's pod", func(s observe.State) bool { return len(s.Sorted(mine)) > 0 })
	return job, func() {
		w.T.Helper()
		w.Become(kubelet.Succeed(), s.Sorted(mine)...)
		w.When("the marker's pod has been counted", func(s observe.State) bool { return len(s.Sorted(mine)[0].Finalizers) == 0 })
	}
}

// without returns the pods that are not in a list.
func without(pods, others []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool {
		return slices.ContainsFunc(others, func(o *corev1.Pod) bool { return o.UID == p.UID })
	})
}

// limitPods checks from now on that Jobs of this name never have more than a number of pods in
// total, including pods that are gone or released.
func limitPods(w *world.World, most int) {
	seen := map[types.UID]bool{}
	w.View.Always("no pod but those that are needed is ever created", func(s observe.State) bool {
		for _, pod := range s.All {
			if owner := metav1.GetControllerOf(pod); owner != nil && owner.Name == world.JobName {
				seen[pod.UID] = true
			}
		}
		return len(seen) <= most
	})
}

// standAside stops a controller until the test ends. Such a test must not run in parallel.
func standAside(t *testing.T, c *server.Controller) {
	t.Helper()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Start(); err != nil {
			t.Error(err)
		}
	})
}
