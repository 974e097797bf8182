package controller

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/tracking"
)

// byController indexes the cached pods by the UID of their controller, or by their namespace
// if they have none.
const byController = "controller"

// controllerIndex leaves out pods that an object of another kind controls, even if the owner
// reference has the UID of a Job.
func controllerIndex(me tracking.Controller) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		pod := obj.(*corev1.Pod)
		switch ref := metav1.GetControllerOfNoCopy(pod); {
		case ref == nil:
			return []string{uncontrolled(pod.Namespace)}, nil
		case me.Owns(ref):
			return []string{string(ref.UID)}, nil
		default:
			return nil, nil
		}
	}
}

// ofOthers reports whether an object of another kind controls a pod.
func ofOthers(me tracking.Controller, pod *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && !me.Owns(ref)
}

func uncontrolled(namespace string) string { return "namespace/" + namespace }

// stores are the stores of the watched namespaces. An empty name stands for all namespaces.
type stores map[string]*store

func (s stores) of(namespace string) *store {
	return cmp.Or(s[namespace], s[metav1.NamespaceAll])
}

// store reads the caches of a namespace. It returns shared objects, which must not be changed:
// a list from controller-runtime's client would copy each pod, 12 MB per sync at 10,000 pods.
type store struct {
	jobs, pods cache.Indexer
	// barrier is the resource version of a list of pods that this process requested after it
	// acquired the lease.
	barrier string
}

// view returns what the caches hold for a Job. It reads the versions first, so they are never
// newer than the objects.
func (s *store) view(name types.NamespacedName) jobfate.View {
	v := jobfate.View{
		Barrier:     s.barrier,
		JobsVersion: s.jobs.LastStoreSyncResourceVersion(),
		PodsVersion: s.pods.LastStoreSyncResourceVersion(),
	}
	if v.Job = s.job(name); v.Job != nil {
		v.Pods = s.podsFor(v.Job)
	}
	return v
}

// podsFor returns the pods of a Job and the pods without a controller. It reads the second list
// before and after the first: a pod whose adoption is observed between two reads would
// otherwise be in neither list, and would seem to be gone.
func (s *store) podsFor(job *batchv1.Job) []*corev1.Pod {
	before := s.podsUnder(uncontrolled(job.Namespace))
	pods := s.podsUnder(string(job.UID), uncontrolled(job.Namespace))
	if len(before) == 0 {
		return pods
	}
	listed := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		listed[pod.UID] = true
	}
	return append(pods, slices.DeleteFunc(before, func(pod *corev1.Pod) bool { return listed[pod.UID] })...)
}

func (s *store) job(name types.NamespacedName) *batchv1.Job {
	obj, ok, err := s.jobs.GetByKey(name.String())
	if !ok || err != nil {
		return nil
	}
	return obj.(*batchv1.Job)
}

// podsUnder returns the pods under keys of the index.
func (s *store) podsUnder(keys ...string) (pods []*corev1.Pod) {
	for _, key := range keys {
		found, _ := s.pods.ByIndex(byController, key) // fails only without the index
		pods = slices.Grow(pods, len(found))
		for _, obj := range found {
			pods = append(pods, obj.(*corev1.Pod))
		}
	}
	return pods
}

// ownerOf returns the Job that a controller reference names; nil if the cache does not have
// it.
func (s *store) ownerOf(namespace string, ref *metav1.OwnerReference) *batchv1.Job {
	job := s.job(types.NamespacedName{Namespace: namespace, Name: ref.Name})
	if job == nil || job.UID != ref.UID {
		return nil
	}
	return job
}

func (s *store) jobsIn(namespace string) (jobs []*batchv1.Job) {
	found, _ := s.jobs.ByIndex(cache.NamespaceIndex, namespace)
	for _, obj := range found {
		jobs = append(jobs, obj.(*batchv1.Job))
	}
	return jobs
}

func nameOf(job *batchv1.Job) types.NamespacedName {
	return types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
}
