package cluster

import (
	"iter"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// sight is what a controller has seen in a sync: what its caches showed each time that it
// read them, and what it has read live.
type sight struct {
	focus    types.NamespacedName // whose Job is that of the views
	cached   View                 // by the last reads
	jobReads []View               // as far as they show Jobs, each different from those before
	podReads [][]*corev1.Pod      // each different from those before
	looks    bool                 // it reads its caches itself, and the clock
	times    []time.Time          // that it may have read, but for the first
	syncs    types.NamespacedName
	jobs     map[types.NamespacedName]*batchv1.Job // those that were read live
	pods     []*corev1.Pod
	hasPods  bool // the pods were read live
}

// newSight returns the sight of a controller that has read its caches once.
func newSight(focus types.NamespacedName, first View) *sight {
	return &sight{
		focus: focus, cached: first, jobReads: []View{first}, podReads: [][]*corev1.Pod{first.Pods},
		jobs: map[types.NamespacedName]*batchv1.Job{},
	}
}

// look enters that the controller has read one of its caches again.
func (s *sight) look(now View, kind Kind) {
	s.looks = true
	s.pass(now.Now)
	if kind == Jobs {
		s.cached.Job, s.cached.Jobs, s.cached.JobsVersion = now.Job, now.Jobs, now.JobsVersion
		if !slices.ContainsFunc(s.jobReads, func(v View) bool { return slices.Equal(v.Jobs, now.Jobs) }) {
			s.jobReads = append(s.jobReads, s.cached)
		}
		return
	}
	s.cached.Pods, s.cached.PodsVersion = now.Pods, now.PodsVersion
	if !slices.ContainsFunc(s.podReads, func(pods []*corev1.Pod) bool { return slices.Equal(pods, now.Pods) }) {
		s.podReads = append(s.podReads, now.Pods)
	}
}

// pass enters the time. A controller may read it whenever it likes.
func (s *sight) pass(now time.Time) {
	last := s.cached.Now
	if n := len(s.times); n > 0 {
		last = s.times[n-1]
	}
	if s.looks && !now.Equal(last) {
		s.times = append(s.times, now)
	}
}

// combinations returns what the controller may have decided on: each of its reads of the Jobs
// with each of its reads of the pods. It may also have taken the pods of the Job from one
// read and the others from another: controllers list orphans apart.
func (s *sight) combinations(yield func(View) bool) {
	for _, v := range s.jobReads {
		for _, own := range s.podReads {
			v.Pods = own
			if !yield(v) {
				return
			}
		}
		if v.Job == nil {
			continue
		}
		for i, own := range s.podReads {
			for j, others := range s.podReads {
				if i == j {
					continue
				}
				v.Pods = mixed(v.Job, own, others)
				if !yield(v) {
					return
				}
			}
		}
	}
}

// mixed returns the pods of the Job as one list shows them, and the others as another does.
func mixed(job *batchv1.Job, own, others []*corev1.Pod) []*corev1.Pod {
	var pods []*corev1.Pod
	seen := map[types.UID]bool{}
	for _, pod := range own {
		if metav1.IsControlledBy(pod, job) {
			pods, seen[pod.UID] = append(pods, pod), true
		}
	}
	for _, pod := range others {
		if !seen[pod.UID] && !metav1.IsControlledBy(pod, job) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// read is a view with what was read live.
func (s *sight) read(v View) *View {
	if len(s.jobs) > 0 {
		jobs := slices.Clone(v.Jobs)
		for name, live := range s.jobs {
			jobs = slices.DeleteFunc(jobs, func(job *batchv1.Job) bool { return nameOf(job) == name })
			if live != nil {
				jobs = append(jobs, live)
			}
			if name == s.focus {
				v.Job = live
			}
		}
		v.Jobs = jobs
	}
	if s.hasPods {
		v.Pods = s.pods
	}
	return &v
}

// step completes a step of the controller with what it has seen.
func (s *sight) step(step Step) Step {
	if s == nil {
		return step
	}
	seen := *s
	seen.jobs = maps.Clone(s.jobs)
	step.View, step.For = &seen.cached, s.syncs
	live := len(s.jobs) > 0 || s.hasPods
	if live {
		step.Read = seen.read(seen.cached)
	}
	if len(s.jobReads)+len(s.podReads)+len(s.times) > 2 {
		step.Earlier = seen.earlier(live)
	}
	return step
}

// earlier returns all that the controller may have decided on.
func (s *sight) earlier(live bool) iter.Seq[View] {
	times := append([]time.Time{s.cached.Now}, s.times...)
	return func(yield func(View) bool) {
		for _, now := range times {
			for v := range s.combinations {
				v.Now = now
				if !yield(v) || live && !yield(*s.read(v)) {
					return
				}
			}
		}
	}
}

// Views returns what the controller may have decided on, first what it has read last.
func (s *Step) Views() iter.Seq[View] {
	return func(yield func(View) bool) {
		if s.Read != nil && !yield(*s.Read) || !yield(*s.View) || s.Earlier == nil {
			return
		}
		s.Earlier(yield)
	}
}
