package scenario

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// A selector chosen by the user matches a pod that existed before the Job. The pod is adopted,
// with a finalizer, before any other is created.
func TestPodBeforeItsJob(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Play("limit 2")
		_, err := w.Client.CoreV1().Pods(w.Namespace).Create(w.T.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "early", Labels: map[string]string{"app": "work"}},
			Spec:       world.PodSpec(),
		}, metav1.CreateOptions{})
		w.Must(err)
		w.When("the early pod runs", func(s script.State) bool {
			return s.All["early"] != nil && s.All["early"].Status.Phase == corev1.PodRunning
		})
		w.Play(`create {completions: 2, parallelism: 2, manualSelector: true, selector: {matchLabels: {app: work}}, template: {metadata: {labels: {app: work}}}}
			until active=2 ready=2
			when tracked=2
			become all succeed
			until succeeded=2 ` + world.Completed)
	})
}

// A condition of another client stays in the status to the end, before those of the controller.
func TestForeignConditionStays(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Play("create {completions: 2, parallelism: 2}\nuntil active=2 ready=2")
		_, err := w.Client.BatchV1().Jobs(w.Namespace).Patch(w.T.Context(), world.JobName, types.MergePatchType,
			[]byte(`{"status":{"conditions":[{"type":"Ours","status":"True","reason":"Why"}]}}`), metav1.PatchOptions{}, "status")
		w.Must(err)
		w.Play(`until active=2 ready=2 Ours/Why
			become first:1 succeed
			until active=1 ready=1 succeeded=1 Ours/Why
			become all succeed
			until succeeded=2 Ours/Why ` + world.Completed)
	})
}

// standAside stops a controller until the test ends. Such a test must not run in parallel.
func standAside(t *testing.T, c *server.Controller) {
	t.Helper()
	world.Must(t, c.Stop())
	t.Cleanup(func() {
		if err := c.Start(); err != nil {
			t.Error(err)
		}
	})
}
