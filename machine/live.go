package machine

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
)

// begin chooses between the view and live reads. It decides at once if the view is usable.
func (s *sync) begin() error {
	job := s.view.Job
	switch {
	case job != nil && s.view.JobsVersion != "" && s.view.version() == "" && s.options.Controller().Manages(job):
		s.end(&decide.InputError{Fields: field.ErrorList{field.Required(field.NewPath("metadata", "resourceVersion"),
			"the Machine waits until the cache shows the version of its last status write")}})
	case job != nil && job.UID != "" && job.UID == s.Gone:
		s.result.Gone = true
		s.end(nil)
	case job != nil:
		s.Key = types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
		caches := memory.Caches{Jobs: s.view.JobsVersion, Pods: s.view.PodsVersion, Barrier: s.view.Barrier}
		fresh := s.Fresh(caches, job, s.view.version())
		if s.Job == "" || s.Job != job.UID && fresh && s.Memory.Idle() {
			s.Forget(job.UID)
		}
		if fresh && s.Job == job.UID && !s.ReadFirst && !slices.Contains(s.Lost, "") {
			s.step = findPods
			s.JobsFloor = memory.Newest(s.JobsFloor, s.view.JobsVersion)
			s.PodsFloor = memory.Newest(s.PodsFloor, s.view.PodsVersion)
			s.Shown = memory.Newest(s.Shown, s.view.version())
		}
	case s.Memory.Idle():
		s.leave()
	}
	s.proceed()
	return s.result.Err
}

func (s *sync) askJob() []*exchange { return readOf(s.Key.Name, s.Job) }

func (s *sync) handleJob(batch []*exchange) step {
	live, err := batch[0].job()
	switch {
	case err != nil:
		return s.end(err)
	case live == nil:
		return s.gone()
	}
	seen := s.view.Job
	switch {
	case live.UID == s.Job && (seen == nil || seen.UID != live.UID):
		return s.wait() // the cache still shows an earlier Job, or none yet
	case seen == nil, seen.UID != live.UID:
		s.gone()
		return s.wait()
	case s.Job != live.UID:
		s.Forget(live.UID)
	}
	s.ReadFirst = false
	s.view.Job, s.view.StatusVersion = live, ""
	s.Known = memory.Newest(s.Known, live.ResourceVersion)
	if s.view.JobsVersion == "" {
		s.Shown = s.Known // without a versioned cache there is nothing to wait for
	}
	return listPods
}

// gone ends the sync: a live read has shown that the Job of the view is gone or, without one, the Job of the memory.
func (s *sync) gone() step {
	s.Gone = s.Job
	if s.view.Job != nil {
		s.Gone = s.view.Job.UID
	}
	return s.leave()
}

func (s *sync) askPods() []*exchange { return []*exchange{{Request: Request{Verb: ListPods}}} }

func (s *sync) handlePods(batch []*exchange) step {
	x := batch[0]
	list, ok := x.object.(*corev1.PodList)
	switch {
	case x.err != nil:
		return s.end(fmt.Errorf("listing the pods: %w", x.err))
	case !ok || list == nil:
		return s.end(fmt.Errorf("listing the pods: %T is not a list of pods", x.object))
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	s.readLive(pods)
	s.view.PodsVersion = list.ResourceVersion
	s.PodsFloor = memory.Newest(memory.Newest(s.PodsFloor, s.view.Barrier), list.ResourceVersion)
	s.JobsFloor = memory.Newest(memory.Newest(s.JobsFloor, s.view.Barrier), s.view.Job.ResourceVersion)
	s.Lost = nil // each of these pods is in the list or was never created
	return findPods
}

// readLive makes this sync decide on pods that were read live.
func (s *sync) readLive(pods []*corev1.Pod) {
	s.pods = &decide.Pods{}
	s.pods.Replace(pods)
}

// askUnobserved reads pods by name: those that may have been created, and those that were
// created some time ago and are still not observed.
func (s *sync) askUnobserved() (batch []*exchange) {
	if !s.Memory.Idle() {
		if err := s.pods.Update(s.snapshot(), s.options); err != nil {
			return nil // the decision ends with the same error
		}
	}
	s.pending = s.Observe(s.pods.Get, s.view.PodsVersion)
	for _, name := range s.Lost {
		batch = append(batch, &exchange{Request: Request{Verb: GetPod, Name: name}})
	}
	for _, c := range s.pending.Created {
		if !c.At.Add(memory.ReadAfter).After(s.view.Now) {
			batch = append(batch, &exchange{Request: Request{Verb: GetPod, Name: c.Name, UID: c.UID}})
		}
	}
	return batch
}

func (s *sync) handleUnobserved(batch []*exchange) step {
	for _, x := range batch {
		if err := x.failure("reading pod " + x.Name); err != nil {
			return s.end(err)
		}
		object := x.meta()
		exists := object != nil && (x.UID == object.GetUID() ||
			x.UID == "" && metav1.IsControlledBy(object, s.view.Job))
		if x.UID == "" {
			s.Found(x.Name)
		} else {
			s.ForgetCreation(x.UID)
		}
		if exists {
			s.Create(object, s.view.Now)
		}
	}
	s.pending = s.Observe(s.pods.Get, s.view.PodsVersion)
	return decideNow
}
