// Package world sets up a test: a namespace in which a controller runs a Job and a kubelet runs its
// pods, and a view that follows both.
package world

import (
	"context"
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/proxy"
	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// JobName is the Job of a world.
const JobName = "job"

// Side is a controller, and the name that its Jobs use.
type Side struct {
	*server.Controller
	ManagedBy *string // nil for the built-in controller
}

// Jobfate is the side of a controller of jobfate with the default name.
func Jobfate(c *server.Controller) Side { return Side{c, new(server.ManagedBy)} }

// BuiltIn is the side of the built-in controller.
func BuiltIn(c *server.Controller) Side { return Side{c, nil} }

// Start starts a controller of jobfate until the test ends, for Jobs that name it. Its options have a name.
func Start(t *testing.T, s *server.Server, o server.Options) Side {
	t.Helper()
	managedBy := "jobfate.dev/" + o.Name
	o.Args = slices.Concat([]string{"--managed-by=" + managedBy}, o.Args)
	return Side{Run(t, s.Jobfate, o), &managedBy}
}

// Run starts a controller until the test ends.
func Run(t *testing.T, start func(context.Context, server.Options) (*server.Controller, error),
	o server.Options) *server.Controller {
	t.Helper()
	c, err := start(t.Context(), o)
	Must(t, err)
	t.Cleanup(func() { c.Kill() }) // the process that runs then
	return c
}

// Proxy starts a proxy until the test ends.
func Proxy(t *testing.T, s *server.Server) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Start(s.Config())
	Must(t, err)
	t.Cleanup(p.Close)
	return p
}

// World is a namespace in which a controller runs a Job. An error fails the test T.
type World struct {
	T         *testing.T
	Side      Side
	Client    kubernetes.Interface // with all rights
	Namespace string
	Kubelet   *kubelet.Kubelet
	View      *observe.View
}

// New creates a world with its own namespace, which runs until the test ends. Pods follow the
// script.
func New(t *testing.T, s *server.Server, side Side, script kubelet.Script) *World {
	t.Helper()
	namespace, err := s.Namespace(t.Context(), side.Name)
	Must(t, err)
	w := &World{
		T: t, Side: side, Client: s.Client, Namespace: namespace,
		Kubelet: kubelet.Start(t.Context(), s.Client, namespace, script),
		View:    observe.Watch(t.Context(), s.Client, namespace, JobName),
	}
	w.View.Basics()
	return w
}

// Create creates the Job. A template without containers gets one, named main.
func (w *World) Create(spec batchv1.JobSpec) *batchv1.Job {
	w.T.Helper()
	return w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: JobName}, Spec: spec})
}

// CreateJob creates a Job. The view follows it if its name is JobName. If it names no
// controller, it gets the one of this side.
func (w *World) CreateJob(job *batchv1.Job) *batchv1.Job {
	w.T.Helper()
	job = job.DeepCopy()
	if job.Spec.ManagedBy == nil {
		job.Spec.ManagedBy = w.Side.ManagedBy
	}
	template := &job.Spec.Template.Spec
	if len(template.Containers) == 0 {
		template.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	}
	if template.RestartPolicy == "" {
		template.RestartPolicy = corev1.RestartPolicyNever
	}
	made, err := w.Client.BatchV1().Jobs(w.Namespace).Create(w.T.Context(), job, metav1.CreateOptions{})
	w.Must(err)
	return made
}

// Update changes the Job, as a user does.
func (w *World) Update(change func(*batchv1.Job)) {
	w.T.Helper()
	jobs := w.Client.BatchV1().Jobs(w.Namespace)
	w.Must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		job, err := jobs.Get(w.T.Context(), JobName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(job)
		_, err = jobs.Update(w.T.Context(), job, metav1.UpdateOptions{})
		return err
	}))
}

// Delete deletes the Job.
func (w *World) Delete(how metav1.DeletionPropagation) {
	w.T.Helper()
	w.Must(w.Client.BatchV1().Jobs(w.Namespace).
		Delete(w.T.Context(), JobName, metav1.DeleteOptions{PropagationPolicy: &how}))
}

// DeletePods deletes pods, as a user does.
func (w *World) DeletePods(pods ...*corev1.Pod) {
	w.T.Helper()
	for _, pod := range pods {
		w.Must(w.Client.CoreV1().Pods(w.Namespace).Delete(w.T.Context(), pod.Name, metav1.DeleteOptions{}))
	}
}

// Become changes the script of pods that have not ended.
func (w *World) Become(l kubelet.Life, pods ...*corev1.Pod) { w.Kubelet.Become(l, pods...) }

// Until advances the view until the Job has a STATE of package script, and nothing else.
func (w *World) Until(state string) observe.State {
	w.T.Helper()
	return w.View.Until(w.T, state)
}

// When advances the view until a function holds.
func (w *World) When(what string, holds func(observe.State) bool) observe.State {
	w.T.Helper()
	return w.View.When(w.T, what, holds)
}

// Settle waits until a Job that has ended, or is gone, leaves no finalizer behind.
func (w *World) Settle() {
	w.T.Helper()
	if s := w.View.State(); s.Job == nil || observe.Ended(s.Job) {
		w.When("no pod carries the finalizer of Jobs", func(s observe.State) bool { return len(s.Tracked()) == 0 })
	}
}

// Quota admits a number of further pods, by a quota named few. Only the API server counts them.
func (w *World) Quota(pods int) {
	w.T.Helper()
	quotas := w.Client.CoreV1().ResourceQuotas(w.Namespace)
	few := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}}
	if _, err := quotas.Create(w.T.Context(), few, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		w.Must(err)
	}
	patch := fmt.Appendf(nil, `{"status":{"hard":{"pods":"%d"},"used":{"pods":"0"}}}`, pods)
	_, err := quotas.Patch(w.T.Context(), "few", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	w.Must(err)
}

// Marker makes the controller run another Job from beginning to end. The controller has then
// observed everything that happened before.
func (w *World) Marker() {
	w.T.Helper()
	_, end := w.BeginMarker()
	end()
}

// BeginMarker begins a marker, and returns a function that ends it.
func (w *World) BeginMarker() (job *batchv1.Job, end func()) {
	w.T.Helper()
	job = w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "marker-"}})
	mine := func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, job) }
	s := w.When("the marker's pod", func(s observe.State) bool { return len(s.Sorted(mine)) > 0 })
	return job, func() {
		w.T.Helper()
		w.Become(kubelet.Succeed(), s.Sorted(mine)...)
		counted := func(s observe.State) bool { return len(s.Sorted(mine)[0].Finalizers) == 0 }
		w.When("the marker's pod has been counted", counted)
	}
}

// Restart stops the controller, calls a function, and starts the controller again, even if the
// test fails meanwhile, because other tests need it. A test that shares its controller must not
// run in parallel.
func (w *World) Restart(between func()) {
	w.T.Helper()
	w.Must(w.Side.Stop())
	defer func() {
		if err := w.Side.Start(); err != nil {
			w.T.Error(err)
		}
	}()
	between()
}

// LogOnFailure logs what the controller logged about this namespace if the test has failed;
// use it in t.Cleanup.
func (w *World) LogOnFailure() {
	if w.T.Failed() {
		w.T.Logf("the log of %s about %s:\n%s", w.Side.Name, w.Namespace, w.Side.Log(w.Namespace, 40))
		if err := w.Side.Err(); err != nil {
			w.T.Log(err)
		}
	}
}

// Must fails the test if there is an error.
func (w *World) Must(err error) {
	w.T.Helper()
	Must(w.T, err)
}

// Must fails a test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
