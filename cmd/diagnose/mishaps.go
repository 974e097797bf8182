package diagnose

import (
	"cmp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/explain"
)

// mishap is a way in which a pod failed that makes a Job fail, or whose replacement waits.
type mishap struct {
	means  string // completes "the Job has failed, and …"
	advice string
	is     func(*facts, *found) bool
}

// ownStorage lists what the kubelet says of a pod that has exceeded its own limits (pkg/kubelet/eviction/helpers.go).
var ownStorage = []string{"ephemeral storage limit", "total limit of containers", "exceeds the limit"}

// tooLong reports whether the Job has reached its deadline, and no pod kept failing in a way of which something is
// known.
func tooLong(f *facts, c *found) bool {
	known := c.failing && (c.clue.saying != nil || c.clue.of != "")
	return f.failureReason() == batchv1.JobReasonDeadlineExceeded && !known
}

// shows returns the condition that the message of a container, or what sets its failure apart, shows something.
func shows(of string) func(*facts, *found) bool {
	return func(_ *facts, c *found) bool { return c.clue.of == of || c.differs.of == of }
}

// ofGone returns the condition that the pods are gone, and that one of their events says how they ended.
func ofGone(is func(*corev1.Event) bool) func(*facts, *found) bool {
	return func(_ *facts, c *found) bool { return c.pod == "" && c.gone != nil && is(c.gone) }
}

