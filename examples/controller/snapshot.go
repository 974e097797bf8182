package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// byJob is the index of the cached pods. A pod that a Job controls is found by
// the name of that Job, whatever its UID: so the pods of an earlier Job of the
// same name come to light as well. A pod that nobody controls is found by its
// namespace and an empty name.
const byJob = "job"

func indexByJob(obj any) ([]string, error) {
	pod := obj.(*corev1.Pod)
	if key, ok := jobOf(pod); ok {
		return []string{key.String()}, nil
	}
	return nil, nil
}

// jobOf returns the name of the Job that controls a pod, which is empty when
// nobody does. It reports false for a pod that something else controls.
func jobOf(pod *corev1.Pod) (types.NamespacedName, bool) {
	ref := metav1.GetControllerOfNoCopy(pod)
	switch {
	case ref == nil:
		return types.NamespacedName{Namespace: pod.Namespace}, true
	case ref.Kind == "Job" && ref.APIVersion == batchv1.SchemeGroupVersion.String():
		return types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}, true
	}
	return types.NamespacedName{}, false
}

// store is what the informers have seen. What it returns is shared with everybody
// and must not be changed. It hands out pointers: a list as controller-runtime's
// client returns it would copy each pod, which at 10,000 pods is 12 MB a turn.
type store struct {
	jobs, pods cache.Indexer
}

func (s store) job(key types.NamespacedName) *batchv1.Job {
	obj, ok, err := s.jobs.GetByKey(key.String())
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

// appendPods appends the pods under a key of the index byJob.
func (s store) appendPods(list []*corev1.Pod, key types.NamespacedName) []*corev1.Pod {
	found, _ := s.pods.ByIndex(byJob, key.String()) // the index exists
	for _, obj := range found {
		list = append(list, obj.(*corev1.Pod))
	}
	return list
}

// selecting returns the Jobs whose selector matches a pod.
func (s store) selecting(pod *corev1.Pod) (jobs []*batchv1.Job) {
	found, _ := s.jobs.ByIndex(cache.NamespaceIndex, pod.Namespace)
	for _, obj := range found {
		job := obj.(*batchv1.Job)
		owner, err := tracking.OwnerOf(job)
		if err == nil && job.Spec.Selector != nil && owner.Selects(pod.Labels) {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// snapshot reads the Job, then the pods, which must be at least as fresh, into
// the list.
func (c *controller) snapshot(ctx context.Context, job *batchv1.Job, m *memory, list []*corev1.Pod, options []jobfate.Option) (jobfate.Snapshot, error) {
	s := jobfate.Snapshot{Job: job, Now: c.now()}
	ended := jobstatus.Finished(job) != nil
	if m.fresh || ended {
		m.forgetSeen(job, func(name string) *corev1.Pod { return c.store.pod(job.Namespace, name) })
		s.Pods = c.store.appendPods(list, types.NamespacedName{Namespace: job.Namespace, Name: job.Name})
		s.Pods = c.store.appendPods(s.Pods, types.NamespacedName{Namespace: job.Namespace})
	} else {
		read, err := readLive(ctx, c.reader, job, list)
		if err != nil {
			return s, err
		}
		m.forgetSeen(read.job, read.pod)
		m.fresh = c.store.shows(read)
		s.Job, s.Pods = read.job, read.pods
	}
	if err := c.findMissed(ctx, job.Namespace, m, s.Now); err != nil {
		return s, err
	}
	s.InFlight = m.inFlight()
	if !m.sure && !ended {
		record, err := jobfate.RebuildBackoff(s, options...)
		if err != nil {
			return s, refusal{err}
		}
		if !record.LastFailure.Before(m.backoff.LastFailure) {
			m.backoff = record
		}
	}
	s.Backoff = m.backoff
	return s, nil
}

// live is a Job and its pods as the server has them.
type live struct {
	job     *batchv1.Job
	pods    []*corev1.Pod
	version string // of the list of pods
}

// readLive reads the Job, and then its pods, past the caches. An earlier process
// may have counted pods, and removed finalizers, that the cache of pods still
// shows as they were, while the cache of Jobs is ahead of it.
func readLive(ctx context.Context, reader kubernetes.Interface, cached *batchv1.Job, list []*corev1.Pod) (live, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	job, err := reader.BatchV1().Jobs(cached.Namespace).Get(ctx, cached.Name, metav1.GetOptions{})
	if err != nil {
		return live{}, fmt.Errorf("reading the Job: %w", err)
	}
	if job.UID != cached.UID {
		return live{}, errStale
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return live{}, refusal{err}
	}
	found, err := reader.CoreV1().Pods(job.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return live{}, fmt.Errorf("reading the pods: %w", err)
	}
	for i := range found.Items {
		list = append(list, &found.Items[i])
	}
	return live{job, list, found.ResourceVersion}, nil
}

func (l live) pod(name string) *corev1.Pod {
	for _, pod := range l.pods {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

// shows reports whether the cache shows the pods at least as they were read.
func (s store) shows(read live) bool {
	known := make(map[types.UID]bool, len(read.pods))
	for _, pod := range read.pods {
		known[pod.UID] = true
		cached := s.pod(pod.Namespace, pod.Name)
		if cached == nil || cached.UID != pod.UID || older(cached.ResourceVersion, pod.ResourceVersion) {
			return false
		}
	}
	owner, err := tracking.OwnerOf(read.job)
	if err != nil {
		return false
	}
	for _, pod := range s.appendPods(nil, types.NamespacedName{Namespace: read.job.Namespace, Name: read.job.Name}) {
		gone := owner.Relation(pod) == tracking.Owned && !known[pod.UID] && !older(read.version, pod.ResourceVersion)
		if gone {
			return false
		}
	}
	return true
}

// findMissed asks the server about pods that were created some time ago, or may
// have been, and that the cache does not show. Those that are not there are not
// waited for any longer.
func (c *controller) findMissed(ctx context.Context, namespace string, m *memory, now time.Time) (err error) {
	m.created = slices.DeleteFunc(m.created, func(w write) bool {
		if err != nil || w.ask.After(now) {
			return false
		}
		var pod *corev1.Pod
		pod, err = c.reader.CoreV1().Pods(namespace).Get(ctx, w.pod, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			err = nil
			return true
		}
		return err == nil && w.uid != "" && pod.UID != w.uid
	})
	return err
}
