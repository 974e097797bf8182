package machine

import (
	"errors"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/tracking"
)

var (
	errJobExists = errors.New("the Job of the pods exists, but the cache does not show it yet")
	errOrphans   = errors.New("this Machine frees orphans: it cannot begin a sync")
)

// OrphansIn returns Machines that remove the finalizer from the orphans among the pods. No Job will
// count an orphan, so its finalizer would block its deletion. OrphansIn returns one Machine for
// each owner that is not among the Jobs, and one for each pod that has no controller and that no
// Job of this controller selects. Pass the Jobs that the cache holds, also those of other controllers.
// The Machine reads a Job that is not among them live before it frees the pods. When a Job is gone,
// pass the pods without a controller too: see [RouteOf].
//
// The Machine of a Job frees the other orphans: pods without a controller that the Job
// selects and must not adopt, because the Job or the pod is being deleted or the Job has
// ended, and pods of an ended Job that it no longer selects.
//
// Each Machine has already begun. Run it once and drop it. If its result has an error,
// retry soon, unless the Job of the pods turns out to exist.
func OrphansIn(pods []*corev1.Pod, jobs []*batchv1.Job, opts ...decide.Option) (all []*Machine) {
	options := decide.Options(opts...)
	as := options.Controller()
	var selecting []*tracking.Classifier   // of the Jobs, once a pod has no controller
	at := map[types.NamespacedName]*sync{} // by namespace and UID of the controller
	for _, pod := range pods {
		owner := controllerOf(pod)
		switch {
		case !as.Frees(pod, nil):
		case owner == nil:
			if selecting == nil {
				selecting = classifiers(as, jobs)
			}
			if !slices.ContainsFunc(selecting, func(of *tracking.Classifier) bool {
				return of.Namespace() == pod.Namespace && of.Selects(pod.Labels)
			}) {
				all = append(all, freeing(options, nil, pod).Machine)
			}
		case slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return job != nil && job.UID == owner.UID }):
		default:
			key := types.NamespacedName{Namespace: pod.Namespace, Name: string(owner.UID)}
			if s := at[key]; s != nil {
				s.view.Pods = append(s.view.Pods, pod)
				continue
			}
			at[key] = freeing(options, owner, pod)
			all = append(all, at[key].Machine)
		}
	}
	return all
}

// classifiers returns those of the Jobs that the controller manages and that have a valid selector, so
// that a selector is compiled once for all pods.
func classifiers(as tracking.Controller, jobs []*batchv1.Job) []*tracking.Classifier {
	all := make([]*tracking.Classifier, 0, len(jobs))
	for _, job := range jobs {
		if !as.Manages(job) || job.Spec.Selector == nil {
			continue
		}
		if of, err := tracking.ClassifierOf(job, as.Keys, tracking.Options{}); err == nil {
			all = append(all, &of)
		}
	}
	return all
}

// freeing returns the sync of a new Machine that frees a pod with the given controller.
func freeing(options decide.Option, owner *metav1.OwnerReference, pod *corev1.Pod) *sync {
	m := &Machine{options: options, orphans: true, synced: true}
	m.memory.Key.Namespace = pod.Namespace
	m.sync = &sync{Machine: m, Memory: &m.memory, options: options, step: freePods, owner: owner,
		view: View{Pods: []*corev1.Pod{pod}}}
	if owner != nil {
		m.sync.step = readOwner
	}
	return m.sync
}

// askOwner reads the Job of the orphans live, because a cache that does not show it may be
// stale.
func (s *sync) askOwner() []*exchange { return readOf(s.owner.Name, s.owner.UID) }

func (s *sync) handleOwner(batch []*exchange) step {
	job, err := batch[0].job()
	switch {
	case err != nil:
		return s.end(err)
	case job != nil && job.UID == s.owner.UID:
		return s.end(errJobExists)
	}
	return freePods
}

// askFree removes the finalizers. A patch fails if a Job has adopted the pod meanwhile.
func (s *sync) askFree() []*exchange { return patches(s.view.Pods, s.keys().StripPatchAt) }

func (s *sync) handleFree(batch []*exchange) step {
	for _, x := range batch {
		s.fail(x.failure("freeing pod " + x.Name))
	}
	return over
}

// RouteOf returns the names of the Jobs that a change of a pod concerns: the Jobs that
// control it before and after the change or, if it has no controller, the Jobs of its
// namespace that select it. If this controller manages none of these and the pod has the
// finalizer, RouteOf adds an empty name: the pod is an orphan. Before is nil for a new pod,
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
// it had none before, has no finalizer and keeps its labels. [Machine.Feed] needs these changes too:
// RouteOf(nil, pod, …) returns the Jobs of one state of a pod.
func RouteOf(before, after *corev1.Pod, jobs func(namespace string) []*batchv1.Job,
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
		if tracking.Selects(job, after) {
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
