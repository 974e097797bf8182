package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/sidecar"
)

// symptoms finds how many active pods have the same symptom, with the most common message. It
// leaves out the pods that the decision deletes.
func (f *facts) symptoms() (found []finding) {
	pods, texts := map[Code][]string{}, map[Code][]string{}
	for _, r := range f.activeInOrder() {
		if s := f.symptomOf(r.Pod); s.Code != "" && f.deleted[r.Pod.UID] == "" {
			pods[s.Code], texts[s.Code] = append(pods[s.Code], r.Pod.Name), append(texts[s.Code], s.Text)
		}
	}
	for code, affected := range pods {
		times := map[string]int{}
		for _, text := range texts[code] {
			times[text]++
		}
		common := slices.MaxFunc(texts[code], func(a, b string) int { return cmp.Compare(times[a], times[b]) })
		found = append(found, finding{pods: affected, Reason: Reason{Code: code, Text: fmt.Sprintf("%d of %s %s: %s",
			len(affected), count(f.active, "active pod"), rowOf(code).cannot, common)}})
	}
	return found
}

// symptomOf returns the first cause that keeps an active pod from starting or finishing, with
// a message; zero if there is none.
func (f *facts) symptomOf(pod *corev1.Pod) (r Reason) {
	status, node, scheduled := &pod.Status, pod.Spec.NodeName, condition(pod, corev1.PodScheduled)
	pending, created, event := status.Phase == corev1.PodPending, pod.CreationTimestamp.Time, f.events[pod.UID]
	switch {
	case f.notReady[node] != "":
		r.Code, r.Text = CauseNodeLost, f.notReady[node]
	case status.Phase == corev1.PodUnknown || status.Reason == "NodeLost":
		r.Code = CauseNodeLost
		r.Text = joined(": ", joined(", on node ", "the pod's phase is "+string(status.Phase), node), status.Message)
	case len(pod.Spec.SchedulingGates) > 0:
		var gates []string
		for _, gate := range pod.Spec.SchedulingGates {
			gates = append(gates, gate.Name)
		}
		r.Code, r.Text = CauseSchedulingGated, strings.Join(gates, ", ")
	case node == "" && scheduled.Type != "" && scheduled.Status != corev1.ConditionTrue:
		since := cmp.Or(scheduled.LastTransitionTime.Time, created)
		grows := event != nil && event.Reason == "TriggeredScaleUp" && !f.past(timeOf(event), longPatience)
		r.Code = either(grows || !since.IsZero() && !f.overdue(since), CauseNotScheduledYet, CauseUnschedulable)
		r.Text = textIf(grows, "a node is being added: ") +
			cmp.Or(scheduled.Message, scheduled.Reason, "the condition PodScheduled is not True")
	case node == "" && scheduled.Type == "" && pending && f.overdue(created):
		r.Code, r.Text = CauseNoScheduler, "schedulerName is "+
			cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
	default:
		all := slices.Concat(status.InitContainerStatuses, status.ContainerStatuses)
		crashing := all
		if slices.ContainsFunc(status.ContainerStatuses,
			func(c corev1.ContainerStatus) bool { return c.State.Running != nil }) {
			crashing = status.ContainerStatuses // the pod can finish without its sidecars
		}
		r = cmp.Or(
			waiting(all, CauseImagePull, true, "ErrImagePull", "ImagePullBackOff", "InvalidImageName",
				"ErrImageNeverPull",
				"ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"),
			waiting(all, CauseContainerConfig, true, "CreateContainerConfigError", "CreateContainerError"),
			waiting(crashing, CauseCrashLoop, true, "CrashLoopBackOff"),
			waiting(all, CauseContainerStart, false, "", "ContainerCreating", "PodInitializing", "CrashLoopBackOff"),
		)
		started := slices.ContainsFunc(all,
			func(c corev1.ContainerStatus) bool { return c.State.Running != nil || c.State.Terminated != nil })
		since := latest(created, scheduled.LastTransitionTime.Time)
		switch starting := pending && node != "" && !started; {
		case r.Code != "":
		// may be in vain
		case starting && event != nil && event.Type == corev1.EventTypeWarning &&
			event.Reason != "FailedToRetrieveImagePullSecret":
			r.Code, r.Text = CausePodStartFailing, joined(": ", event.Reason, event.Message)
		case starting && f.past(since, longPatience):
			r.Code, r.Text = CausePodStartOverdue, "no container has started on node "+node+" in "+
				duration.HumanDuration(f.now.Sub(since))
		default:
			r = f.outlasting(pod)
		}
	}
	r.Text = oneLine(r.Text)
	return r
}

