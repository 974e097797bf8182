package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// waiting returns the finder for a container that waits for one of the reasons, with one of the parts
// in its message.
func waiting(reasons []string, parts ...string) func(*podFacts) sign {
	return func(p *podFacts) (s sign) {
		for _, c := range p.all {
			w := c.State.Waiting
			if w == nil || !slices.Contains(reasons, w.Reason) {
				continue
			}
			text := w.Message
			if e := lastEvent(p.events, func(e *corev1.Event) bool {
				return e.Reason == "Failed" && strings.Contains(e.Message, "Failed to pull image") && c.in(e)
			}); e != nil { // the back-off hides why, in older kubelets
				s.event = e
				if !mentions(text, ": ") {
					text = joined(": ", text, strings.TrimPrefix(e.Message, "Failed to pull image "))
				}
			}
			if !mentions(text, parts...) {
				continue
			}
			s.container = c.Name
			s.text = joined(": ", c.String(), w.Reason, oneLine(text)) + p.f.exists(p.Namespace, text)
			return s
		}
		return sign{}
	}
}

// missing matches the message that an object is missing.
var missing = regexp.MustCompile(`\b(secret|configmap) "([^"]+)" not found`)

// exists says that an object which a message calls missing was given.
func (f *facts) exists(namespace, message string) string {
	m := missing.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	kind := either(m[1] == "secret", "Secret", "ConfigMap")
	return textIf(f.find(kind, namespace, m[2]) != nil, "; "+kind+" "+m[2]+" exists now")
}

// in reports whether an event is about the container.
func (c container) in(e *corev1.Event) bool {
	return e.InvolvedObject.FieldPath == "" || strings.HasSuffix(e.InvolvedObject.FieldPath, "{"+c.Name+"}")
}

var (
	imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
		"ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}
	configReasons = []string{"CreateContainerConfigError", "CreateContainerError", "PreCreateHookError"}
	crashLoop     = "CrashLoopBackOff"
	usualReasons  = []string{"", "ContainerCreating", "PodInitializing", crashLoop, restartingAll}
)

// restartingAll is the reason of a container that the kubelet has removed to restart all containers of its pod
// (KEP-5532). Its state, and then its last state, say neither how nor when it ended.
const restartingAll = "RestartingAllContainers"

// containerStart finds a container that waits for another unusual reason, or because it could not be started.
func containerStart(p *podFacts) (s sign) {
	for _, c := range p.all {
		w := c.State.Waiting
		switch {
		case w == nil || slices.Contains(imageReasons, w.Reason) || slices.Contains(configReasons, w.Reason):
		case notStarted(c.LastTerminationState.Terminated):
			return sign{text: joined(": ", c.String(), w.Reason) + p.restarts(c), container: c.Name}
		case !slices.Contains(usualReasons, w.Reason):
			return sign{text: joined(": ", c.String(), w.Reason, oneLine(w.Message)), container: c.Name}
		}
	}
	return s
}

// notStarted reports whether the runtime could not start a container, so that it has no log (containerd,
// internal/cri/server/container_start.go).
func notStarted(end *corev1.ContainerStateTerminated) bool {
	return end != nil && end.Reason == "StartError"
}

// crashing returns the finder for a container that is restarted again and again and meets a condition.
func crashing(is func(*podFacts, container) bool) func(*podFacts) sign {
	return func(p *podFacts) (s sign) {
		main := slices.ContainsFunc(p.all,
			func(c container) bool { return c.role == "container" && c.State.Running != nil })
		for _, c := range p.all {
			if main && c.role != "container" && !p.f.CountRestarts {
				continue // it is a sidecar, without which the pod can finish
			}
			w, last := c.State.Waiting, c.LastTerminationState.Terminated
			backsOff := w != nil && w.Reason == crashLoop &&
				(c.RestartCount >= 3 || last == nil || p.f.overdue(c.ended()))
			if (backsOff || p.loops(c)) && is(p, c) && !notStarted(last) {
				return sign{text: joined(": ", c.String(), textIf(w != nil, crashLoop)) + p.restarts(c),
					container: c.Name}
			}
		}
		return s
	}
}

