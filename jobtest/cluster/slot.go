package cluster

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// slot is a name and the Job that has it now; nil if none has. A Job that is created again
// gets the slot of its predecessor.
type slot struct {
	name types.NamespacedName
	job  *batchv1.Job
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// slotOf returns the index of the slot of a name; -1 if no Job ever had that name.
func (c *Cluster) slotOf(name types.NamespacedName) int {
	return slices.IndexFunc(c.slots, func(s slot) bool { return s.name == name })
}

// Focus selects the Job that methods about one Job act on, in the cluster and its caches.
// The default is the first Job. A name that no Job ever had changes nothing.
func (c *Cluster) Focus(name types.NamespacedName) {
	if at := c.slotOf(name); at >= 0 {
		c.focus = at
	}
}

// Focused returns the name of the Job in focus.
func (c *Cluster) Focused() types.NamespacedName { return c.slots[c.focus].name }

// Job returns the stored Job in focus; nil if there is none.
func (c *Cluster) Job() *batchv1.Job {
	if len(c.slots) == 0 {
		return nil
	}
	return c.slots[c.focus].job
}

// Jobs returns all stored Jobs, in the order in which their names were first used. The
// caller must not change the slice.
func (c *Cluster) Jobs() []*batchv1.Job { return c.listed }

// listJobs returns the Jobs of the slots in a new slice.
func (c *Cluster) listJobs() []*batchv1.Job {
	var jobs []*batchv1.Job
	for _, s := range c.slots {
		if s.job != nil {
			jobs = append(jobs, s.job)
		}
	}
	return jobs
}

// jobOf returns the Job with a UID; nil if there is none.
func (c *Cluster) jobOf(uid types.UID) *batchv1.Job {
	for _, s := range c.slots {
		if s.job != nil && s.job.UID == uid {
			return s.job
		}
	}
	return nil
}

// jobNamed returns the Job with a name; nil if there is none.
func jobNamed(jobs []*batchv1.Job, name types.NamespacedName) *batchv1.Job {
	for _, job := range jobs {
		if nameOf(job) == name {
			return job
		}
	}
	return nil
}

// podsIn returns the pods in a namespace; all pods if the namespace is empty.
func podsIn(pods []*corev1.Pod, namespace string) []*corev1.Pod {
	if namespace == "" {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return pod.Namespace != namespace })
}

// Of returns the step from the perspective of the named Job: Job and the Job of each view
// are that Job.
func (s Step) Of(name types.NamespacedName) Step {
	if s.Pod != nil || s.OldPod != nil {
		s.Job = jobNamed(s.Jobs, name)
		s.OldJob = s.Job
	}
	s.View, s.Read = s.View.of(name), s.Read.of(name)
	if earlier := s.Earlier; earlier != nil {
		s.Earlier = func(yield func(View) bool) {
			for v := range earlier {
				if !yield(*v.of(name)) {
					return
				}
			}
		}
	}
	return s
}

// Name returns the name of the Job that changed; empty if a pod changed.
func (s *Step) Name() types.NamespacedName {
	switch {
	case s.Pod != nil || s.OldPod != nil:
		return types.NamespacedName{}
	case s.Job != nil:
		return nameOf(s.Job)
	}
	return nameOf(s.OldJob)
}

// of returns the view for the named Job; nil if v is nil.
func (v *View) of(name types.NamespacedName) *View {
	if v == nil {
		return nil
	}
	next := *v
	next.Job = jobNamed(v.Jobs, name)
	return &next
}
