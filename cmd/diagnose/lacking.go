package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What nodes lack, and who has it.

// lacking finds that nodes lack a resource, with who has it.
func lacking(p *podFacts) sign {
	s := unschedulable("Insufficient ")(p)
	held := p.f.holders(p.decisive(s.text)) + p.f.cordonedIn(s.text)
	if held != "" {
		s.text = strings.TrimSuffix(s.text, ".") + held
	}
	return s
}

// cordonedIn says which nodes are cordoned, or have a full disk, if a message of the scheduler speaks of such.
func (f *facts) cordonedIn(message string) string {
	nodes := f.taints[corev1.TaintNodeUnschedulable]
	pressed := f.taints[corev1.TaintNodeDiskPressure]
	return textIf(len(nodes) > 0 && mentions(message, "were unschedulable"), "; "+list(nodes)+
		either(len(nodes) > 1, " are", " is")+" cordoned") + textIf(len(pressed) > 0 && mentions(message, "taint"),
		"; the disk of "+list(pressed)+" is full")
}

// deviceMissing finds that nodes lack a resource that a plugin offers: its name has a domain.
func deviceMissing(p *podFacts) (s sign) {
	if text, _ := p.schedulerSays(); strings.Contains(p.decisive(text), "/") {
		s = lacking(p)
	}
	return s
}

// devicesTainted finds that the only nodes given that offer a device which the pod requests have a taint that it does
// not tolerate.
func devicesTainted(p *podFacts) sign {
	s := deviceMissing(p)
	var says []string
	for _, c := range p.Spec.Containers {
		for name, wants := range c.Resources.Requests {
			if s.text == "" || wants.IsZero() || !strings.Contains(string(name), "/") {
				continue
			}
			for _, node := range p.f.nodes {
				has, taint := node.Status.Allocatable[name], firstOf(node.Spec.Taints, p.keptAway)
				switch {
				case has.IsZero():
				case taint.Key == "" || broken.MatchString(taint.Key):
					return sign{}
				default:
					says = append(says, node.Name+" ("+taint.ToString()+")")
				}
			}
		}
	}
	slices.Sort(says)
	return s.ofTaints("the only nodes given with the device have a taint that the pod does not tolerate: ", says)
}

// deadlocked finds that the Job and another one each have some of a device, and wait for more.
func deadlocked(p *podFacts) (s sign) {
	reason := p.decisive(deviceMissing(p).text)
	m := insufficient.FindStringSubmatch(reason)
	if m == nil {
		return s
	}
	has, waits := map[string]bool{}, map[string]bool{}
	for _, pod := range p.f.all() {
		takes := takes(pod, m[1])
		if who := strings.Trim(ownedBy(pod), " ()"); who != "" && !takes.IsZero() && !hasEnded(pod) {
			unscheduled := condition(pod, corev1.PodScheduled)
			has[who] = has[who] || pod.Spec.NodeName != ""
			waits[who] = waits[who] || unscheduled.Status == corev1.ConditionFalse &&
				strings.Contains(unscheduled.Message, "Insufficient "+m[1])
		}
	}
	own := "Job " + p.f.Job.Name
	for _, who := range slices.Sorted(maps.Keys(has)) {
		if who != own && has[own] && has[who] && waits[who] {
			s = deviceMissing(p)
			s.text += "; " + who + " waits for more of it, too: each may wait for what the other has"
			return s
		}
	}
	return s
}

// holders says which of the pods given have most of the resource that a reason of the scheduler names.
func (f *facts) holders(reason string) string {
	m := insufficient.FindStringSubmatch(reason)
	if m == nil {
		return ""
	}
	return f.have(m[1], func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName != "" && !slices.Contains(f.down(), pod.Spec.NodeName)
	}) + textIf(len(f.down()) > 0, "; "+list(f.down())+either(len(f.down()) == 1, " is", " are")+" not ready")
}

// down returns the names of the nodes that are not ready, by their taints.
func (f *facts) down() []string {
	return slices.Concat(f.taints[corev1.TaintNodeUnreachable], f.taints[corev1.TaintNodeNotReady])
}

