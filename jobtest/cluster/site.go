package cluster

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// site is a name under which Jobs are created, and the Job of that name; nil if there is
// none now. A Job that is created again takes the site of its predecessor.
type site struct {
	name types.NamespacedName
	job  *batchv1.Job
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// siteOf returns the site of a name; below zero if no Job ever had that name.
func (c *Cluster) siteOf(name types.NamespacedName) int {
	return slices.IndexFunc(c.sites, func(s site) bool { return s.name == name })
}

// Focus says which Job the methods about one Job mean from now on, of the cluster and of
// its caches. At first it is the first Job. A name that no Job ever had changes nothing.
func (c *Cluster) Focus(name types.NamespacedName) {
	if at := c.siteOf(name); at >= 0 {
		c.focus = at
	}
}

// Focused returns the name of the Job in focus.
func (c *Cluster) Focused() types.NamespacedName { return c.sites[c.focus].name }

// Job returns the Job in focus as it is stored; nil if there is none.
func (c *Cluster) Job() *batchv1.Job {
	if len(c.sites) == 0 {
		return nil
	}
	return c.sites[c.focus].job
}

// Jobs returns all Jobs as they are stored, in the order in which their names were first
// used.
func (c *Cluster) Jobs() []*batchv1.Job {
	var jobs []*batchv1.Job
	for _, s := range c.sites {
		if s.job != nil {
			jobs = append(jobs, s.job)
		}
	}
	return jobs
}

// jobOf returns the Job with a UID; nil if there is none.
func (c *Cluster) jobOf(uid types.UID) *batchv1.Job {
	for _, s := range c.sites {
		if s.job != nil && s.job.UID == uid {
			return s.job
		}
	}
	return nil
}

// named returns the Job of a name; nil if it is not among them.
func named(jobs []*batchv1.Job, name types.NamespacedName) *batchv1.Job {
	for _, job := range jobs {
		if nameOf(job) == name {
			return job
		}
	}
	return nil
}

// podsIn returns the pods of a namespace; all if it is empty.
func podsIn(pods []*corev1.Pod, namespace string) []*corev1.Pod {
	if namespace == "" {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return pod.Namespace != namespace })
}

// Of returns the step as it concerns the Job of a name: Job and the Jobs of the views are
// the Job of that name.
func (s Step) Of(name types.NamespacedName) Step {
	if s.Pod != nil || s.OldPod != nil {
		s.Job = named(s.Jobs, name)
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

// Name returns the name of the Job that has changed; empty if a pod has.
func (s *Step) Name() types.NamespacedName {
	switch {
	case s.Pod != nil || s.OldPod != nil:
		return types.NamespacedName{}
	case s.Job != nil:
		return nameOf(s.Job)
	}
	return nameOf(s.OldJob)
}

// of returns the view of the Job of a name; nil of nil.
func (v *View) of(name types.NamespacedName) *View {
	if v == nil {
		return nil
	}
	next := *v
	next.Job = named(v.Jobs, name)
	return &next
}
