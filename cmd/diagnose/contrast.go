package diagnose

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// contrast is what pods that failed alike have in common, and pods that succeeded with the same name of an image have
// not. Its text says so; empty if there is no such thing.
type contrast struct {
	text  string
	image bool // another image has the name; else it is the architecture of the nodes
}

// contrastOf compares the pods of a group with those that succeeded, of the Job and of others.
func (f *facts) contrastOf(g *Group) contrast {
	if g.ExitCode == nil || f.faultOf(g.example).disrupted || g.example.Pod.Status.Reason != "" {
		return contrast{}
	}
	ran := func(pod *corev1.Pod) (is corev1.ContainerStatus) {
		for i := range pod.Status.ContainerStatuses {
			if c := &pod.Status.ContainerStatuses[i]; c.Name == g.Container {
				return *c
			}
		}
		return is
	}
	arch := func(pod *corev1.Pod) string {
		if node := f.nodes[pod.Spec.NodeName]; node != nil {
			return node.Labels[corev1.LabelArchStable]
		}
		return ""
	}
	bad, badOn := ran(g.example.Pod), arch(g.example.Pod)
	var good *corev1.Pod
	sameImage, sameArch := bad.ImageID == "", badOn == ""
	for _, r := range g.records {
		sameImage, sameArch = sameImage || ran(r.Pod).ImageID != bad.ImageID, sameArch || arch(r.Pod) != badOn
	}
	for _, pod := range f.all() {
		c := ran(pod)
		if pod.Status.Phase != corev1.PodSucceeded || c.Image != bad.Image || c.ImageID == "" {
			continue
		}
		good = pod
		sameImage, sameArch = sameImage || c.ImageID == bad.ImageID, sameArch || arch(pod) == badOn || arch(pod) == ""
	}
	digest := func(c corev1.ContainerStatus) string { return c.ImageID[strings.LastIndex(c.ImageID, "@")+1:] }
	switch {
	case good == nil:
	case !sameImage:
		return contrast{fmt.Sprintf("image %s is %s now, and was %s in pod %s, which succeeded", bad.Image, digest(bad),
			digest(ran(good)), good.Name), true}
	case !sameArch:
		return contrast{fmt.Sprintf("all failed on nodes of architecture %s, and pod %s succeeded with this image on "+
			"one of %s", badOn, good.Name, arch(good)), false}
	}
	return contrast{}
}

// all returns the pods of the Job, and the others of its namespace that are given.
func (f *facts) all() (pods []*corev1.Pod) {
	for _, r := range f.pods {
		pods = append(pods, r.Pod)
	}
	for _, pod := range f.neighbours() {
		if !metav1.IsControlledBy(pod, f.Job) {
			pods = append(pods, pod)
		}
	}
	return pods
}