// have says which owners of the pods given have most of a resource. It is empty if no pods of others are known.
func (f *facts) have(name string, counts func(*corev1.Pod) bool) string {
	if text, known := f.holding[name]; known {
		return text
	}
	of, others := map[string]resource.Quantity{}, false
	for _, pod := range f.all() {
		who, takes := cmp.Or(strings.Trim(ownedBy(pod), " ()"), "pod "+pod.Name), takes(pod, name)
		if !takes.IsZero() && !hasEnded(pod) && counts(pod) {
			others = others || !metav1.IsControlledBy(pod, f.Job)
			takes.Add(of[who])
			of[who] = takes
		}
	}
	var says []string
	for _, who := range slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		first, second := of[a], of[b]
		return cmp.Or(second.Cmp(first), strings.Compare(a, b))
	}) {
		has := of[who]
		says = append(says, who+" has "+has.String())
	}
	says = says[:min(3, len(says))]
	f.holding[name] = textIf(others, "; of "+name+", by the pods given, "+strings.Join(says, ", "))
	return f.holding[name]
}

// withClaims returns the finder for reasons of the scheduler about volumes, which names the claims of the pod.
func withClaims(parts ...string) func(*podFacts) sign {
	return func(p *podFacts) sign {
		s := unschedulable(parts...)(p)
		if claims := p.f.claims(p.Pod); s.text != "" && len(claims) > 0 {
			s.text = strings.TrimSuffix(s.text, ".") + "; it has PersistentVolumeClaim " + list(claims)
		}
		return s
	}
}

// volumeElsewhere finds that a volume of the pod is where none of the nodes is that the pod is meant for, as far as
// they are given.
func volumeElsewhere(p *podFacts) sign {
	s := unschedulable("PersistentVolume's node affinity", "volume node affinity conflict")(p)
	if s.text == "" {
		return s
	}
	var says []string
	for _, claim := range p.f.claims(p.Pod) {
		volume := p.f.find("PersistentVolumeClaim", p.Namespace, claim).text("spec", "volumeName")
		for _, term := range p.f.find("PersistentVolume", "", volume).list("spec", "nodeAffinity", "required",
			"nodeSelectorTerms") {
			for _, is := range term.list("matchExpressions") {
				says = append(says, p.elsewhere(claim, is))
			}
		}
	}
	if len(says) != 1 || says[0] == "" { // several claims may exclude each other
		return sign{}
	}
	s.text = joined("; ", strings.TrimSuffix(s.text, "."), says[0])
	return s
}

// elsewhere says where a claim can only be, and where the nodes are that the pod is meant for; empty if one of these is
// there, or the place is a node.
func (p *podFacts) elsewhere(claim string, is object) string {
	key, values := is.text("key"), fmt.Sprint(is["values"])
	if is.text("operator") != "In" || key == corev1.LabelHostname {
		return ""
	}
	var meant []string
	for name, node := range p.f.nodes {
		has := node.Labels[key]
		switch {
		case has == "" || !p.selects(node) || !p.offers(node):
		case mentions(values, has):
			return ""
		default:
			meant = append(meant, name+" has "+has)
		}
	}
	slices.Sort(meant)
	return joined("; ", "PersistentVolumeClaim "+claim+" can only be where "+key+" "+strings.Trim(values, "[]")+" is",
		textIf(len(p.Spec.NodeSelector) > 0, list(meant)))
}

// offers reports whether a node has the devices that the pod requests.
func (p *podFacts) offers(node *corev1.Node) bool {
	for i := range p.Spec.Containers {
		for name := range p.Spec.Containers[i].Resources.Limits {
			if strings.Contains(string(name), "/") && node.Status.Allocatable.Name(name, "").IsZero() {
				return false
			}
		}
	}
	return true
}

// onNode matches the provisioners of volumes that are a part of one node.
var onNode = regexp.MustCompile(`local|hostpath|lvm|no-provisioner`)

