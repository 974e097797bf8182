package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// contrast is what pods that failed alike have in common, and pods that succeeded before with the same name of an image
// have not. Its text says so; empty if there is no such thing.
type contrast struct {
	text string
	of   string // "image" if another one has the name, "architecture" or "node"
}

// foreign lists the exit codes of programs that are not built for the architecture of their node.
var foreign = []int32{126, 132, 255}

// contrastOf compares the pods of a group with those that succeeded before the first of them failed.
func (f *facts) contrastOf(g *Group) contrast {
	end := f.faultOf(g.example).End
	if end == nil || f.faultOf(g.example).disrupted || g.example.Pod.Status.Reason != "" {
		return contrast{}
	}
	bad := statusOf(g.example.Pod, g.Container)
	var before []*corev1.Pod
	for _, r := range f.pods {
		if r.Succeeded {
			before = append(before, r.Pod)
		}
	}
	before = slices.DeleteFunc(append(before, f.near.succeeded[bad.Image]...), func(pod *corev1.Pod) bool {
		c := statusOf(pod, g.Container)
		done := c.State.Terminated
		return c.ImageID == "" || c.Image != bad.Image || done == nil || done.FinishedAt.After(g.records[0].Finish())
	})
	if len(before) == 0 || bad.ImageID == "" {
		arch := textIf(mentions(end.Message, "exec format error"), f.arch(g.example.Pod))
		return contrast{text: textIf(arch != "", "node "+g.example.Pod.Spec.NodeName+" has architecture "+arch)}
	}
	good := before[len(before)-1]
	others := func(differ func(bad, good *corev1.Pod) bool) bool {
		return !slices.ContainsFunc(g.records, func(r *record) bool {
			return slices.ContainsFunc(before, func(pod *corev1.Pod) bool { return !differ(r.Pod, pod) })
		})
	}
	image := func(pod *corev1.Pod) string {
		id := statusOf(pod, g.Container).ImageID
		id = id[strings.LastIndex(id, "@")+1:]
		return id[:min(len(id), len("sha256:")+12)]
	}
	quick := end.FinishedAt.Sub(end.StartedAt.Time) < 10*time.Second && slices.Contains(foreign, end.ExitCode)
	built := quick || mentions(end.Message, "exec format error")
	switch {
	case built && others(func(a, b *corev1.Pod) bool {
		return f.arch(a) != "" && f.arch(b) != "" && f.arch(a) != f.arch(b)
	}):
		return contrast{fmt.Sprintf("all failed on nodes of architecture %s, and pod %s succeeded with this image on "+
			"one of %s", f.arch(g.example.Pod), good.Name, f.arch(good)), "architecture"}
	case others(func(a, b *corev1.Pod) bool { return image(a) != image(b) && image(b) == image(good) }):
		return contrast{fmt.Sprintf("image %s was %s here, and %s in pod %s, which succeeded before", bad.Image,
			image(g.example.Pod), image(good), good.Name), "image"}
	}
	node := g.example.Pod.Spec.NodeName
	var failed []*corev1.Pod
	for _, r := range g.records {
		failed = append(failed, r.Pod)
	}
	for _, pod := range f.near.failed[bad.Image] {
		if !metav1.IsControlledBy(pod, f.Job) {
			failed = append(failed, pod)
		}
	}
	elsewhere := func(pod *corev1.Pod) bool { return pod.Spec.NodeName != node }
	here := func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node }
	ofProgram := f.ownLimit(g.example) || !sayingIn(end.Message).mayBeOfNode()
	if node != "" && !ofProgram && len(failed) > 1 && len(before) > 1 &&
		!slices.ContainsFunc(failed, elsewhere) &&
		!slices.ContainsFunc(slices.Concat(before, f.near.succeeded[bad.Image]), here) {
		return contrast{fmt.Sprintf("all %d failed pods with this image ran on node %s, and those that succeeded on "+
			"others", len(failed), node), "node"}
	}
	return contrast{}
}

// statusOf returns the status of a container of a pod; empty if there is none.
func statusOf(pod *corev1.Pod, name string) corev1.ContainerStatus {
	return firstOf(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == name })
}

// arch returns the architecture of the node of a pod; empty if it is not known.
func (f *facts) arch(pod *corev1.Pod) string {
	return cmp.Or(f.nodes[pod.Spec.NodeName], &corev1.Node{}).Labels[corev1.LabelArchStable]
}
