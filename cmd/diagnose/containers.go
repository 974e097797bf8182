package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/explain"
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
			s.text = joined(": ", c.String(), w.Reason, oneLine(steps.ReplaceAllString(text, ""))) +
				p.f.exists(p.Namespace, text) + withoutSecrets(text, p.events) +
				textIf(slices.Contains(imageReasons, w.Reason), p.f.pulled(c.Image))
			return s
		}
		return sign{}
	}
}

// missing matches the message that an object is missing.
var missing = regexp.MustCompile(`\b(secret|configmap) "([^"]+)" not found`)

// keyless matches the message that an object lacks a key.
var keyless = regexp.MustCompile(`couldn't find key \S+ in (Secret|ConfigMap) [^/ ]+/([^ ]+)`)

// keyOfOwner finds that a Secret which a controller makes lacks a key.
func keyOfOwner(p *podFacts) sign {
	s := waiting(configReasons, "couldn't find key")(p)
	return either(strings.HasSuffix(s.text, undone), s, sign{})
}

// undone is said of an object that a controller makes.
const undone = " makes it, and may undo what others write there"

// exists says that an object which a message calls missing was given, and which keys an object has.
func (f *facts) exists(namespace, message string) string {
	if m := keyless.FindStringSubmatch(message); m != nil {
		o := f.find(m[1], namespace, m[2])
		has, by := keysOf(o), append(o.list("metadata", "ownerReferences"), nil)[0]
		maker := joined(" ", by.text("kind"), by.text("name"))
		for label := range o.at("metadata", "labels") {
			if maker == "" && strings.HasPrefix(label, "reconcile.external-secrets.io/") {
				maker = "an ExternalSecret"
			}
		}
		return textIf(len(has) > 0, "; it has "+list(has)) + textIf(maker != "", "; "+maker+undone)
	}
	m := missing.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	kind := either(m[1] == "secret", "Secret", "ConfigMap")
	now := "; " + kind + " " + m[2] + " exists now"
	return either(f.find(kind, namespace, m[2]) != nil, now, f.unmade(key{kind, namespace, m[2]}))
}

// unmade says which object given makes what is missing, and why it has not; empty if none is.
func (f *facts) unmade(missing key) string {
	o := f.making[missing]
	if o == nil {
		return ""
	}
	ready := o.condition("Ready")
	for _, part := range f.objects { // such as the CertificateRequest of a Certificate
		if is := part.condition("Ready"); part.isOwnedBy(o.uid()) && is.text("status") == "False" {
			ready = is
		}
	}
	return "; " + o.name() + notMade + textIf(ready.text("status") == "False", ": "+
		joined(": ", ready.text("reason"), oneLine(ready.text("message"))))
}

// notMade is said of an object that should make a Secret which is missing.
const notMade = ", which makes it, has not"

