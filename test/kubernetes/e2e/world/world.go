// Package world sets up a test: a namespace in which a controller runs a Job and a kubelet runs its
// pods, and a view that follows both.
package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/stories/script"
)

// JobName is the Job of a world.
const JobName = script.JobName

// Side is a controller, and the name that its Jobs use.
type Side struct {
	*server.Controller
	ManagedBy *string // nil for the built-in controller
}

// Jobfate is the side of a controller of jobfate with the default name.
func Jobfate(c *server.Controller) Side { return Side{c, new(server.ManagedBy)} }

// BuiltIn is the side of the built-in controller.
func BuiltIn(c *server.Controller) Side { return Side{c, nil} }

// RunBoth is server.Run with both controllers, which the tests share.
func RunBoth(m *testing.M, api **server.Server, atOnce int, o server.Options, jobfate, builtIn *Side) int {
	return server.Run(m, api, atOnce, func(ctx context.Context, s *server.Server) error {
		ours, errOurs := s.Jobfate(ctx, o)
		theirs, errTheirs := s.BuiltIn(ctx, o)
		*jobfate, *builtIn = Jobfate(ours), BuiltIn(theirs)
		return errors.Join(errOurs, errTheirs)
	})
}

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

// World is the world of package script in real time: a namespace in which a controller runs a Job, and a kubelet
// its pods.
type World struct {
	*script.World
	Feed      *observe.Feed // of its clock
	Side      Side
	Client    kubernetes.Interface // with all rights
	Namespace string
	Kubelet   *kubelet.Kubelet
}

// New creates a world with its own namespace, which runs until the test ends. Pods follow the
// script.
func New(t *testing.T, s *server.Server, side Side, lives kubelet.Script) *World {
	t.Helper()
	namespace, err := s.Namespace(t.Context(), side.Name)
	Must(t, err)
	w := &World{Side: side, Client: s.Client, Namespace: namespace,
		Kubelet: kubelet.Start(t.Context(), s.Client, namespace, lives)}
	w.World, w.Feed = observe.Watch(t.Context(), t, s.Client, namespace, JobName)
	w.Actors = w
	var before *batchv1.Job
	w.Always("the count of failures never decreases, an ended Job stays ended, and ready is at most active",
		func(s script.State) bool {
			was := before
			before = s.Job
			if s.Job == nil {
				return true
			}
			if was == nil || was.UID != s.Job.UID {
				was = &batchv1.Job{}
			}
			now := s.Job.Status
			return now.Failed >= was.Status.Failed && (s.Ended() || jobstatus.Finished(was) == nil) &&
				(now.Ready == nil || *now.Ready <= now.Active)
		})
	return w
}

// Create creates the Job. A template without containers gets one, named main.
func (w *World) Create(spec batchv1.JobSpec) {
	w.T.Helper()
	w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: JobName}, Spec: spec})
}

// PodSpec returns the spec of the pods of the unit tests.
var PodSpec = podtest.MinimalPodSpec

// Must fails a test if there is an error.
var Must = podtest.NoError

// NewJob returns a Job that a controller manages, with the pods of PodSpec.
func NewJob(name string, managedBy *string, spec batchv1.JobSpec) *batchv1.Job {
	spec.ManagedBy, spec.Template.Spec = managedBy, PodSpec()
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
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
		template.Containers = PodSpec().Containers
	}
	template.RestartPolicy = cmp.Or(template.RestartPolicy, corev1.RestartPolicyNever)
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

// EditJob changes the spec of the Job.
func (w *World) EditJob(change func(*batchv1.JobSpec)) error {
	w.T.Helper()
	w.Update(func(job *batchv1.Job) { change(&job.Spec) })
	return nil
}

// DeleteJob deletes the Job.
func (w *World) DeleteJob(how metav1.DeletionPropagation) {
	w.T.Helper()
	w.Must(w.Client.BatchV1().Jobs(w.Namespace).
		Delete(w.T.Context(), JobName, metav1.DeleteOptions{PropagationPolicy: &how}))
}

// DeletePod deletes a pod.
func (w *World) DeletePod(pod *corev1.Pod, force bool) {
	w.T.Helper()
	var o metav1.DeleteOptions
	if force {
		o.GracePeriodSeconds = new(int64(0))
	}
	w.Must(w.Client.CoreV1().Pods(w.Namespace).Delete(w.T.Context(), pod.Name, o))
}

