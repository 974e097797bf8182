package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/failurepolicy"
)

// Failure is a failed pod and the way in which it failed.
type Failure struct {
	// Pod is the name of the pod.
	Pod string
	// At is when it finished.
	At time.Time
	// Fault says how the pod failed. It is for people.
	Fault string
	// Container is the first container that did not exit with 0, and End is how; zero if none says.
	Container string
	End       *corev1.ContainerStateTerminated
	// Match is the rule that the pod matches.
	Match failurepolicy.Match
}

// LastFailure returns the pod of the Job that failed last, by its finish time. If several
// finished at the same time, it returns the first. It is useful for Jobs that are not
// Indexed; in an Indexed Job each index has its own last failure. If no failed pod is
// known, it returns the zero Failure.
func (e Explanation) LastFailure() Failure {
	if e.facts == nil {
		return Failure{}
	}
	var last *record
	for _, r := range e.facts.pods {
		if r.Failed && r.Valid && (last == nil || r.Finish().After(last.Finish())) {
			last = r
		}
	}
	return e.FailureOf(last)
}

// FailureOf returns how a pod of the Job failed, or what its containers say if it has not failed. It is zero for nil.
func (e Explanation) FailureOf(pod *decide.PodFacts) Failure {
	if e.facts == nil || pod == nil {
		return Failure{}
	}
	return e.facts.failure(pod)
}

// failure says how a pod of the Job failed.
func (f *facts) failure(r *record) Failure {
	is := failureOf(r.Pod)
	is.Pod, is.At, is.Match = r.Pod.Name, r.Finish(), r.Match()
	if r.Lost {
		ago := duration.HumanDuration(max(0, f.Now.Sub(r.Pod.DeletionTimestamp.Time)))
		is.Fault = "its node is lost, it should have terminated " + ago + " ago, " + is.Fault
	}
	return is
}

// failureOf says how a pod failed, from its status: the reason and the message, the first container
// that did not exit with 0, now or before its last restart, and the disruption condition.
func failureOf(pod *corev1.Pod) (is Failure) {
	var exited, disrupted string
	message := strings.TrimSuffix(oneLine(pod.Status.Message), ".")
	for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		end := c.State.Terminated
		killed := pod.DeletionTimestamp != nil && c.RestartCount > 0 // whatever the deletion ended, it failed before
		if last := c.LastTerminationState.Terminated; (killed || end == nil || end.ExitCode == 0 && end.Signal == 0) &&
			pod.Status.Phase != corev1.PodSucceeded && last != nil {
			end = last
		}
		if end != nil && (end.ExitCode != 0 || end.Signal != 0) && exited == "" {
			exited = joined(": ", "container "+c.Name+", "+Exit(end)+
				textIf(c.RestartCount > 0, ", "+count(c.RestartCount, "restart")), oneLine(end.Message))
			is.Container, is.End = c.Name, end
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			why := strings.TrimSuffix(oneLine(c.Message), ".")
			disrupted = joined(": ", joined(" by ", "disrupted", c.Reason), textIf(why != message, why))
		}
	}
	is.Fault = cmp.Or(joined(", ", joined(": ", pod.Status.Reason, message), exited, disrupted),
		either(pod.DeletionTimestamp != nil, "deleted", "the pod gives no reason"))
	return is
}

// oneLine puts a message on one line.
func oneLine(message string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(message, "")), " ")
}

// signals has the names of the signals that end containers, by their number on Linux.
var signals = map[int32]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS",
	8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}

// Exit says how a container ended. Shells and runtimes report the signal n as exit code 128+n.
func Exit(end *corev1.ContainerStateTerminated) string {
	signal := signals[cmp.Or(end.Signal, end.ExitCode-128)]
	return joined(", ", fmt.Sprintf("exit code %d", end.ExitCode)+textIf(signal != "", " ("+signal+")"),
		textIf(end.Reason != "Error", end.Reason))
}
