package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// started reports whether any container of the pod has started.
func (p *podFacts) started() bool {
	return slices.ContainsFunc(p.all, func(c container) bool {
		return c.State.Running != nil || c.State.Terminated != nil || c.RestartCount > 0
	})
}

// progress matches the events after which an earlier warning is over.
var progress = reasonIs("Scheduled", "Pulling", "Pulled", "Created", "Started", "SuccessfulAttachVolume")

// volumeInUse lists the messages of the attach/detach controller about a volume that another node has, since and
// before 1.36.5.
var volumeInUse = []string{"Waiting for detach", "Multi-Attach error"}

// wordOnly matches what the kubelet adds to the event that says why (pkg/kubelet/images/image_manager.go).
var wordOnly = regexp.MustCompile(`^Error: \w+$`)

// timedOut reports whether the kubelet has waited in vain for a volume, and does not know why.
func timedOut(e *corev1.Event) bool {
	return e.Reason == "FailedMount" && mentions(e.Message, "timed out", "context deadline exceeded")
}

// warning returns the warning that keeps the pod from starting: of those since the last progress, the one
// that says most. A mount that times out waits for what an earlier warning says.
func (p *podFacts) warning() (best *corev1.Event) {
	rank := func(e *corev1.Event) int {
		switch {
		case mentions(e.Message, volumeInUse...):
			return 4
		case e.Reason == "FailedAttachVolume" || e.Reason == "FailedCreatePodSandBox":
			return 3
		case timedOut(e), wordOnly.MatchString(e.Message):
			return 1
		case e.Reason == "FailedSync":
			return 0
		}
		return 2
	}
	var after time.Time
	for _, e := range slices.Backward(p.events) {
		at := timeOf(e).Truncate(time.Second)
		switch {
		case at.Before(after):
			return best
		case e.Reason == "Scheduled" || e.Reason == "Pulled":
			after = at // other components write whole seconds, so what they say in the same second may be earlier
		case progress(e):
			return best
		case e.Type != corev1.EventTypeWarning || e.Reason == "FailedToRetrieveImagePullSecret" ||
			e.Reason == "FailedScheduling":
		case best == nil || rank(e) > rank(best):
			best = e
		}
	}
	return best
}

// mounting matches what the message of a mount repeats (k8s.io/mount-utils).
var mounting = regexp.MustCompile(`Mounting command: \S+ Mounting arguments: | /var/lib/kubelet/\S+`)

// startFailing returns the finder for a pod with a node in which no container has started, because of
// a warning with one of the reasons and one of the parts in its message; without reasons, any.
func startFailing(reasons []string, parts ...string) func(*podFacts) sign {
	return func(p *podFacts) (s sign) {
		if p.Status.Phase != corev1.PodPending || p.node == "" || p.started() {
			return s
		}
		e := p.warning()
		if e == nil || momentOf(e).Count == 1 && !p.f.past(p.since, time.Minute) || // it may be over
			len(reasons) > 0 && !slices.Contains(reasons, e.Reason) || !mentions(e.Message, parts...) {
			return s
		}
		text := joined(": ", e.Reason, mounting.ReplaceAllString(oneLine(e.Message), ""))
		return sign{text: text + p.f.exists(p.Namespace, e.Message), event: e}
	}
}

