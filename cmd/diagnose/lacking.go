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
)

// What nodes lack, and who has it.

// lacking finds that nodes lack a resource, with who has it.
func lacking(p *podFacts) sign {
	s := unschedulable("Insufficient ")(p)
	if held := p.f.holders(p.decisive(s.text)); held != "" {
		s.text = strings.TrimSuffix(s.text, ".") + held
	}
	return s
}

// deviceMissing finds that nodes lack a resource that a plugin offers: its name has a domain.
func deviceMissing(p *podFacts) (s sign) {
	if text, _ := p.schedulerSays(); strings.Contains(p.decisive(text), "/") {
		s = lacking(p)
	}
	return s
}

// holders says which of the pods given have most of the resource that a reason of the scheduler names.
func (f *facts) holders(reason string) string {
	m := insufficient.FindStringSubmatch(reason)
	if m == nil {
		return ""
	}
	if text, known := f.holding[m[1]]; known {
		return text
	}
	of := map[string]resource.Quantity{}
	for _, pod := range f.all() {
		who, takes := cmp.Or(strings.Trim(ownedBy(pod), " ()"), "pod "+pod.Name), takes(pod, m[1])
		if !takes.IsZero() && pod.Spec.NodeName != "" && !hasEnded(pod) {
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
	const most = 3
	f.holding[m[1]] = textIf(len(says) > 0, "; of "+m[1]+", "+strings.Join(says[:min(most, len(says))], ", "))
	return f.holding[m[1]]
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
	for _, of := range insufficient.FindAllStringSubmatch(s.text, -1) {
		needs, most := takes(p.Pod, of[1]), resource.Quantity{}
		for _, node := range p.f.nodes {
			has := node.Status.Allocatable[corev1.ResourceName(of[1])]
			most = either(has.Cmp(most) > 0, has, most)
		}
		if needs.Cmp(most) > 0 && !most.IsZero() { // zero: a device plugin may have failed
			s.text = fmt.Sprintf("%s; it requests %s %s, and no node has more than %s", strings.TrimSuffix(s.text, "."),
				needs.String(), of[1], most.String())
			return s
		}
	}
	return sign{}
}