// Patch changes a pod by a merge patch.
func (w *World) Patch(pod *corev1.Pod, patch []byte) {
	w.T.Helper()
	_, err := w.Client.CoreV1().Pods(w.Namespace).
		Patch(w.T.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	w.Must(err)
}

// Become changes the script of pods that have not ended.
func (w *World) Become(l kubelet.Life, pods ...*corev1.Pod) { w.Kubelet.Become(l, pods...) }

// Settle waits until a Job that has ended, or is gone, leaves no finalizer behind.
func (w *World) Settle() {
	w.T.Helper()
	if s := w.State(); s.Job == nil || s.Ended() {
		w.When("no pod carries the finalizer of Jobs", func(s script.State) bool { return len(s.Tracked()) == 0 })
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

// Observed makes the controller run another Job, the marker, from beginning to end. The controller has then
// observed everything that happened before.
func (w *World) Observed() {
	w.T.Helper()
	_, end := w.BeginMarker()
	end()
}

// BeginMarker begins a marker, and returns a function that ends it.
func (w *World) BeginMarker() (job *batchv1.Job, end func()) {
	w.T.Helper()
	job = w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "marker-"}})
	mine := func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, job) }
	s := w.When("the marker's pod", func(s script.State) bool { return len(s.Sorted(mine)) > 0 })
	return job, func() {
		w.T.Helper()
		w.Become(kubelet.Succeed(), s.Sorted(mine)...)
		counted := func(s script.State) bool { return len(s.Sorted(mine)[0].Finalizers) == 0 }
		w.When("the marker's pod has been counted", counted)
	}
}

// Play plays a story with some controllers at the same time, each in a world of its own.
func Play(t *testing.T, s *server.Server, lives kubelet.Script, story func(*World), sides ...Side) (worlds []*World) {
	t.Helper()
	for _, side := range sides {
		worlds = append(worlds, New(t, s, side, lives))
	}
	t.Run("with", func(t *testing.T) {
		for _, w := range worlds {
			t.Run(w.Side.Name, func(t *testing.T) {
				t.Parallel()
				w.T = t
				t.Cleanup(w.LogOnFailure)
				story(w)
				w.Settle()
			})
		}
	})
	return worlds
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

// The words of package script for the ends of a Job.
const (
	Completed      = "SuccessCriteriaMet/CompletionsReached Complete/CompletionsReached"
	FailedByPolicy = "FailureTarget/PodFailurePolicy Failed/PodFailurePolicy"
)

// Lives returns the lives of new pods in a scenario.
func Lives(s script.Scenario) kubelet.Script {
	return func(p kubelet.Pod) kubelet.Life { return lifeOf(s.Life(p.Index, p.Attempt)) }
}

func lifeOf(l script.Life) kubelet.Life {
	k := kubelet.Life{Stuck: l.Waits, Forever: l.Runs, Unready: l.Unready, Undying: l.Lingers, Restarts: l.Restarts,
		Running: time.Duration(l.After) * time.Second, End: kubelet.End{Exit: l.Exit, Lost: l.Lost}}.Dying(l.Dies, 0)
	if l.Disrupted {
		k = k.Disrupted()
		k.Stop.Conditions = k.End.Conditions
	}
	return k
}

// Lead changes the lives of pods, and restarts their containers.
func (w *World) Lead(l script.Life, pods []*corev1.Pod) {
	w.T.Helper()
	for _, pod := range pods {
		if l.Runs && l.Restarts > 0 {
			w.restart(pod, l.Restarts)
		}
	}
	w.Become(lifeOf(l), pods...)
}

// restart restarts the containers of a pod, as its kubelet does.
func (w *World) restart(pod *corev1.Pod, times int32) {
	w.T.Helper()
	pods := w.Client.CoreV1().Pods(w.Namespace)
	pod, err := pods.Get(w.T.Context(), pod.Name, metav1.GetOptions{})
	w.Must(err)
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].RestartCount = times
	}
	_, err = pods.UpdateStatus(w.T.Context(), pod, metav1.UpdateOptions{})
	w.Must(err)
}