// volumeDown finds that a volume of the pod is a part of a node that is not ready.
func volumeDown(p *podFacts) sign {
	s := unschedulable("PersistentVolume's node affinity", "volume node affinity conflict")(p)
	for _, name := range p.f.claims(p.Pod) {
		notes := p.f.find("PersistentVolumeClaim", p.Namespace, name).at("metadata", "annotations")
		node := notes.text("volume.kubernetes.io/selected-node")
		if s.text != "" && onNode.MatchString(notes.text("volume.kubernetes.io/storage-provisioner")) &&
			slices.Contains(p.f.down(), node) {
			s.node = node
			s.text = strings.TrimSuffix(s.text, ".") + "; PersistentVolumeClaim " + name + " is on the disk of node " +
				node + ", which is not ready"
			return s
		}
	}
	return sign{}
}

// The number of nodes in a message of the scheduler, and a resource that they lack (plugins/noderesources/fit.go).
var (
	nodesOf      = regexp.MustCompile(`^0/(\d+) nodes are available: `)
	insufficient = regexp.MustCompile(`Insufficient ([^\s,]*[^\s,.])`)
)

// tooLarge finds that a pod requests more of a resource than any node has, if all nodes are given.
func tooLarge(p *podFacts) (s sign) {
	s = unschedulable("Insufficient ")(p)
	m := nodesOf.FindStringSubmatch(s.text)
	if m == nil || m[1] != fmt.Sprint(len(p.f.nodes)) {
		return sign{}
	}
	var wants, has []string
	for _, of := range insufficient.FindAllStringSubmatch(s.text, -1) {
		needs, most := takes(p.Pod, of[1]), resource.Quantity{}
		for _, node := range p.f.nodes {
			free := node.Status.Allocatable[corev1.ResourceName(of[1])]
			most = either(free.Cmp(most) > 0, free, most)
		}
		text := needs.String() + " " + of[1]
		failed := most.IsZero() // a device plugin
		if needs.Cmp(most) > 0 && !failed && !slices.Contains(wants, text) {
			wants, has = append(wants, text), append(has, rounded(most).String())
		}
	}
	s.text = joined("; ", strings.TrimSuffix(s.text, "."), "it requests "+list(wants)+", and no node has more than "+
		list(has))
	return either(len(wants) > 0, s, sign{})
}

// rounded returns a quantity in whole mebibytes if it is given in smaller units.
func rounded(q resource.Quantity) *resource.Quantity {
	const mebi = 1 << 20
	return either(strings.HasSuffix(q.String(), "Ki"), resource.NewQuantity(q.Value()/mebi*mebi, resource.BinarySI), &q)
}

// holder names a pod on a node that has something; empty if none is given.
func (p *podFacts) holder(has func(*corev1.Pod) bool) string {
	for _, pod := range p.f.all() {
		if pod.Name != p.Name && pod.Spec.NodeName != "" && !hasEnded(pod) && has(pod) {
			return "pod " + pod.Name + ownedBy(pod) + " on node " + pod.Spec.NodeName
		}
	}
	return ""
}

// hostPorts returns the ports of its node that a pod has.
func hostPorts(pod *corev1.Pod) (ports []int32) {
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if n := cmp.Or(port.HostPort, either(pod.Spec.HostNetwork, port.ContainerPort, 0)); n != 0 {
				ports = append(ports, n)
			}
		}
	}
	return ports
}

// portTaken finds that a port of the nodes is in use, and by which pod.
func portTaken(p *podFacts) sign {
	s := unschedulable("free ports")(p)
	if s.text == "" {
		return s // it would go through all pods
	}
	for _, port := range hostPorts(p.Pod) {
		of := p.holder(func(pod *corev1.Pod) bool { return slices.Contains(hostPorts(pod), port) })
		if of != "" {
			s.text = fmt.Sprintf("%s; port %d of the node is taken by %s", strings.TrimSuffix(s.text, "."), port, of)
			break
		}
	}
	return s
}

// claimTaken finds that another pod has a claim which one pod alone may use.
func claimTaken(p *podFacts) sign {
	s := unschedulable("ReadWriteOncePod")(p)
	if s.text == "" {
		return s // it would go through all pods
	}
	for _, claim := range p.f.claims(p.Pod) {
		of := p.holder(func(pod *corev1.Pod) bool { return pod.Namespace == p.Namespace && mounts(pod, claim) })
		if of != "" {
			s.text = strings.TrimSuffix(s.text, ".") + "; PersistentVolumeClaim " + claim + " is in use by " + of
			break
		}
	}
	return s
}
