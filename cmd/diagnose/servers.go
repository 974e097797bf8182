package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobstatus"
)

// What the input shows about the servers that a container names: which is not up, and why.

// hosts matches what may be a name or an address of a server, perhaps with its port.
var hosts = regexp.MustCompile(`["'/@]?[a-z0-9][a-z0-9.-]*[a-z0-9](:\d+)?["']?`)

// hostsIn returns the names and addresses of servers in a text: the words that look like one or, if any may be one,
// all.
func hostsIn(text string, any bool) (names []string) {
	for _, word := range hosts.FindAllString(text, -1) {
		name, _, _ := strings.Cut(strings.Trim(word, `"'/@`), ":")
		if any || name != word || strings.ContainsAny(name, ".-") {
			names = append(names, name)
		}
	}
	return names
}

// hostVariable matches the names of variables whose values are likely to be names of servers.
var hostVariable = regexp.MustCompile(`(HOST|HOSTNAME|SERVER|ADDR|ADDRESS|ENDPOINT)$`)

// server says that no pod behind a server that a message names is ready.
func (f *facts) server(c *corev1.Container, message string) (text, object string) {
	text, object, known := f.serverOf(hostsIn(message, false))
	if known || !speaks(message, passing...) {
		return text, object
	}
	for _, v := range c.Env { // of an address of the cluster, only the Service would show the name
		text, object, _ = f.serverOf(hostsIn(v.Value, hostVariable.MatchString(v.Name)))
		if object != "" {
			return "variable " + v.Name + ": " + text, object
		}
	}
	return f.serverAt(message)
}

// recovered says that the pods behind a server which could not be reached have become ready after the Job had failed.
func (f *facts) recovered(_ *corev1.Container, message string) (text, object string) {
	end := jobstatus.Finished(f.Job)
	if end == nil || !speaks(message, passing...) {
		return "", ""
	}
	for _, name := range hostsIn(message, false) {
		pods, _ := f.behind(name)
		before := func(pod *corev1.Pod) bool {
			return !condition(pod, corev1.PodReady).LastTransitionTime.After(end.LastTransitionTime.Time)
		}
		if len(pods) > 0 && !slices.ContainsFunc(pods, before) {
			since := condition(pods[0], corev1.PodReady).LastTransitionTime.Time
			return name + " is pod " + pods[0].Name + ", which has been ready since " + f.clock(since) +
				", after the Job had failed", "pod/" + pods[0].Name
		}
	}
	return "", ""
}

// fell says that a container of a server ended in the minute before the call that a message is about failed.
func (f *facts) fell(message string) (text, object string) {
	r := firstOf(f.pods, func(r *record) bool {
		end := f.faultOf(r).End
		return end != nil && end.Message == message
	})
	if r == nil {
		return "", ""
	}
	at, none := f.faultOf(r).End.FinishedAt.Time, &corev1.ContainerStateTerminated{}
	for _, name := range slices.Sorted(maps.Keys(f.near.workloads)) {
		for _, pod := range f.near.workloads[name] {
			for _, c := range pod.Status.ContainerStatuses {
				last := cmp.Or(c.LastTerminationState.Terminated, c.State.Terminated, none)
				before := at.Sub(last.FinishedAt.Time)
				if last.ExitCode != 0 && 0 <= before && before < time.Minute && pod.Namespace == f.Job.Namespace {
					return "container " + c.Name + " of pod " + pod.Name + ", which may be meant, had ended at " +
						f.clock(last.FinishedAt.Time) + ": " + exitOf(last), "pod/" + pod.Name
				}
			}
		}
	}
	return "", ""
}

// ports matches the port of a server in a message that says it cannot be reached.
var ports = regexp.MustCompile(`(?:port:? |:)(\d{4,5})\b`)

// programs lists the usual ports of servers, and what their images are called.
var programs = map[string]*regexp.Regexp{"5432": regexp.MustCompile(`postgres`), "27017": regexp.MustCompile(`mongo`),
	"3306": regexp.MustCompile(`mysql|mariadb`), "6379": regexp.MustCompile(`redis|valkey`),
	"9092": regexp.MustCompile(`kafka`), "5672": regexp.MustCompile(`rabbitmq`)}