// startWarnings are the rows of pods that do not start, by the last warning about them.
var startWarnings = []row{
	{means: "no container has started, and a volume cannot be attached",
		advice: "Look at the volume, and at the CSI driver: kubectl get volumeattachments.",
		pod:    startFailing([]string{"FailedAttachVolume"})},
	{means: "no container has started, and a store does not give a secret",
		advice: "See whether the store has the secret that the message names, and whether the ServiceAccount of the " +
			"pods may read it there.", pod: startFailing([]string{"FailedMount"}, "secrets store objects")},
	{means: "no container has started, because the limit of its memory is too low for that",
		advice: "Raise MEMORY: less than a container takes to start. In a quantity Mi means mebibytes, and m " +
			"thousandths of a byte.", pod: tooSmall},
	{means: "no container has started, and the pod has no network or sandbox",
		advice: "Look at the network plugin and the container runtime of node NODE.",
		pod:    startFailing([]string{"FailedCreatePodSandBox", "NetworkNotReady", "FailedPodSandBoxStatus"})},
	{means: "no container has started, and a device cannot be prepared",
		advice: "Look at the DRA driver on node NODE.", pod: startFailing([]string{"FailedPrepareDynamicResources"})},
	{means: "no container has started, and a volume needs a Secret or ConfigMap that is missing",
		advice: "Create the Secret, the ConfigMap or the key that the event names; the kubelet tries again.",
		pod: startFailing([]string{"FailedMount"}, "secret \"", "configmap \"", "references non-existent secret key",
			"references non-existent config key")},
	{means: "no container has started, and a file server refuses the mount",
		advice: "See whether the server lets in the node and the account of the volume, whose credentials are in a " +
			"Secret (nodeStageSecretRef of the PersistentVolume, or secretRef).",
		pod: startFailing([]string{"FailedMount"}, "mount error(13)", "access denied by server", "ermission denied")},
	{means: "no container has started, and a file server does not answer",
		advice: "See whether the file server that the message names is up, and whether node NODE reaches it " +
			"(firewall): the kubelet tries again.",
		pod: startFailing([]string{"FailedMount"}, "onnection timed out", "o route to host", "onnection refused")},
	{means: "no container has started, and a volume cannot be mounted",
		advice: "Look at the volume that the event names, and at the CSI driver or the file server behind it.",
		pod:    startFailing([]string{"FailedMount", "FailedMapVolume"})},
	{means: "no container has started, and a warning has followed the last progress",
		advice: "Create the Secret, the ConfigMap or the volume that the event names, or look at the network plugin " +
			"of node NODE.", pod: startFailing(nil)},
}

// missingObject finds that a Secret or a ConfigMap is missing.
func missingObject(p *podFacts) sign {
	s := waiting(configReasons, "not found")(p)
	return either(s.text == "", startFailing([]string{"FailedMount"}, "secret \"", "configmap \"")(p), s)
}

// renamed finds a missing object of whose name the CronJob has another version by now.
func renamed(p *podFacts) sign {
	s := missingObject(p)
	return either(p.f.nameNow(s.text) != "", s, sign{})
}

// tooSmall finds a container that was killed for its memory before it ran.
func tooSmall(p *podFacts) sign {
	s := startFailing([]string{"FailedCreatePodSandBox", "Failed"}, "init was OOM-killed")(p)
	if names := p.f.Job.Spec.Template.Spec.Containers; s.text != "" && len(names) == 1 {
		s.container = names[0].Name
	}
	return s
}

// usedBy matches the pods of the namespace that have a volume (pkg/controller/volume/attachdetach/reconciler).
var usedBy = regexp.MustCompile(`already used by pod\(s\) ([a-z0-9.-]+)`)

// volumeHeld returns the finder for a volume that a given pod of some sort has on another node.
func volumeHeld(is func(*corev1.Pod) bool) func(*podFacts) sign {
	return func(p *podFacts) sign {
		s := startFailing([]string{"FailedAttachVolume"}, volumeInUse...)(p)
		if s.text == "" {
			return p.claimOnNode(is)
		}
		m := usedBy.FindStringSubmatch(s.text)
		holder := firstOf(p.f.near.all, func(o *corev1.Pod) bool {
			return m != nil && o.Name == m[1] && o.Namespace == p.Namespace
		})
		if holder == nil {
			return sign{}
		}
		s.text += p.f.holderOn(holder)
		return either(is(holder) && !hasEnded(holder), s, sign{})
	}
}

// holderOn says on which node the pod is that has a volume, and what it belongs to; empty if it is not given.
func (f *facts) holderOn(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	owner := cmp.Or(metav1.GetControllerOfNoCopy(pod), &metav1.OwnerReference{})
	return "; pod " + pod.Name + " is on node " + pod.Spec.NodeName +
		textIf(owner.Name != "", ", of "+owner.Kind+" "+owner.Name)
}