// mishaps lists the ways in the order of their rank.
var mishaps = slices.Concat([]mishap{
	{"a container was killed, because its node was out of memory",
		"Raise the memory request of container CONTAINER to what it uses, so that it gets a node with as much; a " +
			"higher limit does not help.",
		func(_ *facts, c *found) bool { return c.systemOOM }},
	{"a probe made the kubelet kill a container",
		"Give the probe more time (failureThreshold, periodSeconds, timeoutSeconds), or fix what it checks.",
		func(_ *facts, c *found) bool { return c.probed }},
	{"a container without a memory limit was out of memory",
		"The pod template gives container CONTAINER no memory limit: unless a LimitRange does, node NODE was out of " +
			"memory. Set a memory request and limit for what it uses. " + logAdvice,
		func(f *facts, c *found) bool {
			return outOfMemory(c.signs.End) && f.memoryLimit(f.podNamed(c.pod), c.container) == noLimit
		}},
	{"a container was out of memory", "Raise MEMORY, or make it use less. " + logAdvice,
		func(_ *facts, c *found) bool { return outOfMemory(c.signs.End) }},
	{"the kubelet evicted the pod for what others used",
		"Look at what uses up node NODE: what counts as this pod's own is hardly any of it. With a rule of " +
			"spec.podFailurePolicy that ignores DisruptionTarget, this is no failure.",
		func(_ *facts, c *found) bool { return c.signs.evicted && innocent(c.signs.Fault) }},
	{"the kubelet evicted the pod, because the node was short of something",
		"Raise the request of the resource that the message names to what container CONTAINER uses, so that it gets " +
			"a node that has it, or use less of it.",
		func(_ *facts, c *found) bool {
			return c.signs.evicted && mentions(c.signs.Fault, "low on resource: memory", "low on resource: ephemeral")
		}},
	{"the kubelet evicted the pod, which used more than its own limit",
		"Raise the limit that the message names (limits of ephemeral-storage, or sizeLimit of the emptyDir), and a " +
			"request with it; or let container CONTAINER write less there.",
		func(_ *facts, c *found) bool { return c.signs.evicted && mentions(c.signs.Fault, ownStorage...) }},
	{"the kubelet evicted the pod",
		"Let container CONTAINER use less of what the message names, or look at what else uses up node NODE.",
		func(_ *facts, c *found) bool { return c.signs.evicted }},
	{"the kubelet ended the pod at the pod's own deadline",
		"Raise activeDeadlineSeconds of the pod template, or see what took long: kubectl logs -n NAMESPACE POD.",
		func(_ *facts, c *found) bool { return c.signs.late && c.signs.done == "" }},
	{"the pod was disrupted, and a rule that ignores this comes late",
		"A later rule of spec.podFailurePolicy ignores DisruptionTarget, but the first rule that matches a pod " +
			"decides: put that rule first.",
		func(_ *facts, c *found) bool { return c.signs.disrupted && c.signs.hidden }},
	{"the pod was disrupted",
		"With a rule of spec.podFailurePolicy that ignores DisruptionTarget, this is no failure.",
		func(_ *facts, c *found) bool { return c.signs.disrupted }},
	{"the kubelet was started again, and has rejected the pod then",
		"See why node NODE, or its kubelet, was started again: what the pod needs was not there yet at that moment. " +
			"What the pod had done is lost, unless it has saved it. With a higher spec.backoffLimit a new pod starts.",
		func(_ *facts, c *found) bool { return c.signs.rejected && c.signs.lost != "" }},
	{"a container was lost with its node or its runtime",
		"Look at node NODE, which was rebooted, or whose container runtime was restarted: the exit code says nothing " +
			"of the program. A rule that ignores disruptions does not cover this.",
		func(_ *facts, c *found) bool { return c.signs.lost != "" }},
	{"a container looks for a file that a ConfigMap or Secret does not have there",
		"Correct the path or the subPath in the pod template, or add the key to OBJECT.", shows("file")},
	{"a container needs a newer driver than the node has",
		"Use an image for the driver of node NODE, which the message names, or update the driver.",
		func(_ *facts, c *found) bool {
			return notStarted(c.signs.End) && mentions(c.signs.End.Message, "please update your driver")
		}},
	{"a command is one string, though it has several words",
		"Write each word of the command of container CONTAINER as an element of its own, or let a shell run it: " +
			"[sh, -c, ...].",
		func(_ *facts, c *found) bool { return notStarted(c.signs.End) && spaced.MatchString(c.message) }},
	{"a container could not be started, because its image does not have what the command names",
		"Correct the command of container CONTAINER, or use an image that has what it names: see whether the image " +
			"has changed. It has not run, so it has no log.",
		func(_ *facts, c *found) bool {
			return notStarted(c.signs.End) && mentions(c.signs.End.Message, "no such file", "file not found")
		}},
	{"a container could not be started",
		"Check the command of container CONTAINER (its user must be able to execute the file: chmod +x in the " +
			"image), its security context and its mounts. It has not run, so it has no log.",
		func(_ *facts, c *found) bool { return notStarted(c.signs.End) }},
	{"no pod was created before its deadline", "Fix what the event names: the deadline is not at fault.",
		ofGone(reasonIs("FailedCreate"))},
	{"its pods, which are gone, had no node with what they request",
		"Add nodes, lower the requests, or run it when what takes up the nodes has ended.",
		ofGone(func(e *corev1.Event) bool {
			return e.Reason == "FailedScheduling" && mentions(e.Message, "Insufficient ")
		})},
	{"its pods, which are gone, had no node",
		"Add nodes, lower the requests, or fix the affinity, the tolerations or the volumes that the event names.",
		ofGone(reasonIs("FailedScheduling"))},
	{"a probe killed containers of its pods, which are gone",
		"Give the probe more time (failureThreshold, periodSeconds, timeoutSeconds), or fix what it checks.",
		ofGone(killedByProbe)},
	{"containers of its pods, which are gone, were restarted again and again",
		"The logs are gone with the pods: restartPolicy Never keeps both when the Job fails. Look for them where " +
			"logs are collected.", ofGone(containerBacksOff)},
	{"its pods, which are gone, were evicted from a node that was taken away",
		"Use nodes that stay: of a node that is interrupted (spot), expired or repaired, no annotation keeps a pod. " +
			"With a rule of spec.podFailurePolicy that ignores DisruptionTarget, this is no failure, and a new pod " +
			"starts.",
		// Karpenter says "Forceful Termination" of a node that is interrupted.
		ofGone(func(e *corev1.Event) bool { return mentions(e.Message, "Forceful Termination", "Spot") })},
	{"its pods, which are gone, were evicted from a node that an autoscaler removed",
		"Keep the node while the pod runs: annotations cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\" and " +
			"karpenter.sh/do-not-disrupt: \"true\" in the pod template. With a rule of spec.podFailurePolicy that " +
			"ignores DisruptionTarget, this is no failure, and a new pod starts.",
		ofGone(func(e *corev1.Event) bool { return disrupts(e) && reasonIs("Evicted", scaleDown)(e) })},
	{"its pods, which are gone, were disrupted, and no rule ignores that",
		"With a rule of spec.podFailurePolicy that ignores DisruptionTarget, this is no failure.",
		func(f *facts, c *found) bool {
			return c.pod == "" && c.gone != nil && disrupts(c.gone) && f.Job.Spec.PodFailurePolicy == nil
		}},
	{"its pods, which are gone, were deleted on a node that is cordoned",
		"The node was being emptied, as kubectl drain or an upgrade of the nodes does. With a rule of " +
			"spec.podFailurePolicy that ignores DisruptionTarget, this is no failure, and a new pod starts.",
		func(f *facts, c *found) bool {
			return ofGone(reasonIs("Killing"))(f, c) && mentions(f.left(c.gone, nil), "is cordoned")
		}},
	{"its pods, which are gone, were deleted while they ran",
		"Find out who deletes pods: a user, a drain of the node, or an autoscaler. A pod that is deleted while it " +
			"runs counts as failed.", ofGone(reasonIs("Killing"))},
	{"the kubelet evicted its pods, which are gone",
		"Raise the request or the limit of the resource that the message names, or use less of it.",
		ofGone(reasonIs("Evicted"))},
	{"its pods, which are gone, could not have a volume that another pod had",
		"The deadline is not at fault. " + volumeShareAdvice, ofGone(func(e *corev1.Event) bool {
			return e.Reason == "FailedAttachVolume" && mentions(e.Message, volumeInUse...)
		})},
	{"its pods, which are gone, did not start",
		"Fix what the event names. All events of the pods: " + namespaceEvents,
		ofGone(anyEvent)},
	{"it reached its deadline, and its pods had failed until then",
		"Its pods failed by themselves until the deadline. " + logAdvice,
		func(f *facts, c *found) bool { return tooLong(f, c) && c.failing }},
	{"it reached its deadline, which is too short at the pace of the pods that have succeeded",
		"Raise spec.parallelism, so that more pods run at once, or spec.activeDeadlineSeconds.",
		func(f *facts, c *found) bool { return tooLong(f, c) && f.pace() != "" }},
	{"it reached its deadline, and its pod, which is gone, had waited for a node for most of the time",
		"Add nodes, lower the requests, or start it when there is room: for what it does, the deadline may be long " +
			"enough.", func(f *facts, c *found) bool {
			_, most := f.spent()
			return tooLong(f, c) && most == "node" && c.pod == ""
		}},
	{"it reached its deadline, and pulling the image of its pod, which is gone, took most of the time",
		"Make the image smaller, or have it near or on the nodes before (a mirror, a cache), or raise " +
			"spec.activeDeadlineSeconds by what the pull takes: what it does got little of the time.",
		func(f *facts, c *found) bool {
			_, most := f.spent()
			return tooLong(f, c) && most == "image" && c.pod == ""
		}},
	{"it reached its deadline, and nothing given shows that a pod has run",
		NotKnown + ", before you raise spec.activeDeadlineSeconds: " + namespaceEvents,
		func(f *facts, c *found) bool { return tooLong(f, c) && !f.ran() }},
	{"it reached its deadline",
		"See what took long before you raise spec.activeDeadlineSeconds. The logs of the pods that were deleted are " +
			"gone with them: look where logs are collected.",
		tooLong},
	{"a pod succeeded with another image of the same name",
		"Compare the two images: the tag was pushed again. A digest in place of the tag keeps the image as it is. " +
			logAdvice, shows("image")},
	{"pods succeed with the same image on nodes of another architecture",
		"See whether the image is built for the architecture of node NODE: docker manifest inspect. If it is not, " +
			"select the other nodes (nodeSelector kubernetes.io/arch). " + logAdvice, shows("architecture")},
	{"all pods that failed with an image ran on one node, and those that succeeded on others",
		"Look at what sets node NODE apart: its network, zone, disk and software. " + logAdvice, shows("node")},
	{"a container failed beside one that had succeeded",
		"See what the container that succeeded has done, before it runs again. If container CONTAINER only serves " +
			"it, make it a sidecar: an init container with restartPolicy Always, whose exit code does not count.",
		func(_ *facts, c *found) bool { return c.container != "" && c.signs.done != "" }},
	{"a container could not write, because its root file system is read-only",
		"Give container CONTAINER a volume where it writes, such as an emptyDir at /tmp: its root file system is " +
			"read-only (readOnlyRootFilesystem).",
		func(f *facts, c *found) bool { return f.readOnly(c.container, c.message) }},
	{"a container may not use a file, as the user that OpenShift gives it",
		"OpenShift runs container CONTAINER as a user without a name, in group 0: give that group the rights in the " +
			"image (chgrp -R 0, chmod -R g=u), or mount an emptyDir where it writes.",
		func(f *facts, c *found) bool {
			pod := cmp.Or(f.podNamed(c.pod), &corev1.Pod{})
			restricted := strings.HasPrefix(pod.Annotations["openshift.io/scc"], "restricted")
			return restricted && notAllowed.MatchString(c.message)
		}},
	{"a container may not write to a volume, and the template has no fsGroup",
		"Set securityContext.fsGroup of the pod template to a group of container CONTAINER, so that it may write to " +
			"the volume.",
		func(f *facts, c *found) bool { return f.notItsGroup(c.container, c.message) }},
	{"the command timeout ended a program",
		"124 is what the command timeout returns: the program did not end in the time that the command gives it. " +
			logAdvice,
		func(_ *facts, c *found) bool { return c.signs.End != nil && c.signs.End.ExitCode == 124 }},
	{"a container used up its heap, which an option limits",
		"Raise that option in the pod template, and the memory limit of container CONTAINER only if the two together " +
			"do not fit: more memory alone does not help.", shows("heap")},
	{"a container has the variable of a Service in place of its own",
		"Set enableServiceLinks to false in the pod template, or set the variable there, or name it otherwise.",
		shows("link")},
	{"a container called a server that has come up since", "What it called is up by now: nothing else must be mended.",
		shows("recovered")},
	{"a container calls a server that is not up",
		"See first to OBJECT (kubectl describe): the Job calls it.", shows("server")},
	{"a container says that a pod holds a lock, and the pod has ended",
		"The pod that took the lock has ended: see that nothing else uses what it locks, and break the lock." +
			wholeLog,
		func(f *facts, c *found) bool {
			ended := mentions(f.mentioned(c.message)+" ", "is Failed ", "is Succeeded ")
			return ended && c.clue.saying != nil && c.clue.saying.means == lockHeld
		}},
	{"a container lacks a variable",
		"Set the variable in the pod template under the name that the message has, or add its key to the object that " +
			"it comes from.", shows("variable")},
	{"a container could not resolve the name of a Service that is not among those given",
		"Give it the name of a Service that exists, where that is set, or create the Service again: kubectl get " +
			"services." + wholeLog, shows("service")},
	{"an argument has what only a shell replaces",
		"Let a shell run the command: command [sh, -c], and the whole command line as the one argument.",
		shows("shell")},
}, said(), []mishap{
	{"a container says how, in a message that has a value of a ConfigMap",
		"If that value is wrong, correct it in OBJECT: pods read it when they start. Else fix what the message says." +
			wholeLog,
		func(_ *facts, c *found) bool { return c.clue.of == "value" && c.clue.object != "" }},
	{"a container says how, in a message",
		"Fix what it says." + wholeLog,
		func(_ *facts, c *found) bool {
			end := c.signs.End // of a program that ended by itself: what was said before a signal is no cause
			return c.container != "" && end != nil && !strings.Contains(explain.Exit(end), "SIG") &&
				strings.TrimSpace(end.Message) != ""
		}},
	{"a container says how", logAdvice, func(_ *facts, c *found) bool { return c.container != "" }},
	{"the kubelet has rejected the pod",
		"The pod has not run, so it has no log. Fix what the message names, or look at node NODE.",
		func(_ *facts, c *found) bool { return c.signs.rejected }},
	{"the pod was deleted while it ran",
		"Find out who deletes pods: a user, or a drain of node NODE. A pod that is deleted while it runs counts as " +
			"failed.",
		func(_ *facts, c *found) bool { return c.signs.deleted }},
	{"no container says how", eventsAdvice, func(*facts, *found) bool { return true }},
})

const (
	// NotKnown begins the advice on a Job of whose pods nothing is known.
	NotKnown        = "Find out whether its pods have run"
	logAdvice       = "Read its log: kubectl logs -n NAMESPACE POD -c CONTAINER."
	namespaceEvents = "kubectl get events -n NAMESPACE."
	eventsAdvice    = "Read the events, which are kept for an hour: " + namespaceEvents
	leftAdvice      = "kubectl get pods -n NAMESPACE -l job-name=JOB. Its events are gone: look where logs are stored."
)

// failedRows returns a row for each mishap of a Job that has failed.
func failedRows() (rows []row) {
	for _, m := range mishaps {
		rows = append(rows, row{code: "Failed", attention: AttentionLost, group: groupEnd,
			means: "the Job has failed, and " + m.means, advice: m.advice + " RERUN", job: func(f *facts) found {
				if c := f.failure; c.text != "" && m.is(f, &c) {
					return c
				}
				return found{}
			}})
	}
	return rows
}

// adviceOn returns the advice on the way in which a pod failed.
func (f *facts) adviceOn(c *found) string {
	return mishaps[slices.IndexFunc(mishaps, func(m mishap) bool { return m.is(f, c) })].advice
}