// serverAt says which pod that is not up may be meant by an address whose port is that of such a server, or
// which one had just ended.
func (f *facts) serverAt(message string) (text, object string) {
	m := ports.FindStringSubmatch(message)
	if m == nil || programs[m[1]] == nil {
		return f.fell(message)
	}
	for _, name := range slices.Sorted(maps.Keys(f.near.workloads)) {
		for _, pod := range f.near.workloads[name] {
			is := func(c corev1.Container) bool { return programs[m[1]].MatchString(c.Image) }
			trouble := f.downBecause(pod)
			if trouble != "" && pod.Namespace == f.Job.Namespace && slices.ContainsFunc(pod.Spec.Containers, is) {
				return "pod " + pod.Name + ", which may be meant, " + trouble, "pod/" + pod.Name
			}
		}
	}
	return f.fell(message)
}

// serverOf says why one of these servers is not up, and whether it is known that one is or is not.
func (f *facts) serverOf(names []string) (text, object string, known bool) {
	for _, name := range names {
		pods, service := f.behind(name)
		ready := slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return troubleOf(pod) == "" })
		switch {
		case ready:
			known = true
		case len(pods) > 0:
			return name + " is pod " + pods[0].Name + ", which " + f.downBecause(pods[0]), "pod/" + pods[0].Name, true
		case service != nil && (len(f.near.workloads) > 0 || f.unserved(service) != ""):
			of := f.unserved(service)
			return "no pod given has the labels that Service " + name + " selects" +
					textIf(of != "", "; "+of+" has 0 replicas"), strings.ToLower(strings.Replace(cmp.Or(of,
					service.name()), " ", "/", 1)), true
		}
	}
	return "", "", known
}

// unserved names what has 0 replicas, so that a Service has no pods; empty if nothing does.
func (f *facts) unserved(service object) (name string) {
	selector := service.at("spec", "selector")
	for _, o := range f.objects {
		n, set := o.number("spec", "replicas")
		same := len(selector) > 0 && o.text("metadata", "namespace") == service.text("metadata", "namespace")
		label := func(name string) string { return o.text("spec", "template", "metadata", "labels", name) }
		switch {
		case !set || !same || !selects(selector, label):
		case n > 0:
			return ""
		default:
			name = o.name()
		}
	}
	return name
}

// downBecause says why the pod of a server is not up, with what it lacks.
func (f *facts) downBecause(pod *corev1.Pod) string {
	trouble := troubleOf(pod)
	switch {
	case mentions(trouble, "ContainerCreating", "PodInitializing"):
		e := cmp.Or(lastEvent(f.about("Pod", pod.Namespace, pod.Name), isWarning), &corev1.Event{})
		return joined(": ", trouble, e.Reason, oneLine(e.Message))
	case speaks(trouble, "no space left on device", "disk full") && len(pod.Spec.Volumes) > 0:
		return joined("; its volume is PersistentVolumeClaim ", trouble, list(f.claims(pod)))
	}
	refused := cmp.Or(lastEvent(f.about("Pod", pod.Namespace, pod.Name), addsNoNode), &corev1.Event{})
	return joined("; ", trouble, textIf(pod.Spec.NodeName == "", oneLine(refused.Message))) + f.cordonedIn(trouble)
}

// waitsFor says what the command of a container waits for: a server that is not up, another Job that has failed, or a
// server of which nothing is given.
func (f *facts) waitsFor(container string) (text, object, server string) {
	c := cmp.Or(f.containerNamed(container), &corev1.Container{})
	names := hostsIn(strings.Join(slices.Concat(c.Command, c.Args), " "), true)
	for _, name := range names {
		pods := f.near.jobs[name]
		good := slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.Status.Phase != corev1.PodFailed })
		if len(pods) > 0 && !good && name != f.Job.Name {
			return "its command names Job " + name + ", of which all pods given have failed", "job/" + name, ""
		}
	}
	text, object, _ = f.serverOf(names)
	far := func(name string) bool { return strings.Contains(name, ".") }
	server = firstOf(names, far)
	if text == "" && server != "" {
		text = "its command names " + server
	}
	return text, object, local.ReplaceAllString(server, "")
}

// local matches what the name of a Service has after its namespace.
var local = regexp.MustCompile(`\.svc(\.cluster\.local)?$`)

// roles are the ends of the names of Services that several of a server's Services have.
var roles = regexp.MustCompile(`-(rw|ro|primary|master|headless|svc|service)$`)

