package kubefile

import (
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// dropCopies keeps one copy of each object, and none of what is gone, except Jobs, CronJobs and Events, which still
// tell what happened. Copies have the same UID.
func (in *Input) dropCopies() {
	in.Jobs = pick(in.Jobs, newest(in.Jobs, func(m *Manifest) metav1.Object { return m.Job }))
	pods := newest(in.Pods, func(p *corev1.Pod) metav1.Object { return p })
	pods = slices.DeleteFunc(pods, func(i int) bool { return in.isGone(in.Pods[i]) })
	in.Pods, in.PodsAt = pick(in.Pods, pods), pick(in.PodsAt, pods)
	in.Events = pick(in.Events, newest(in.Events, func(e *corev1.Event) metav1.Object { return e }))
	in.Nodes = pick(in.Nodes, newest(in.Nodes, func(n *corev1.Node) metav1.Object { return n }))
	in.CronJobs = pick(in.CronJobs, newest(in.CronJobs, func(c *batchv1.CronJob) metav1.Object { return c }))
	in.Objects = pick(in.Objects, newest(in.Objects, func(u *unstructured.Unstructured) metav1.Object { return u }))
	in.Nodes = slices.DeleteFunc(in.Nodes, func(n *corev1.Node) bool { return in.isGone(n) })
	in.Objects = slices.DeleteFunc(in.Objects, func(u *unstructured.Unstructured) bool { return in.isGone(u) })
}

// isGone reports whether a watch has seen the deletion of an object.
func (in *Input) isGone(o metav1.Object) bool { return o.GetUID() != "" && in.gone[o.GetUID()] }

// newest returns the positions of the newest copy of each object, in the order of the input. A
// copy is newer if its resourceVersion is higher (KEP-5504), or else if it comes later.
func newest[T any](all []T, of func(T) metav1.Object) (at []int) {
	identity := func(i int) [3]string {
		o := of(all[i])
		return [3]string{string(o.GetUID()), o.GetNamespace(), o.GetName()}
	}
	last := make(map[[3]string]int, len(all))
	for i := range all {
		before, twice := last[identity(i)]
		if !twice || !older(of(all[i]).GetResourceVersion(), of(all[before]).GetResourceVersion()) {
			last[identity(i)] = i
		}
	}
	for i := range all {
		if of(all[i]).GetUID() == "" || last[identity(i)] == i {
			at = append(at, i)
		}
	}
	return at
}

// older reports whether both resource versions are numbers, and the first is less.
func older(version, than string) bool {
	a, wrongA := strconv.ParseUint(version, 10, 64)
	b, wrongB := strconv.ParseUint(than, 10, 64)
	return wrongA == nil && wrongB == nil && a < b
}

func pick[T any](all []T, at []int) (out []T) {
	for _, i := range at {
		out = append(out, all[i])
	}
	return out
}
