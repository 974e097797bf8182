// Package route says what a change of a pod concerns: [Of] the Jobs to sync, and [OrphansIn] the pods that no Job will
// count.
package route

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/tracking"
)

// Of returns the names of the Jobs that a change of a pod concerns: the Jobs that
// control it before and after the change or, if it has no controller, the Jobs of its
// namespace that select it. If this controller manages none of these and the pod has the
// finalizer, Of adds an empty name: the pod is an orphan. Before is nil for a new pod,
// after is nil for a deleted pod. The function jobs returns the Jobs of a namespace that
// the cache holds.
//
// Queue the names with a delay: the Job controller waits 1 s, so that one status write counts all
// pods that end meanwhile.
//
// When a Job is gone from the cache, or has another UID, queue its name and the empty name. A pod
// that has lost its owner while the cache still showed the Job concerned only that Job, and may
// never change again.
//
// As in the Job controller, a pod without a controller concerns no Job when it is deleted, nor when
// it had none before, has no finalizer and keeps its labels. [machine.Machine.Feed] needs these changes too:
// Of(nil, pod, …) returns the Jobs of one state of a pod.
func Of(before, after *corev1.Pod, jobs func(namespace string) []*batchv1.Job,
	opts ...decide.Option) (names []types.NamespacedName) {
	as := decide.Options(opts...).Controller()
	add := func(namespace, name string) {
		if key := (types.NamespacedName{Namespace: namespace, Name: name}); !slices.Contains(names, key) {
			names = append(names, key)
		}
	}
	for _, pod := range []*corev1.Pod{before, after} {
		if owner := controllerOf(pod); as.Owns(owner) {
			add(pod.Namespace, owner.Name)
		}
	}
	if after == nil || controllerOf(after) != nil || !matters(as, before, after) {
		return names
	}
	mayAdopt := false
	for _, job := range jobs(after.Namespace) {
		if classify.Selects(job, after) {
			mayAdopt = mayAdopt || as.Manages(job)
			add(job.Namespace, job.Name)
		}
	}
	if !mayAdopt && as.Keys.HasFinalizer(after) {
		add(after.Namespace, "")
	}
	return names
}

// matters reports whether a change of a pod without a controller concerns a Job. If the pod
// had no controller before and has no finalizer to remove, only a change of its labels
// does.
func matters(as tracking.Controller, before, after *corev1.Pod) bool {
	return before == nil || controllerOf(before) != nil || as.Keys.HasFinalizer(after) ||
		!maps.Equal(before.Labels, after.Labels)
}

func controllerOf(pod *corev1.Pod) *metav1.OwnerReference {
	if pod == nil {
		return nil
	}
	return metav1.GetControllerOfNoCopy(pod)
}

// OrphansIn returns Machines that remove the finalizer from the orphans among the pods: see [machine.Free]. There is
// one for each owner that is not among the Jobs, and one for each pod that has no controller and that no Job of this
// controller selects. Pass the Jobs that the cache holds, also those of other controllers. When a Job is gone, pass the
// pods without a controller too: see [Of].
//
// The Machine of a Job frees the other orphans: pods without a controller that the Job
// selects and must not adopt, because the Job or the pod is being deleted or the Job has
// ended, and pods of an ended Job that it no longer selects.
func OrphansIn(pods []*corev1.Pod, jobs []*batchv1.Job, opts ...decide.Option) (all []*machine.Machine) {
	options := decide.Options(opts...)
	as := options.Controller()
	type owner struct{ namespace, uid string }
	var owners []owner                   // in the order of their first pods
	of := map[owner][]*corev1.Pod{}      // their pods
	var selecting []*classify.Classifier // of the Jobs, once a pod has no controller
	for _, pod := range pods {
		ref := controllerOf(pod)
		switch {
		case !as.Frees(pod, nil):
		case ref == nil:
			if selecting == nil {
				selecting = classifiers(as, jobs)
			}
			if !slices.ContainsFunc(selecting, func(of *classify.Classifier) bool {
				return of.Namespace() == pod.Namespace && of.Selects(pod.Labels)
			}) {
				all = append(all, machine.Free(nil, []*corev1.Pod{pod}, options))
			}
		case slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return job != nil && job.UID == ref.UID }):
		default:
			key := owner{pod.Namespace, string(ref.UID)}
			if of[key] == nil {
				owners = append(owners, key)
			}
			of[key] = append(of[key], pod)
		}
	}
	for _, key := range owners {
		all = append(all, machine.Free(controllerOf(of[key][0]), of[key], options))
	}
	return all
}

// classifiers returns those of the Jobs that the controller manages and that have a valid selector, so
// that a selector is compiled once for all pods.
func classifiers(as tracking.Controller, jobs []*batchv1.Job) []*classify.Classifier {
	all := make([]*classify.Classifier, 0, len(jobs))
	for _, job := range jobs {
		if !as.Manages(job) || job.Spec.Selector == nil {
			continue
		}
		if of, err := classify.Of(job, as.Keys, classify.Options{}); err == nil {
			all = append(all, &of)
		}
	}
	return all
}