// behind returns the pods of other owners behind the name or the address of a server, and its Service if that selects
// them.
func (f *facts) behind(name string) (pods []*corev1.Pod, service object) {
	parts := append(strings.Split(name, "."), "", "")
	namespace := f.Job.Namespace
	if f.around[parts[1]] != nil && parts[2] == "svc" || f.find("Service", parts[1], parts[0]) != nil {
		namespace = parts[1]
	}
	in := cmp.Or(f.around[namespace], f.near)
	service = f.world.names[key{"Service", namespace, parts[0]}]
	if at := f.addresses[name]; at != nil {
		service = at
	}
	pods = f.served[service.uid()]
	if service != nil && f.around[namespace] == nil && len(in.all) > 0 {
		pods = selectedBy(service, in.all)
	}
	if pods != nil {
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return metav1.IsControlledBy(pod, f.Job) }) {
			return nil, nil
		}
		return pods, service
	}
	if pod := in.addresses[name]; pod != nil && !metav1.IsControlledBy(pod, f.Job) {
		return []*corev1.Pod{pod}, nil
	}
	of := in.workloads[parts[0]]
	if len(of) == 0 {
		of = in.workloads[roles.ReplaceAllString(parts[0], "")]
	}
	return of, either(len(of) == 0 && f.unserved(service) != "", service, nil)
}

// exitOf says how a container has ended, with what it said.
func exitOf(end *corev1.ContainerStateTerminated) string {
	end = cmp.Or(end, &corev1.ContainerStateTerminated{})
	return joined(": ", explain.Exit(end), oneLine(essence(end.Message)))
}

// troubleOf says why a pod does not serve; empty if it is ready.
func troubleOf(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		w, last := c.State.Waiting, c.LastTerminationState.Terminated
		if w == nil || w.Reason == "PodInitializing" {
			continue
		}
		return joined(": ", "is not ready: container "+c.Name, w.Reason, either(last != nil, "before that "+
			exitOf(last), oneLine(w.Message)))
	}
	unscheduled := condition(pod, corev1.PodScheduled)
	switch {
	case pod.DeletionTimestamp != nil:
		return "is being deleted"
	case unscheduled.Status == corev1.ConditionFalse:
		return joined(": ", "has no node", oneLine(unscheduled.Message))
	case condition(pod, corev1.PodReady).Status == corev1.ConditionTrue:
		return ""
	}
	return joined(": ", "is "+string(pod.Status.Phase)+" and not ready", oneLine(pod.Status.Message))
}

// unresolved matches the name of a host in what programs say that cannot resolve it.
var unresolved = regexp.MustCompile(`(?i)(?:enotfound|eai_again|lookup|resolve(?: host| server)?(?: ?name)?|` +
	`translate host name|server host|unknownhostexception):? ["']?([a-z0-9][a-z0-9.-]*[a-z0-9])`)

// service says that none of the Services given has the name that a container could not resolve, and where it has it
// from.
func (f *facts) service(c *corev1.Container, message string) (text, object string) {
	m := unresolved.FindStringSubmatch(message)
	if m == nil {
		return "", ""
	}
	parts := append(strings.Split(m[1], "."), "", "")
	name, namespace, inside := parts[0], cmp.Or(parts[1], f.Job.Namespace), parts[2] == "" || parts[2] == "svc"
	has := f.namesOf("Service", namespace)
	if !inside || len(has) == 0 || slices.Contains(has, name) {
		return "", ""
	}
	text, object = f.from(c, m[1], func(v string) bool { return strings.Contains(v, m[1]) && len(v) < 200 })
	return joined("; ", text, "of the Services given, none in namespace "+namespace+" is called "+name+": there is "+
		list(has)), object
}

// certificate says what a Certificate (cert-manager) says of the certificate of a server that has expired.
func (f *facts) certificate(_ *corev1.Container, message string) (text, object string) {
	names := hostsIn(message, false)
	for _, o := range f.objects {
		of, _ := o.at("spec")["dnsNames"].([]any)
		has := slices.ContainsFunc(of, func(name any) bool { return slices.Contains(names, fmt.Sprint(name)) })
		if has && speaks(message, "certificate has expired", "certificate expired") {
			ready, issuing := o.condition("Ready").text("message"), o.condition("Issuing").text("message")
			return joined(": ", o.name()+" of namespace "+o.text("metadata", "namespace"), oneLine(ready),
				oneLine(issuing)), ""
		}
	}
	return "", ""
}
