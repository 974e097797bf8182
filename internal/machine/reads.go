package machine

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/decide"
)

// begin chooses between the view and live reads. It decides at once if the view is usable.
func (s *sync) begin() error {
	job := s.view.Job
	if job == nil {
		if s.Idle() {
			s.leave()
		} else {
			s.live = true
		}
		return nil
	}
	s.Key = types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
	fresh := s.fresh(&s.view)
	if s.Job == "" || s.Job != job.UID && fresh && s.Idle() {
		s.forget(job.UID)
	}
	generated := func(l Lost) bool { return l.Name == "" }
	s.live = !fresh || s.Job != job.UID || s.ReadFirst || slices.ContainsFunc(s.Lost, generated)
	if s.live {
		return nil
	}
	s.accept(&s.view)
	s.Shown = newest(s.Shown, s.view.version())
	s.proceed()
	if s.result.Outcome == nil && s.step == over {
		return s.Machine.Result().Err
	}
	return nil
}

func (s *sync) askJob() []exchange {
	if !s.live {
		return nil
	}
	return []exchange{{Request: Request{Verb: GetJob, Name: s.Key.Name, UID: s.Job}}}
}

func (s *sync) handleJob(batch []exchange) step {
	x := &batch[0]
	live := x.jobObject()
	switch fate := x.fate(); {
	case fate == missing, fate == done && live == nil:
		return s.leave()
	case fate != done:
		return s.end(fmt.Errorf("reading the Job: %w", x.failure()))
	}
	switch seen := s.view.Job; {
	case live.UID == s.Job && (seen == nil || seen.UID != live.UID):
		return s.wait() // the cache still shows an earlier Job, or none yet
	case seen == nil, seen.UID != live.UID:
		s.leave()
		return s.wait()
	case s.Job != live.UID:
		s.forget(live.UID)
	}
	s.ReadFirst = false
	s.view.Job, s.view.StatusVersion = live, ""
	s.Known = newest(s.Known, live.ResourceVersion)
	if s.view.JobsVersion == "" {
		s.Shown = s.Known // without a versioned cache there is nothing to wait for
	}
	return listPods
}

func (s *sync) askPods() []exchange {
	if !s.live {
		return nil
	}
	return []exchange{{Request: Request{Verb: ListPods}}}
}

func (s *sync) handlePods(batch []exchange) step {
	x := &batch[0]
	list, ok := x.object.(*corev1.PodList)
	if x.fate() != done {
		return s.end(fmt.Errorf("listing the pods: %w", x.failure()))
	}
	if !ok || list == nil {
		return s.end(fmt.Errorf("listing the pods: %T is not a list of pods", x.object))
	}
	s.view.Pods, s.view.Fed = make([]*corev1.Pod, len(list.Items)), false
	for i := range list.Items {
		s.view.Pods[i] = &list.Items[i]
	}
	s.tally = &decide.Tally{}
	s.tally.List(s.view.Pods)
	s.view.PodsVersion = list.ResourceVersion
	s.PodsFloor = newest(newest(s.PodsFloor, s.view.Barrier), list.ResourceVersion)
	s.JobsFloor = newest(newest(s.JobsFloor, s.view.Barrier), s.view.Job.ResourceVersion)
	s.Lost = nil // each of these pods is in the list or was never created
	return findPods
}

// askUnobserved reads pods by name: those that may have been created, and those that were
// created some time ago and are still not observed.
func (s *sync) askUnobserved() (batch []exchange) {
	if len(s.Created)+len(s.Deleted)+len(s.Stripped) > 0 {
		_ = s.tally.Read(s.input(), &s.Config) // the decision returns the same error
	}
	s.pending = s.observe(s.tally.Pod, s.view.PodsVersion)
	for _, lost := range s.Lost {
		batch = append(batch, exchange{Request: Request{Verb: GetPod, Name: lost.Name}})
	}
	for _, c := range s.pending.created {
		if !c.At.Add(readAfter).After(s.view.Now) {
			batch = append(batch, exchange{Request: Request{Verb: GetPod, Name: c.Name, UID: c.UID}})
		}
	}
	return batch
}

func (s *sync) handleUnobserved(batch []exchange) step {
	for i := range batch {
		x := &batch[i]
		object, fate := x.meta(), x.fate()
		if fate != missing && fate != done {
			return s.end(fmt.Errorf("reading pod %s: %w", x.Name, x.failure()))
		}
		exists := object != nil && (x.UID == object.GetUID() || x.UID == "" && metav1.IsControlledBy(object, s.view.Job))
		if x.UID == "" {
			s.found(x.Name)
		} else {
			s.Created = without(s.Created, func(c Created) bool { return c.UID == x.UID })
		}
		if exists {
			s.create(object, s.view.Now)
		}
	}
	s.pending = s.observe(s.tally.Pod, s.view.PodsVersion)
	return decideNow
}
