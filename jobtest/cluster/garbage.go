package cluster

import (
	"iter"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GarbageAction is what the garbage collector does with an object because of its owners. The zero
// GarbageAction is nothing.
type GarbageAction struct {
	// Delete is the policy with which the object is deleted, or empty.
	Delete metav1.DeletionPropagation
	// Drop lists the owners whose references are removed from the object, and Finalizer is the
	// finalizer that is removed from it.
	Drop      []types.UID
	Finalizer string
}

// Edits reports whether the action changes the object without deleting it.
func (g GarbageAction) Edits() bool { return g.Drop != nil || g.Finalizer != "" }

// Edit makes these changes. It does not change the slices of the object.
func (g GarbageAction) Edit(o metav1.Object) {
	o.SetOwnerReferences(slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()),
		func(ref metav1.OwnerReference) bool { return slices.Contains(g.Drop, ref.UID) }))
	o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()),
		func(f string) bool { return f == g.Finalizer }))
}

// GarbageActionOf returns what the garbage collector does with an object. The function owner
// returns the object that a reference names, or nil if that is gone. Each owner that is gone or
// waits for the deletion of the object is one owner less, and without any the object is deleted: in
// the foreground if an owner waits and one of the objects has it as an owner. With an owner that is
// deleted with the policy Orphan, only the reference is removed. An object that is being deleted
// loses the finalizer of its policy once the objects no longer have it as an owner.
func GarbageActionOf(o metav1.Object, owner func(metav1.OwnerReference) metav1.Object,
	objects iter.Seq[metav1.Object]) GarbageAction {
	var orphaned, absent []types.UID
	waits := false
	refs := o.GetOwnerReferences()
	for _, ref := range refs {
		switch of := owner(ref); {
		case of == nil:
			absent = append(absent, ref.UID)
		case waitsWith(of, metav1.FinalizerOrphanDependents):
			orphaned = append(orphaned, ref.UID)
		case waitsWith(of, metav1.FinalizerDeleteDependents):
			absent, waits = append(absent, ref.UID), true
		}
	}
	switch finalizers := o.GetFinalizers(); {
	case len(orphaned) > 0:
		return GarbageAction{Drop: orphaned}
	case o.GetDeletionTimestamp() != nil:
		return GarbageAction{Finalizer: Settled(o, objects)}
	case len(absent) == 0:
		return GarbageAction{}
	case len(absent) < len(refs):
		return GarbageAction{Drop: absent}
	case waits && isOwner(o, objects, false), slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
		return GarbageAction{Delete: metav1.DeletePropagationForeground}
	case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
		return GarbageAction{Delete: metav1.DeletePropagationOrphan}
	}
	return GarbageAction{Delete: metav1.DeletePropagationBackground}
}

func waitsWith(o metav1.Object, finalizer string) bool {
	return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), finalizer)
}

// Settled returns the finalizer that the garbage collector removes next from an object that is
// being deleted; empty if it has none or waits for one of the objects.
func Settled(o metav1.Object, objects iter.Seq[metav1.Object]) string {
	for _, f := range []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents} {
		if waitsWith(o, f) && !isOwner(o, objects, f == metav1.FinalizerDeleteDependents) {
			return f
		}
	}
	return ""
}

// isOwner reports whether one of the objects has o as an owner, or as one whose deletion it
// blocks.
func isOwner(o metav1.Object, objects iter.Seq[metav1.Object], blocks bool) bool {
	for other := range objects {
		for _, ref := range other.GetOwnerReferences() {
			if ref.UID == o.GetUID() && (!blocks || ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion) {
				return true
			}
		}
	}
	return false
}

// CollectPod returns the next version of a pod after garbage collection; nil if it is gone.
// jobOf returns the Job with a UID; nil if there is none.
func CollectPod(pod *corev1.Pod, jobOf func(types.UID) *batchv1.Job, now time.Time) *corev1.Pod {
	action := GarbageActionOf(pod, func(ref metav1.OwnerReference) metav1.Object {
		switch job := jobOf(ref.UID); {
		case job != nil:
			return job
		case OwnedByJob(&ref):
			return nil
		}
		return pod // an owner of another kind stays
	}, Objects[*corev1.Pod](nil))
	switch {
	case action.Delete != "":
		return DeletePod(pod, DefaultGrace, now)
	case action.Edits():
		return EditPod(pod, func(p *corev1.Pod) { action.Edit(p) })
	}
	return pod
}

// Objects yields the objects of a Go type.
func Objects[T metav1.Object](all []T) iter.Seq[metav1.Object] {
	return func(yield func(metav1.Object) bool) {
		for _, o := range all {
			if !yield(o) {
				return
			}
		}
	}
}