// replaced reports whether a pod does not end by itself, and its controller replaces it; alone, whether it has no
// controller; and ends, whether it ends by itself.
func replaced(pod *corev1.Pod) bool { return endsNot(pod) && metav1.GetControllerOfNoCopy(pod) != nil }
func alone(pod *corev1.Pod) bool    { return endsNot(pod) && metav1.GetControllerOfNoCopy(pod) == nil }
func ends(pod *corev1.Pod) bool     { return !endsNot(pod) }

// claimOnNode finds a claim of the pod for one node alone that a pod of some sort on another node mounts. No event
// says this if events are missing, or the volume needs no attachment.
func (p *podFacts) claimOnNode(is func(*corev1.Pod) bool) (s sign) {
	s = startOverdue(p)
	if w := p.warning(); s.text == "" || w != nil && !timedOut(w) {
		return sign{}
	}
	for _, holder := range p.f.near.all {
		claim := p.sharedWith(holder)
		if claim != "" && holder.Namespace == p.Namespace && !hasEnded(holder) && is(holder) &&
			holder.Spec.NodeName != "" && holder.Spec.NodeName != p.node {
			s.text += "; PersistentVolumeClaim " + claim + " is for one node at a time (ReadWriteOnce), and pod " +
				holder.Name + ownedBy(holder) + " mounts it on node " + holder.Spec.NodeName
			return s
		}
	}
	return sign{}
}

// volumeShared finds that the pod cannot have a volume for one node alone, because another pod of its Job has it.
func volumeShared(p *podFacts) (s sign) {
	s = startFailing([]string{"FailedAttachVolume"}, volumeInUse...)(p)
	if s.text == "" {
		s = unschedulable("volume node affinity conflict", "PersistentVolume's node affinity")(p)
	}
	if s.text == "" {
		return s
	}
	for _, r := range p.f.pods {
		claim, node := p.sharedWith(r.Pod), r.Pod.Spec.NodeName
		if claim != "" && r.Pod.Name != p.Name && !hasEnded(r.Pod) && node != "" && node != p.node {
			s.text += "; pod " + r.Pod.Name + " of the same Job has PersistentVolumeClaim " + claim +
				" (ReadWriteOnce) on node " + node
			return s
		}
	}
	return sign{}
}

// volumeKept finds that the pod cannot have a volume because a pod which should have terminated has it on another node.
func volumeKept(p *podFacts) sign {
	s := startFailing([]string{"FailedAttachVolume"}, volumeInUse...)(p)
	if s.text == "" {
		return s
	}
	m := usedBy.FindStringSubmatch(s.text)
	for _, holder := range p.f.all() {
		node, deleted := holder.Spec.NodeName, cmp.Or(holder.DeletionTimestamp, &metav1.Time{}).Time
		if holder.Namespace == p.Namespace && p.f.overdue(deleted) && !hasEnded(holder) && node != "" &&
			node != p.node && (m != nil && m[1] == holder.Name || p.sharedWith(holder) != "") {
			s.node = node
			s.text = joined("; ", s.text, "pod "+holder.Name+ownedBy(holder)+" has it on node "+node+", and should "+
				"have terminated "+p.f.ago(deleted), p.f.notReady(node))
			return s
		}
	}
	return sign{}
}

// sharedWith returns the claim of the pod that another one mounts, too, and that can be on one node at a time; empty if
// none is given.
func (p *podFacts) sharedWith(other *corev1.Pod) string {
	return firstOf(p.f.claims(p.Pod), func(claim string) bool {
		modes, _ := p.f.find("PersistentVolumeClaim", p.Namespace, claim).at("spec")["accessModes"].([]any)
		return mounts(other, claim) && len(modes) == 1 && mentions(fmt.Sprint(modes[0]), "ReadWriteOnce")
	})
}

// endsNot reports whether a pod does not end by itself.
func endsNot(pod *corev1.Pod) bool {
	owner := cmp.Or(metav1.GetControllerOfNoCopy(pod), &metav1.OwnerReference{})
	return owner.Kind != "Job" &&
		cmp.Or(pod.Spec.RestartPolicy, corev1.RestartPolicyAlways) == corev1.RestartPolicyAlways
}

