package main

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobstatus"
)

// byController is the index of the cached pods: by the UID of their controller,
// or by their namespace when they have none.
const byController = "controller"

func controllerIndex(obj any) ([]string, error) {
	pod := obj.(*corev1.Pod)
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return []string{string(ref.UID)}, nil
	}
	return []string{uncontrolled(pod.Namespace)}, nil
}

func uncontrolled(namespace string) string { return "namespace/" + namespace }

// store is what the informers have seen. What it returns is shared with everybody
// and must not be changed. It hands out pointers; a list as controller-runtime's
// client returns it would copy each pod, 12 MB a turn at 10,000 pods.
type store struct {
	jobs, pods cache.Indexer
}

func (s store) job(name types.NamespacedName) *batchv1.Job {
	obj, ok, err := s.jobs.GetByKey(name.String())
	if !ok || err != nil {
		return nil
	}
	return obj.(*batchv1.Job)
}

func (s store) pod(namespace, name string) *corev1.Pod {
	obj, ok, err := s.pods.GetByKey(namespace + "/" + name)
	if !ok || err != nil {
		return nil
	}
	return obj.(*corev1.Pod)
}

// podsUnder returns the pods under keys of the index.
func (s store) podsUnder(keys ...string) (pods []*corev1.Pod) {
	for _, key := range keys {
		found, _ := s.pods.ByIndex(byController, key) // fails only without the index
		pods = slices.Grow(pods, len(found))
		for _, obj := range found {
			pods = append(pods, obj.(*corev1.Pod))
		}
	}
	return pods
}

// selecting returns the Jobs whose selector matches a pod.
func (s store) selecting(pod *corev1.Pod) (jobs []*batchv1.Job) {
	found, _ := s.jobs.ByIndex(cache.NamespaceIndex, pod.Namespace)
	for _, obj := range found {
		job := obj.(*batchv1.Job)
		selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// snapshot reads the Job, and then the pods, which must be at least as fresh.
func (c *controller) snapshot(ctx context.Context, job *batchv1.Job, m *memory) (jobfate.Snapshot, error) {
	s := jobfate.Snapshot{Job: job, Now: c.now()}
	ended := jobstatus.Finished(job) != nil
	if m.fresh || ended || untouched(job) {
		// What is seen now, the pods that are read afterwards show as well.
		m.forgetSeen(job, func(name string) *corev1.Pod { return c.store.pod(job.Namespace, name) })
		s.Pods = c.store.podsUnder(string(job.UID), uncontrolled(job.Namespace))
	} else {
		read, err := c.readLive(ctx, job)
		if err != nil {
			return s, err
		}
		m.forgetSeen(read.job, read.pod)
		m.fresh = c.store.shows(read)
		s.Job, s.Pods = read.job, read.pods
	}
	if err := m.askForMissed(s.Now, func(name string) (*corev1.Pod, error) {
		return c.reader.CoreV1().Pods(job.Namespace).Get(ctx, name, metav1.GetOptions{})
	}); err != nil {
		return s, err
	}
	s.InFlight, s.Backoff, s.BackoffInDoubt = m.inFlight(), m.backoff, !m.sure
	return s, nil
}

// live is a Job and its pods as the server has them.
type live struct {
	job     *batchv1.Job
	pods    []*corev1.Pod
	version string // of the list of pods
}

// readLive reads a Job, and then its pods, past the caches. The cache of pods may
// lag behind that of Jobs and show pods with their finalizer that an earlier
// process has counted already.
func (c *controller) readLive(ctx context.Context, cached *batchv1.Job) (live, error) {
	job, err := c.liveJob(ctx, cached.Namespace, cached.Name)
	if err != nil {
		return live{}, err
	}
	if job == nil || job.UID != cached.UID {
		return live{}, errStale
	}
	var options metav1.ListOptions
	// A selector that cannot be read is the decision's to tell of.
	if selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector); err == nil {
		options.LabelSelector = selector.String() // empty for that which selects all
	}
	found, err := c.reader.CoreV1().Pods(job.Namespace).List(ctx, options)
	if err != nil {
		return live{}, fmt.Errorf("reading the pods: %w", err)
	}
	read := live{job: job, version: found.ResourceVersion}
	for i := range found.Items {
		read.pods = append(read.pods, &found.Items[i])
	}
	return read, nil
}

// liveJob reads a Job past the cache; nil when there is none.
func (c *controller) liveJob(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	job, err := c.reader.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the Job: %w", err)
	}
	return job, nil
}

func (l live) pod(name string) *corev1.Pod {
	for _, pod := range l.pods {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

// shows reports whether the caches show the Job and the pods that were read, as
// they were or as they became, and none that was gone by then.
func (s store) shows(read live) bool {
	job := s.job(nameOf(read.job))
	if job == nil || job.UID != read.job.UID || older(job.ResourceVersion, read.job.ResourceVersion) {
		return false
	}
	// A pod that was made, counted and removed is not among those that were read,
	// and a cache that has seen none of it is still to show it. What was counted had
	// lost its finalizer before the Job was last written. None: the store cannot tell.
	if seen := s.pods.LastStoreSyncResourceVersion(); seen != "" && older(seen, read.job.ResourceVersion) {
		return false
	}
	known := make(map[types.UID]bool, len(read.pods))
	for _, pod := range read.pods {
		known[pod.UID] = true
		cached := s.pod(pod.Namespace, pod.Name)
		if cached == nil || cached.UID != pod.UID || older(cached.ResourceVersion, pod.ResourceVersion) {
			return false
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(read.job.Spec.Selector)
	if err != nil {
		return false
	}
	for _, pod := range s.podsUnder(string(read.job.UID)) {
		if !known[pod.UID] && selector.Matches(labels.Set(pod.Labels)) && !older(read.version, pod.ResourceVersion) {
			return false
		}
	}
	return true
}
