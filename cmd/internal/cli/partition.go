package cli

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
)

// partition finds the pods that may concern a Job among the pods of many Jobs. The maps hold
// positions of pods in the input.
type partition struct {
	in      *kubefile.Input
	byUID   map[types.UID][]int // by the UID of the controller
	byName  map[[2]string][]int // by the namespace and the name of the controller
	orphans map[string][]int    // pods without a controller, by namespace
}

func newPartition(in *kubefile.Input) partition {
	p := partition{in, map[types.UID][]int{}, map[[2]string][]int{}, map[string][]int{}}
	for i, pod := range in.Pods {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			p.byUID[ref.UID] = append(p.byUID[ref.UID], i)
			p.byName[[2]string{pod.Namespace, ref.Name}] = append(p.byName[[2]string{pod.Namespace, ref.Name}], i)
		} else {
			p.orphans[pod.Namespace] = append(p.orphans[pod.Namespace], i)
		}
	}
	return p
}

// of returns the objects for one Job. Its pods are, in the order of the input, those that it
// controls, those of an earlier Job of the same name, and those without a controller.
func (p partition) of(m *kubefile.Manifest, all Objects) Objects {
	job := m.Job
	at := slices.Concat(p.byUID[job.UID], p.byName[[2]string{job.Namespace, job.Name}], p.orphans[job.Namespace])
	slices.Sort(at)
	in := *p.in
	in.Pods, in.PodsAt = nil, nil
	for _, i := range slices.Compact(at) {
		in.Pods, in.PodsAt = append(in.Pods, p.in.Pods[i]), append(in.PodsAt, p.in.PodsAt[i])
	}
	all.Input = &in
	return all
}