// mounts reports whether a pod has a volume of a PersistentVolumeClaim.
func mounts(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}

// hasEnded reports whether a pod is in a terminal phase.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// began returns when the pod was scheduled or, if that was later, when the kubelet last began to pull an image: it may
// have waited for the registry.
func (p *podFacts) began() time.Time {
	if e := lastEvent(p.events, reasonIs("Pulling")); e != nil {
		return latest(p.since, timeOf(e))
	}
	return p.since
}

// withLast returns a sign with a text and the last event about the pod.
func (p *podFacts) withLast(text string) sign {
	e := lastEvent(p.events, anyEvent)
	if e == nil {
		return sign{text: text}
	}
	return sign{text: text + "; its last event, " + p.f.ago(timeOf(e)) + ", is " + joined(": ", e.Reason,
		oneLine(e.Message)), event: e}
}

func startOverdue(p *podFacts) (s sign) {
	if p.Status.Phase == corev1.PodPending && p.node != "" && !p.started() && p.f.past(p.began(), longPatience) {
		s = p.withLast("no container has started on node " + p.node + " in " +
			duration.HumanDuration(p.f.Now.Sub(p.since)))
	}
	return s
}

// pulling finds an image that a node has been pulling for long.
func pulling(p *podFacts) (s sign) {
	e := lastEvent(p.events, reasonIs("Pulling", "Pulled", "Failed", "BackOff", "Created", "Started"))
	if e == nil || e.Reason != "Pulling" || !p.f.overdue(timeOf(e)) || p.runs() {
		return s
	}
	_, image, _ := strings.Cut(e.Message, "Pulling image ")
	return sign{text: "node " + p.node + " has been pulling image " + image + " " + p.f.lasting(timeOf(e)), event: e}
}

// initializing finds an init container that has run for long.
func initializing(p *podFacts) (s sign) {
	for _, c := range p.all {
		if running := c.State.Running; c.role == "init container" && running != nil &&
			p.f.past(running.StartedAt.Time, longPatience) {
			text, object, server := p.f.waitsFor(c.Name)
			s = sign{text: joined("; ", c.String()+" has been running "+p.f.lasting(running.StartedAt.Time), text),
				container: c.Name, object: object}
			if server != "" {
				s.names = []string{server}
			}
			return s
		}
	}
	return s
}

// initWaits finds an init container that waits for something which is not up.
func initWaits(p *podFacts) sign {
	s := initializing(p)
	return either(s.object != "", s, sign{})
}

// resizing finds a resize in place that is not done (KEP-1287).
func resizing(p *podFacts) (s sign) {
	for _, kind := range []corev1.PodConditionType{"PodResizePending", "PodResizeInProgress"} {
		c := condition(p.Pod, kind)
		if c.Status == corev1.ConditionTrue && (c.Reason != "" || p.f.overdue(c.LastTransitionTime.Time)) {
			return sign{text: joined(": ", string(kind)+" "+p.f.lasting(c.LastTransitionTime.Time), c.Reason,
				oneLine(c.Message))}
		}
	}
	return s
}

// starting finds a pod that has yet to run, and says what it does.
func starting(p *podFacts) (s sign) {
	if p.runs() || p.hasEnded() || p.f.past(p.began(), longPatience) {
		return s
	}
	return sign{text: p.doing()}
}

// unexplained finds a pod that does not run, though nothing says why.
func unexplained(p *podFacts) (s sign) {
	if p.runs() || !p.hasEnded() && !p.f.past(p.began(), longPatience) {
		return s
	}
	return p.withLast(p.doing() + textIf(!p.since.IsZero(), ", "+p.f.lasting(p.since)))
}

