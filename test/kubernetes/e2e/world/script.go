package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/stories/script"
)

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
