package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/jobfate/jobfate/e2e/compare"
	"github.com/jobfate/jobfate/e2e/kubelet"
	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/server"
)

// jobName is the Job of a scenario.
const jobName = "job"

// world is a namespace in which one of the controllers runs a Job.
type world struct {
	t          *testing.T
	client     kubernetes.Interface
	namespace  string
	kubelet    *kubelet.Kubelet
	view       *observe.View
	controller *server.Controller
	managedBy  *string // nil for the built-in controller
}

// both runs a scenario with either controller at the same time, and then compares
// what has become of the Job. Pods live as the script says.
func both(t *testing.T, script kubelet.Script, scenario func(*world)) {
	t.Helper()
	worlds := []*world{
		newWorld(t, "jobfate", jobfate, new(server.ManagedBy), script),
		newWorld(t, "built-in", builtIn, nil, script),
	}
	t.Run("with", func(t *testing.T) {
		for _, w := range worlds {
			t.Run(w.controller.Name, func(t *testing.T) {
				t.Parallel()
				w.t = t
				t.Cleanup(w.tellOfFailure)
				scenario(w)
				w.settles()
			})
		}
	})
	if !t.Failed() {
		// One may still be on its way in what no scenario waits for.
		observe.Agree(t, worlds[0].view, worlds[1].view, compare.Ends)
	}
}

func newWorld(t *testing.T, name string, c *server.Controller, managedBy *string, script kubelet.Script) *world {
	t.Helper()
	namespace, err := api.Namespace(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, client: api.Client, namespace: namespace, controller: c, managedBy: managedBy,
		kubelet: kubelet.Start(t.Context(), api.Client, namespace, script),
		view:    observe.Watch(t.Context(), api.Client, namespace, jobName),
	}
	w.view.Basics()
	return w
}

// settles waits until a Job that has ended, or is gone, leaves no finalizer.
func (w *world) settles() {
	w.t.Helper()
	if s := w.view.State(); s.Job == nil || observe.Ended(s.Job) {
		w.view.When(w.t, "no pod carries the finalizer of Jobs", func(s observe.State) bool { return len(s.Tracked()) == 0 })
	}
}

func (w *world) tellOfFailure() {
	if w.t.Failed() {
		w.t.Logf("what %s said of %s:\n%s", w.controller.Name, w.namespace, w.controller.Log(w.namespace, 40))
		if err := w.controller.Err(); err != nil {
			w.t.Log(err)
		}
	}
}

// create makes the Job of the scenario. A template without containers gets one,
// whose name is main.
func (w *world) create(spec batchv1.JobSpec) *batchv1.Job {
	w.t.Helper()
	return w.createJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: jobName}, Spec: spec})
}

func (w *world) createJob(job *batchv1.Job) *batchv1.Job {
	w.t.Helper()
	job.Spec.ManagedBy = w.managedBy
	template := &job.Spec.Template.Spec
	if len(template.Containers) == 0 {
		template.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	}
	if template.RestartPolicy == "" {
		template.RestartPolicy = corev1.RestartPolicyNever
	}
	made, err := w.client.BatchV1().Jobs(w.namespace).Create(w.t.Context(), job, metav1.CreateOptions{})
	w.must(err)
	return made
}

// update changes the Job on the server.
func (w *world) update(change func(*batchv1.Job)) {
	w.t.Helper()
	jobs := w.client.BatchV1().Jobs(w.namespace)
	w.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		job, err := jobs.Get(w.t.Context(), jobName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(job)
		_, err = jobs.Update(w.t.Context(), job, metav1.UpdateOptions{})
		return err
	}))
}

// delete deletes the Job.
func (w *world) delete(how metav1.DeletionPropagation) {
	w.t.Helper()
	w.must(w.client.BatchV1().Jobs(w.namespace).Delete(w.t.Context(), jobName, metav1.DeleteOptions{PropagationPolicy: &how}))
}

// deletePods deletes pods as a user does.
func (w *world) deletePods(pods ...*corev1.Pod) {
	w.t.Helper()
	for _, pod := range pods {
		w.must(w.client.CoreV1().Pods(w.namespace).Delete(w.t.Context(), pod.Name, metav1.DeleteOptions{}))
	}
}

// become changes what becomes of pods that run.
func (w *world) become(l kubelet.Life, pods ...*corev1.Pod) { w.kubelet.Become(l, pods...) }

// until waits for a state of the Job, and when for anything else.
func (w *world) until(want observe.Want) observe.State {
	w.t.Helper()
	return w.view.Until(w.t, want)
}

func (w *world) when(what string, holds func(observe.State) bool) observe.State {
	w.t.Helper()
	return w.view.When(w.t, what, holds)
}

// restart stops the controller, does something, and starts the controller again.
// A scenario that uses it must not be parallel to others: they share it.
func (w *world) restart(between func()) {
	w.t.Helper()
	w.must(w.controller.Stop())
	between()
	w.must(w.controller.Start())
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
