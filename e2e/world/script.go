package world

import (
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
	"github.com/jobfate/jobfate/stories/script"
)

// The words of package script for the ends of a Job.
const (
	Completed      = "SuccessCriteriaMet/CompletionsReached Complete/CompletionsReached"
	FailedByPolicy = "FailureTarget/PodFailurePolicy Failed/PodFailurePolicy"
)

// Play runs the steps of a text of package script, and returns the state after them. It does not change what new
// pods do: see Lives.
func (w *World) Play(text string) observe.State {
	w.T.Helper()
	s, err := script.Parse(text)
	w.Must(err)
	s.Run(w.T, w.Script(), "")
	return w.View.State()
}

// Lives returns the lives of new pods in a scenario.
func Lives(s script.Scenario) kubelet.Script {
	return func(p kubelet.Pod) kubelet.Life { return lifeOf(s.Life(p.Index, p.Attempt)) }
}

// Script returns the world as one for scenarios.
func (w *World) Script() script.World { return scripted{w} }

type scripted struct{ *World }

func lifeOf(l script.Life) kubelet.Life {
	k := kubelet.Life{Stuck: l.Waits, Forever: l.Runs, Unready: l.Unready, Undying: l.Lingers, Restarts: l.Restarts,
		Running: time.Duration(l.After) * time.Second, End: kubelet.End{Exit: l.Exit, Lost: l.Lost}}.Dying(l.Dies, 0)
	if l.Disrupted {
		k = k.Disrupted()
		k.Stop.Conditions = k.End.Conditions
	}
	return k
}

func (w scripted) Create(spec batchv1.JobSpec) { w.World.Create(spec) }

func (w scripted) Edit(change func(*batchv1.JobSpec)) {
	w.Update(func(job *batchv1.Job) { change(&job.Spec) })
}

func (w scripted) DeleteJob(how metav1.DeletionPropagation) { w.Delete(how) }

func (w scripted) Become(l script.Life, pods []*corev1.Pod) {
	if l.Runs && l.Restarts > 0 {
		for _, pod := range pods {
			w.restart(pod, l.Restarts)
		}
	}
	w.World.Become(lifeOf(l), pods...)
}

// restart restarts the containers of a pod, as its kubelet does.
func (w scripted) restart(pod *corev1.Pod, times int32) {
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

func (w scripted) DeletePod(pod *corev1.Pod, force bool) {
	var o metav1.DeleteOptions
	if force {
		o.GracePeriodSeconds = new(int64(0))
	}
	w.Must(w.Client.CoreV1().Pods(w.Namespace).Delete(w.T.Context(), pod.Name, o))
}

func (w scripted) Patch(pod *corev1.Pod, patch []byte) {
	pods := w.Client.CoreV1().Pods(w.Namespace)
	_, err := pods.Patch(w.T.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	w.Must(err)
}

func (w scripted) Observed() { w.Marker() }

func (w scripted) Event(reason string) {
	w.When("event "+reason, func(*batchv1.Job, []*corev1.Pod) bool { return w.View.State().Event(reason) != nil })
}

func (w scripted) State() (*batchv1.Job, []*corev1.Pod) { return parts(w.View.State()) }

func (w scripted) When(what string, holds func(*batchv1.Job, []*corev1.Pod) bool) {
	w.World.When(what, func(s observe.State) bool { return holds(parts(s)) })
}

func (w scripted) Always(what string, holds func(*batchv1.Job, []*corev1.Pod) bool) {
	w.View.Always(what, func(s observe.State) bool { return holds(parts(s)) })
}

// parts returns the Job and its pods, without those of markers.
func parts(s observe.State) (*batchv1.Job, []*corev1.Pod) {
	pods := slices.Collect(maps.Values(s.All))
	return s.Job, slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
		owner := metav1.GetControllerOf(p)
		return owner != nil && owner.Name != JobName
	})
}
