package diagnose_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// startsLater is how long a kubelet waits at least before the nth restart of a container: ten seconds before the
// second, twice as long before each further one, at most five minutes (pkg/kubelet/kubelet.go, newCrashLoopBackOff).
func startsLater(n int32) (all time.Duration) {
	for i := range n - 1 {
		all += min(10*time.Second<<min(i, 5), 5*time.Minute)
	}
	return all
}

// waitingReasons has the reasons of kubelets (kubelet_pods.go; the errors of container, images and kuberuntime).
var waitingReasons = strings.Fields("ContainerCreating PodInitializing RestartingAllContainers CrashLoopBackOff " +
	"ErrImagePull ImagePullBackOff ImageInspectError InvalidImageName ErrImageNeverPull RegistryUnavailable " +
	"SignatureValidationFailed CreateContainerConfigError CreateContainerError PreCreateHookError PreStartHookError " +
	"RunContainerError PostStartHookError")

// unwritten returns what no kubelet would write in a pod (pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses
// and getPhase; kuberuntime_manager.go, doBackOff).
func unwritten(pod *corev1.Pod) (all []string) {
	no := func(c *corev1.ContainerStatus, format string, args ...any) {
		all = append(all, "container "+c.Name+": "+fmt.Sprintf(format, args...))
	}
	pending, running := false, pod.Spec.NodeName == ""
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			c, last := &list[i], list[i].LastTerminationState.Terminated
			init := len(pod.Status.InitContainerStatuses) > 0 && &list[0] == &pod.Status.InitContainerStatuses[0]
			sidecar := slices.ContainsFunc(pod.Spec.InitContainers,
				func(of corev1.Container) bool { return of.Name == c.Name && of.RestartPolicy != nil })
			if w := c.State.Waiting; w != nil {
				plain := w.Reason == "ContainerCreating" || w.Reason == "PodInitializing"
				if plain != (w.Message == "") || !slices.Contains(waitingReasons, w.Reason) {
					no(c, "%s has the message %q", w.Reason, w.Message)
				}
				if plain && (w.Reason == "PodInitializing") != (len(pod.Spec.InitContainers) > 0) {
					no(c, "%s beside %d init containers", w.Reason, len(pod.Spec.InitContainers))
				}
				of := fmt.Sprintf(" restarting failed container=%s pod=%s_%s(%s)", c.Name, pod.Name, pod.Namespace, pod.UID)
				if w.Reason == "CrashLoopBackOff" && (c.RestartCount == 0 || !strings.HasSuffix(w.Message, of)) {
					no(c, "%d restarts, %q, not \"back-off …%s\"", c.RestartCount, w.Message, of)
				}
			}
			if (c.RestartCount > 0) != (last != nil) && (last == nil || c.State.Waiting == nil) {
				no(c, "%d restarts, and the last state is %v", c.RestartCount, last)
			}
			if last != nil && last.Reason != "RestartingAllContainers" &&
				now.Sub(pod.CreationTimestamp.Time) < startsLater(c.RestartCount) {
				no(c, "%d restarts in %s", c.RestartCount, now.Sub(pod.CreationTimestamp.Time))
			}
			for _, end := range []*corev1.ContainerStateTerminated{c.State.Terminated, last} {
				timeless := end != nil && (end.Reason == "RestartingAllContainers" || end.Reason == "ContainerStatusUnknown")
				if end != nil && ((end.Reason == "Completed") != (end.ExitCode == 0) || end.Reason == "" ||
					timeless != end.FinishedAt.IsZero() || timeless != end.StartedAt.IsZero()) {
					no(c, "ended with %+v", *end)
				}
			}
			if r := c.State.Running; r != nil && last != nil && !last.FinishedAt.Before(&r.StartedAt) {
				no(c, "runs since %s, after a run that ended at %s", r.StartedAt, last.FinishedAt)
			}
			never := c.State.Waiting != nil && last == nil
			pending = pending || never || init && !sidecar && c.State.Running != nil || sidecar && c.State.Running != nil &&
				!*c.Started
			running = running || !init && !never
		}
	}
	if phase := pod.Status.Phase; phase == corev1.PodRunning && pending || phase == corev1.PodPending && running && !pending &&
		pod.Spec.NodeName != "" {
		all = append(all, "the phase is "+string(phase))
	}
	return all
}

// The pods and events of the inputs have the form in which components write them.
func TestInputs_written(t *testing.T) {
	for _, in := range inputs(t) {
		for _, text := range in.Documents() {
			var o struct {
				Kind, APIVersion, Reason, Type, ReportingComponent string
			}
			must(t, json.Unmarshal([]byte(text), &o))
			switch {
			case o.Kind == "Pod":
				var pod corev1.Pod
				if err := json.Unmarshal([]byte(text), &pod); err != nil {
					t.Fatalf("%s: %v", in.Title, err)
				}
				for _, what := range unwritten(&pod) {
					t.Errorf("%s/%s: %s: %s", in.File, in.Title, pod.Name, what)
				}
			case o.Kind == "Event" && o.APIVersion == "v1" && o.ReportingComponent == "":
				t.Errorf("%s/%s: no component writes the event %s %s", in.File, in.Title, o.Type, o.Reason)
			}
		}
	}
}