// doing says what a pod that does not run waits for.
func (p *podFacts) doing() string {
	phase := "its phase is " + cmp.Or(string(p.Status.Phase), "not set")
	switch {
	case p.node == "" && p.Status.NominatedNodeName != "":
		return phase + ", and the scheduler has chosen node " + p.Status.NominatedNodeName + " for it"
	case p.node == "":
		return phase + ", and it has no node"
	case p.hasEnded():
		last, _ := p.finished()
		return phase + ", though all its containers ended " + p.f.ago(last)
	}
	for _, c := range p.all {
		switch {
		case c.role == "init container" && c.State.Running != nil:
			return c.String() + " runs"
		case c.State.Waiting != nil && c.State.Waiting.Reason != "PodInitializing":
			return joined(": ", c.String()+" waits", c.State.Waiting.Reason, oneLine(c.State.Waiting.Message))
		}
	}
	return phase + " on node " + p.node
}

// sidecarRunning finds a sidecar that still runs after its grace period although all containers have
// finished.
func sidecarRunning(p *podFacts) (s sign) {
	last, running := p.finished()
	if running != nil || last.IsZero() || !p.f.overdue(last) {
		return s
	}
	// in seconds; the default is shorter than patience
	grace := cmp.Or(p.Spec.TerminationGracePeriodSeconds, new(int64))
	if p.f.Now.Sub(last)/time.Second < time.Duration(*grace) {
		return s
	}
	for _, c := range p.all {
		if c.role == "sidecar" && c.State.Running != nil {
			return p.outlasts(c, last)
		}
	}
	return s
}

func (p *podFacts) outlasts(c container, last time.Time) sign {
	how := cmp.Or(helperNamed(c.Name).ends, "For later Jobs make it a sidecar: an init container with restartPolicy "+
		"Always, which the kubelet stops when they have finished.")
	switch {
	case len(p.f.owners) == 0 || p.f.Job.Annotations["cronjob.kubernetes.io/instantiate"] != "": // by hand
		how += " This Job has done its work: if nothing waits for it to be complete, delete it."
	case p.f.owners[0].kind == "CronJob":
		how += " Then delete this Job, whose work is done: the next one starts."
	}
	return sign{text: "container " + c.Name + " is still running, though the others finished " + p.f.ago(last),
		container: c.Name, how: how}
}

// finished returns when the last container finished, and the first one that still runs; zero if one
// has yet to start.
func (p *podFacts) finished() (last time.Time, running *container) {
	for i, c := range p.all {
		switch {
		case c.role != "container":
		case c.State.Terminated != nil:
			last = latest(last, c.State.Terminated.FinishedAt.Time)
		case c.State.Running == nil:
			return time.Time{}, nil
		case running == nil:
			running = &p.all[i]
		}
	}
	return last, running
}

// servers are parts of the names of containers that serve others and do not end by themselves.
var servers = []string{"proxy", "envoy", "agent", "sidecar", "exporter", "fluent", "collector", "daemon"}

// mainOf returns the name of the first container that does not serve others.
func mainOf(all []corev1.Container) string {
	return firstOf(all, func(c corev1.Container) bool { return !mentions(c.Name, servers...) }).Name
}

// containerRunning returns the finder for a container that serves the others and still runs long after they have
// finished; succeeded says that the main container has succeeded. A main container may outlast its helpers.
func containerRunning(succeeded bool) func(*podFacts) sign {
	return func(p *podFacts) sign { return p.outlasted(succeeded) }
}

func (p *podFacts) outlasted(succeeded bool) (s sign) {
	last, running := p.finished()
	if running == nil || !p.f.past(last, longPatience) {
		return s
	}
	main := cmp.Or(p.Annotations["kubectl.kubernetes.io/default-container"],
		mainOf(p.f.Job.Spec.Template.Spec.Containers)) // statuses are in the order of their names
	for _, c := range p.all {
		if main == "" && c.role == "container" && !mentions(c.Name, servers...) {
			main = c.Name
		}
	}
	for _, c := range p.all {
		end := c.State.Terminated
		if c.Name == main && end != nil && c.role == "container" && (end.ExitCode == 0) == succeeded {
			s = p.outlasts(*running, last)
			if !succeeded {
				s.text += "; container " + main + " has failed, " + exitOf(end)
			}
			return s
		}
	}
	return s
}