// loops reports whether a container is restarted again and again without making progress: after
// running for ten minutes, the kubelet forgets the back-off (2 × MaxContainerBackOff).
func (p *podFacts) loops(c container) bool {
	last := c.LastTerminationState.Terminated
	if last == nil || c.RestartCount < 3 || last.FinishedAt.Sub(last.StartedAt.Time) >= longPatience ||
		last.FinishedAt.IsZero() && p.f.past(p.since, time.Duration(c.RestartCount)*longPatience) {
		return false
	}
	if running := c.State.Running; running != nil {
		return !p.f.past(running.StartedAt.Time, longPatience)
	}
	return c.State.Terminated == nil
}

// restarts says how a container has ended and was restarted.
func (p *podFacts) restarts(c container) string {
	last := c.LastTerminationState.Terminated
	times := textIf(c.RestartCount > 0, count(c.RestartCount, "restart"))
	if last == nil {
		return textIf(times != "", " after "+times)
	}
	ago := textIf(!c.ended().IsZero(), "the last run ended "+p.f.ago(c.ended()))
	return " after " + joined(": ", joined(", ", exit(last), times, ago), oneLine(last.Message))
}

// ended returns when the last run of a container ended or, if its state does not say, when the next run began.
func (c container) ended() time.Time {
	last, running := c.LastTerminationState.Terminated, c.State.Running
	if last.FinishedAt.IsZero() && running != nil {
		return running.StartedAt.Time
	}
	return last.FinishedAt.Time
}

func anyContainer(*podFacts, container) bool { return true }

func outOfMemory(_ *podFacts, c container) bool {
	last := c.LastTerminationState.Terminated
	return last != nil && last.Reason == "OOMKilled"
}

func restartsByRule(p *podFacts, c container) bool { return p.rule(c) != "" }

func onInit(_ *podFacts, c container) bool { return c.role == "init container" }

// rule returns the restart rule of a container that the last exit code matches (KEP-5307, KEP-5532);
// empty if there is none.
func (p *podFacts) rule(c container) string {
	last := c.LastTerminationState.Terminated
	if last == nil {
		return ""
	}
	for _, of := range p.t.containers() {
		name := of.text("name")
		for i, r := range of.list("restartPolicyRules") {
			values, _ := r.at("exitCodes")["values"].([]any)
			in := slices.ContainsFunc(values, func(v any) bool { return fmt.Sprint(v) == fmt.Sprint(last.ExitCode) })
			operator, action := r.text("exitCodes", "operator"), r.text("action")
			all := last.Reason == restartingAll && action == "RestartAllContainers"
			if all || name == c.Name && (operator == "In" && in || operator == "NotIn" && !in) {
				return fmt.Sprintf("restartPolicyRules[%d]%s (%s on exit codes %s %v)", i,
					textIf(all, " of container "+name), action, operator, values)
			}
		}
	}
	return ""
}

// ruleLoop finds a container that a restart rule restarts forever.
func ruleLoop(p *podFacts) (s sign) {
	s = crashing(restartsByRule)(p)
	for _, c := range p.all {
		if c.Name == s.container && s.text != "" {
			s.text += "; " + p.rule(c) + " restarts it, and no limit counts that"
		}
	}
	return s
}

// allRestarting finds a pod all of whose containers have been restarting for long (KEP-5532).
func allRestarting(p *podFacts) (s sign) {
	c := condition(p.Pod, "AllContainersRestarting")
	if c.Status != corev1.ConditionTrue || !p.f.overdue(c.LastTransitionTime.Time) {
		return s
	}
	s.text = joined(": ", "all containers have been restarting "+p.f.lasting(c.LastTransitionTime.Time),
		oneLine(c.Message))
	for _, c := range p.all {
		if s.container == "" && c.LastTerminationState.Terminated != nil {
			s.container = c.Name
		}
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
			s.container, s.text = c.Name, s.text+"; "+c.String()+", "+exit(end)
			break
		}
	}
	return s
}