// waiting finds a container that waits for one of the reasons or, if listed is false, for
// another reason than these.
func waiting(all []corev1.ContainerStatus, code Code, listed bool, reasons ...string) Reason {
	for _, c := range all {
		w, last := c.State.Waiting, c.LastTerminationState.Terminated
		if w == nil || slices.Contains(reasons, w.Reason) != listed {
			continue
		}
		text := joined(": ", "container "+c.Name, w.Reason, textIf(code != CauseCrashLoop, w.Message))
		if code == CauseCrashLoop && last != nil {
			text += " after " + exit(last)
		}
		return Reason{Code: code, Text: text}
	}
	return Reason{}
}

// outlasting finds a container that still runs although others of its pod finished long ago,
// and a sidecar that still runs after its grace period although all containers have finished.
func (f *facts) outlasting(pod *corev1.Pod) Reason {
	var last time.Time
	var running, server string
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Terminated != nil:
			last = latest(last, c.State.Terminated.FinishedAt.Time)
		case c.State.Running == nil:
			return Reason{}
		default:
			running = cmp.Or(running, c.Name)
		}
	}
	for c := range sidecar.Statuses(pod) {
		if c.State.Running != nil {
			server = cmp.Or(server, c.Name)
		}
	}
	// in seconds; the default is shorter than patience
	grace := cmp.Or(pod.Spec.TerminationGracePeriodSeconds, new(int64))
	stops := f.now.Sub(last)/time.Second < time.Duration(*grace)
	var code Code
	switch {
	case running == "" && server != "" && f.overdue(last) && !stops:
		code = CauseSidecarRunning
	case running != "" && f.past(last, longPatience):
		code = CauseContainerRunning
	default:
		return Reason{}
	}
	return Reason{Code: code, Text: "container " + cmp.Or(running, server) +
		" is still running, though the others finished " + f.ago(last)}
}

// condition returns a condition of a pod; the zero condition if the pod does not have it.
func condition(pod *corev1.Pod, kind corev1.PodConditionType) (c corev1.PodCondition) {
	if i := slices.IndexFunc(pod.Status.Conditions,
		func(c corev1.PodCondition) bool { return c.Type == kind }); i >= 0 {
		c = pod.Status.Conditions[i]
	}
	return c
}

// exit says how a container ended.
func exit(end *corev1.ContainerStateTerminated) string {
	return joined(", ", fmt.Sprintf("exit code %d", end.ExitCode), textIf(end.Reason != "Error", end.Reason))
}

// Failure is a failed pod and the way in which it failed.
type Failure struct {
	// Pod is the name of the pod.
	Pod string
	// Fault says how the pod failed. It is for people.
	Fault string
	// Match is the rule that the pod matches.
	Match failurepolicy.Match
}

// LastFailure returns the pod of the Job that failed last, by its finish time. If several
// finished at the same time, it returns the first. It is useful for Jobs that are not
// Indexed; in an Indexed Job each index has its own last failure. If no failed pod is
// known, it returns the zero Failure.
func (e Explanation) LastFailure() Failure {
	f := e.facts
	if f == nil {
		return Failure{}
	}
	var last *record
	for _, r := range f.inOrder() {
		if r.Failed && r.Valid && (last == nil || r.Finish().After(last.Finish())) {
			last = r
		}
	}
	return f.failure(last)
}

// failure says how a pod failed; it is zero without a pod.
func (f *facts) failure(r *record) Failure {
	if r == nil {
		return Failure{}
	}
	return Failure{Pod: r.Pod.Name, Fault: fault(r.Pod), Match: r.Match()}
}

// fault says how a pod failed, from its status: the reason and the message, the first container
// that did not exit with 0, and the disruption condition.
func fault(pod *corev1.Pod) string {
	var exited, disrupted string
	for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
			exited = cmp.Or(exited, joined(": ", "container "+c.Name+", "+exit(end), oneLine(end.Message)))
		}
	}
	if c := condition(pod, corev1.DisruptionTarget); c.Status == corev1.ConditionTrue {
		disrupted = joined(" by ", "disrupted", c.Reason)
	}
	return cmp.Or(joined(", ", joined(": ", pod.Status.Reason, oneLine(pod.Status.Message)), exited, disrupted),
		textIf(pod.DeletionTimestamp != nil, "deleted"), "the pod gives no reason")
}