// ofMaker finds that a Secret is missing which an object that is given makes.
func ofMaker(p *podFacts) sign {
	s := missingObject(p)
	return either(mentions(s.text, notMade), s, sign{})
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
			return sign{text: joined(": ", c.String(), w.Reason) + p.restarts(c) +
				p.f.notExecutable(c.Name, c.LastTerminationState.Terminated), container: c.Name}
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

// denied matches the file that a runtime may not execute.
var denied = regexp.MustCompile(`exec: "(/[^"]+)": permission denied`)

// notExecutable says that a container would execute a file of a ConfigMap or Secret, whose files are not executable.
func (f *facts) notExecutable(container string, end *corev1.ContainerStateTerminated) string {
	m := denied.FindStringSubmatch(cmp.Or(end, &corev1.ContainerStateTerminated{}).Message)
	c := f.containerNamed(container)
	if m == nil || c == nil {
		return ""
	}
	for _, mount := range c.VolumeMounts {
		v, mode := f.volumeNamed(mount.Name), int32(0o644)
		switch {
		case v.ConfigMap != nil && v.ConfigMap.Items == nil:
			mode = *cmp.Or(v.ConfigMap.DefaultMode, &mode)
		case v.Secret != nil && v.Secret.Items == nil:
			mode = *cmp.Or(v.Secret.DefaultMode, &mode)
		default: // an item has a mode of its own
			continue
		}
		if mode&0o111 == 0 && isIn(m[1], mount) {
			return "; the files of volume " + mount.Name + " are not executable: set its defaultMode to 0755, or " +
				"let a shell run the file"
		}
	}
	return ""
}

// containerNamed returns a container of the template; nil if it has none of the name.
func (f *facts) containerNamed(name string) *corev1.Container {
	spec := &f.Job.Spec.Template.Spec
	c := firstOf(slices.Concat(spec.Containers, spec.InitContainers),
		func(c corev1.Container) bool { return c.Name == name })
	return either(c.Name != "", &c, nil)
}

// volumeNamed returns a volume of the template; zero if it has none of the name.
func (f *facts) volumeNamed(name string) corev1.Volume {
	return firstOf(f.Job.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
}

// readOnly reports whether a container says that it cannot write, and its root file system is read-only.
func (f *facts) readOnly(container, message string) bool {
	c := f.containerNamed(container)
	return c != nil && c.SecurityContext != nil && *cmp.Or(c.SecurityContext.ReadOnlyRootFilesystem, new(bool)) &&
		mentions(message, "Read-only file system", "read-only file system", "No usable temporary directory")
}

// notAllowed matches a path that a program may not write to.
var notAllowed = regexp.MustCompile(`[Pp]ermission denied:? '?(/[^'\s:]*)|(/[^'\s:]+)'?:? [Pp]ermission denied`)

// notItsGroup reports whether a container says that it may not write to a volume of a claim, and the template does not
// give the volume to a group.
func (f *facts) notItsGroup(container, message string) bool {
	m, c, spec := notAllowed.FindStringSubmatch(message), f.containerNamed(container), &f.Job.Spec.Template.Spec
	if m == nil || c == nil || spec.SecurityContext != nil && spec.SecurityContext.FSGroup != nil {
		return false
	}
	return slices.ContainsFunc(c.VolumeMounts, func(mount corev1.VolumeMount) bool {
		return strings.HasPrefix(m[1]+m[2], mount.MountPath) && f.volumeNamed(mount.Name).PersistentVolumeClaim != nil
	})
}

// crashing returns the finder for a container that is restarted again and again and meets a condition.
func crashing(is func(*podFacts, container) bool) func(*podFacts) sign {
	return func(p *podFacts) (s sign) {
		main := slices.ContainsFunc(p.all,
			func(c container) bool { return c.role == "container" && c.State.Running != nil })
		for _, c := range p.all {
			if main && c.role != "container" && !p.f.countsRestarts() {
				continue // it is a sidecar, without which the pod can finish
			}
			w, last := c.State.Waiting, c.LastTerminationState.Terminated
			backsOff := w != nil && w.Reason == crashLoop &&
				(c.RestartCount >= 3 || last == nil || p.f.overdue(c.ended()))
			if (backsOff || p.loops(c)) && is(p, c) && !notStarted(last) {
				of := cmp.Or(p.f.containerNamed(c.Name), &corev1.Container{})
				return sign{text: joined("; ", joined(": ", c.String(), textIf(w != nil, crashLoop))+p.restarts(c),
					textIf(outOfMemory(last), heapOption(of))),
					container: c.Name, says: cmp.Or(last, &corev1.ContainerStateTerminated{}).Message}
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
	return " after " + joined(": ", joined(", ", explain.Exit(last), times, ago), oneLine(essence(last.Message)))
}

// ended returns when the last run of a container ended or, if its state does not say, when the next run began.
func (c container) ended() time.Time {
	last, running := c.LastTerminationState.Terminated, c.State.Running
	if last.FinishedAt.IsZero() && running != nil {
		return running.StartedAt.Time
	}
	return last.FinishedAt.Time
}

// helper is a container that serves others, with who injects it, if anybody does, and how it can be ended.
type helper struct{ prefix, who, ends string }

var helpers = []helper{
	{"istio-", "Istio", "pilot-agent request POST quitquitquit, run in it, ends it. For later Jobs set annotation " +
		"sidecar.istio.io/nativeSidecar: \"true\" in the pod template (Istio 1.24 or later): it then " +
		"ends with them. With label sidecar.istio.io/inject: \"false\" they have none."},
	{"linkerd-", "Linkerd", "For later Jobs set annotation config.beta.linkerd.io/proxy-enable-native-sidecar: " +
		"\"true\" in the pod template: it then ends with them."},
	{"vault-agent", "the Vault agent injector", "For later Jobs set annotation " +
		"vault.hashicorp.com/agent-pre-populate-only: \"true\" in the pod template: it then runs at the start alone."},
	{"cloud-sql-proxy", "", "If its arguments have --quitquitquit, POST /quitquitquit at its port 9091 (kubectl " +
		"port-forward) ends it: let the last command of later Jobs call that, or make it a sidecar: an init " +
		"container with restartPolicy Always."},
	{"consul-", "Consul", ""},
	{"daprd", "Dapr", "POST /v1.0/shutdown at its port 3500 (kubectl port-forward) ends it: let the last command of " +
		"later Jobs call that."},
	{"gke-gcsfuse-", "the Cloud Storage FUSE driver of GKE", ""},
}

// helperNamed returns the helper that has the name of a container; zero if none has.
func helperNamed(container string) helper {
	return firstOf(helpers, func(h helper) bool { return strings.HasPrefix(container, h.prefix) })
}

// injected says that a container is not of the pod template, and who has added it; empty if the template has it.
func (f *facts) injected(container string) string {
	if container == "" || len(f.Job.Spec.Template.Spec.Containers) == 0 || f.containerNamed(container) != nil {
		return ""
	}
	h := helperNamed(container)
	return "The pod template has no container " + container + ": it is injected by " +
		cmp.Or(h.who, "an admission webhook") + textIf(h.ends == "" || h.who == "", ", so change it there") + "."
}

// fieldOf matches a container in the path of a field.
var fieldOf = regexp.MustCompile(`spec\.(initContainers|containers)\[(\d+)\]`)

// unsafe matches the first container that PodSecurity names.
var unsafe = regexp.MustCompile(`violates PodSecurity .*?containers? "([^"]+)"`)

// injectedAt says that a pod is rejected for a container which the template does not have.
func (f *facts) injectedAt(message string) string {
	m := fieldOf.FindStringSubmatch(message)
	if m == nil {
		return f.injected(slices.Concat(unsafe.FindStringSubmatch(message), []string{"", ""})[1])
	}
	n, _ := strconv.Atoi(m[2])
	spec := &f.Job.Spec.Template.Spec
	has := either(m[1] == "containers", len(spec.Containers), len(spec.InitContainers))
	return textIf(n >= has && len(spec.Containers) > 0, "The pod template has no "+m[1]+"["+m[2]+
		"]: it is injected by an admission webhook, so change it there.")
}

func anyContainer(*podFacts, container) bool { return true }

// withMessage reports whether the last run of a container has left a message.
func withMessage(_ *podFacts, c container) bool {
	last := c.LastTerminationState.Terminated
	return last != nil && strings.TrimSpace(last.Message) != ""
}

func outOfMemory(end *corev1.ContainerStateTerminated) bool {
	return end != nil && end.Reason == "OOMKilled"
}

func wasOutOfMemory(_ *podFacts, c container) bool {
	return outOfMemory(c.LastTerminationState.Terminated)
}

// withoutLimit reports whether a container that was out of memory has no limit, so that its node or something above
// the pod was.
func withoutLimit(p *podFacts, c container) bool {
	return wasOutOfMemory(p, c) && p.f.memoryLimit(p.Pod, c.Name) == noLimit
}

// noLimit says that the template gives neither the pod nor its container a memory limit.
const noLimit = "none"

// memoryLimit names the memory limit of a container, with its value if it is known. It returns noLimit if the template
// has none, and the kubelet does not report one, which a LimitRange may have set.
func (f *facts) memoryLimit(pod *corev1.Pod, name string) string {
	pod = cmp.Or(pod, &corev1.Pod{})
	for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		limit := cmp.Or(c.Resources, &corev1.ResourceRequirements{}).Limits.Memory()
		if c.Name == name && !limit.IsZero() {
			return "the memory limit (" + limit.String() + ") of container " + name
		}
	}
	spec, defaults := &f.Job.Spec.Template.Spec, pod.Annotations["kubernetes.io/limit-ranger"]
	if all := cmp.Or(spec.Resources, &corev1.ResourceRequirements{}).Limits.Memory(); !all.IsZero() {
		return "the memory limit of the pod (" + all.String() + ")"
	}
	for _, of := range slices.Concat(spec.Containers, spec.InitContainers) {
		limit := of.Resources.Limits.Memory()
		switch {
		case of.Name != name:
		case limit.IsZero() && strings.Contains(defaults, "memory limit for container "+name):
			set := firstOf(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
			limit = set.Resources.Limits.Memory()
			says := cmp.Or(textIf(!limit.IsZero(), limit.String()), f.defaultLimit())
			return "the memory limit" + textIf(says != "", " ("+says+")") + " of container " + name +
				", which a LimitRange sets unless the template does"
		case limit.IsZero():
			return noLimit
		default:
			return "the memory limit (" + limit.String() + ") of container " + name
		}
	}
	return "the memory limit of container " + either(plainName.MatchString(name), name, "CONTAINER")
}

// defaultLimit returns the memory limit that a LimitRange of the namespace sets; empty if none is given.
func (f *facts) defaultLimit() (limit string) {
	for _, o := range f.objects {
		if o.text("kind") == "LimitRange" && o.text("metadata", "namespace") == f.Job.Namespace {
			for _, item := range o.list("spec", "limits") {
				limit = cmp.Or(limit, item.text("default", "memory"))
			}
		}
	}
	return limit
}

// inMemory reports whether the template has an emptyDir of medium Memory.
func (f *facts) inMemory() bool {
	return slices.ContainsFunc(f.Job.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory
	})
}

// killedAsFailed returns the event by which the kubelet killed a container of a failed pod, because a probe had failed;
// nil if there is none.
func (f *facts) killedAsFailed(r *record) *corev1.Event {
	fault := f.faultOf(r)
	return lastEvent(f.events[r.Pod.UID], func(e *corev1.Event) bool {
		return fault.End != nil && killedByProbe(e) && mentions(e.Message, "ontainer "+fault.Container+" ") &&
			!timeOf(e).Truncate(time.Second).After(fault.End.FinishedAt.Time)
	})
}

// systemOOM returns the event by which the node of a pod ran out of memory when a container of it was killed; nil if
// there is none (pkg/kubelet/oom/oom_watcher_linux.go).
func (f *facts) systemOOM(r *record, end *corev1.ContainerStateTerminated) *corev1.Event {
	if end == nil || end.ExitCode != 137 {
		return nil
	}
	return lastEvent(f.about("Node", "", r.Pod.Spec.NodeName), func(e *corev1.Event) bool {
		return e.Reason == "SystemOOM" && timeOf(e).Sub(end.FinishedAt.Time).Abs() < time.Minute
	})
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
	for _, of := range p.f.containers() {
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
			s.container, s.text = c.Name, s.text+"; "+c.String()+", "+explain.Exit(end)
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
			killedByProbe(e)
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

// probeTold finds a container whose probe fails, and whose last run has left a message.
func probeTold(p *podFacts) sign {
	s := probeFailing(p)
	told := slices.ContainsFunc(p.all, func(c container) bool { return c.Name == s.container && withMessage(p, c) })
	return either(told, s, sign{})
}

// mayRetry reports whether the startup probe of a container in its first run has failed, and may still succeed.
func (p *podFacts) mayRetry(c container, e *corev1.Event) bool {
	if !c.in(e) || e.Reason != "Unhealthy" || !mentions(e.Message, "Startup probe") || c.RestartCount > 0 {
		return false
	}
	own, job := &p.Spec, &p.f.Job.Spec.Template.Spec
	all := slices.Concat(own.Containers, own.InitContainers, job.Containers, job.InitContainers)
	has := func(of corev1.Container) bool { return of.Name == c.Name && of.StartupProbe != nil }
	probe := firstOf(all, has).StartupProbe
	return probe != nil && momentOf(e).Count < int(cmp.Or(probe.FailureThreshold, 3))
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

// restartsOn finds a container that runs and is restarted again and again, less often than in a crash loop, in a Job
// that counts this. If it runs for longer now than before, it may have recovered.
func restartsOn(p *podFacts) (s sign) {
	for _, c := range p.all {
		last, running := c.LastTerminationState.Terminated, c.State.Running
		if last == nil || running == nil || c.RestartCount < fewest || c.role != "container" || !p.f.countsRestarts() {
			continue
		}
		between := running.StartedAt.Sub(p.since) / time.Duration(c.RestartCount)
		if !p.f.past(running.StartedAt.Time, 2*between) {
			limit := p.f.Spec.Limit.PerJob
			return sign{text: c.String() + p.restarts(c) + fmt.Sprintf("; it runs for about %s, and spec.backoffLimit "+
				"(%d) counts each restart", duration.HumanDuration(between), limit), container: c.Name}
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