// probeFailing finds a container that does not start, or is restarted, because of its probe
// (pkg/kubelet/prober/prober.go).
func probeFailing(p *podFacts) (s sign) {
	e := lastEvent(p.events, func(e *corev1.Event) bool {
		return e.Reason == "Unhealthy" && mentions(e.Message, "Startup probe", "Liveness probe") ||
			e.Reason == "Killing" && mentions(e.Message, "failed liveness probe", "failed startup probe")
	})
	for _, c := range p.all {
		if e != nil && p.mayRetry(c, e) {
			e = nil
		}
		started := c.Started != nil && *c.Started
		again := c.RestartCount > 0 && c.LastTerminationState.Terminated != nil &&
			!p.f.past(c.ended(), longPatience)
		switch {
		case e != nil && c.in(e) && (!started && c.State.Running != nil || again) && c.State.Terminated == nil:
			text := joined(": ", c.String(), oneLine(e.Message)) + textIf(c.RestartCount > 0, ";"+p.restarts(c))
			return sign{text: text, container: c.Name, event: e}
		case c.role == "sidecar" && c.Started != nil && !started && c.State.Running != nil &&
			(c.RestartCount >= 3 || p.f.past(c.State.Running.StartedAt.Time, longPatience)):
			return sign{text: c.String() + " has not started since " + p.f.clock(c.State.Running.StartedAt.Time) +
				p.restarts(c), container: c.Name}
		}
	}
	return s
}

// mayRetry reports whether the startup probe of a container in its first run has failed, and may still succeed.
func (p *podFacts) mayRetry(c container, e *corev1.Event) bool {
	if !c.in(e) || e.Reason != "Unhealthy" || !mentions(e.Message, "Startup probe") || c.RestartCount > 0 {
		return false
	}
	own, job := &p.Spec, &p.f.Job.Spec.Template.Spec
	for _, of := range slices.Concat(own.Containers, own.InitContainers, job.Containers, job.InitContainers) {
		if probe := of.StartupProbe; of.Name == c.Name && probe != nil {
			return momentOf(e).Count < int(cmp.Or(probe.FailureThreshold, 3))
		}
	}
	return false
}

// unready finds a container that is not ready, of a pod whose readiness others wait for.
func unready(p *podFacts) (s sign) {
	ready := condition(p.Pod, corev1.PodReady)
	if !p.f.mustBeReady() || ready.Status != corev1.ConditionFalse ||
		!p.f.past(ready.LastTransitionTime.Time, longPatience) {
		return s
	}
	e := lastEvent(p.events, func(e *corev1.Event) bool {
		return e.Reason == "Unhealthy" && mentions(e.Message, "Readiness probe")
	})
	for _, c := range p.all {
		if c.State.Running != nil && !c.Ready {
			s = sign{text: c.String() + " has not been ready since " + p.f.clock(ready.LastTransitionTime.Time),
				container: c.Name}
			if e != nil && c.in(e) {
				s.text, s.event = s.text+": "+oneLine(e.Message), e
			}
			return s
		}
	}
	return s
}

// restarted finds a container that was restarted recently, and may recover.
func restarted(p *podFacts) (s sign) {
	for _, c := range p.all {
		last := c.LastTerminationState.Terminated
		if c.RestartCount > 0 && last != nil && c.role != "sidecar" && c.State.Terminated == nil &&
			!p.f.past(c.ended(), longPatience) && last.FinishedAt.Sub(last.StartedAt.Time) < longPatience {
			return sign{text: c.String() + p.restarts(c), container: c.Name}
		}
	}
	return s
}
