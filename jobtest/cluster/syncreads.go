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

// syncReads records what a controller read in a sync: the content of its caches at each
// read, and its live reads.
type syncReads struct {
	focus    types.NamespacedName // the Job of the views
	cached   *View                // the last read of each cache; immutable, so that steps share it
	jobReads []View               // distinct reads of the Jobs; combinations replaces their pods
	podReads [][]*corev1.Pod      // distinct reads of the pods
	rereads  bool                 // the controller read a cache again, so it may have read the clock again
	times    []time.Time          // further times that the controller may have read
	syncs    types.NamespacedName
	jobs     map[types.NamespacedName]*batchv1.Job // read live
	pods     []*corev1.Pod
	hasPods  bool // the pods were read live
	lost     bool // the answer to the current request is lost
}

// newSyncReads returns the reads of a controller that has read each of its caches once.
func newSyncReads(focus types.NamespacedName, first View) *syncReads {
	return &syncReads{
		focus: focus, cached: &first, jobReads: []View{first}, podReads: [][]*corev1.Pod{first.Pods},
		jobs: map[types.NamespacedName]*batchv1.Job{},
	}
}

// readCache records another read of a cache.
func (s *syncReads) readCache(now View, kind Kind) {
	s.rereads = true
	s.readClock(now.Now)
	next := *s.cached
	s.cached = &next
	if kind == Jobs {
		next.Job, next.Jobs, next.JobsVersion = now.Job, now.Jobs, now.JobsVersion
		if !slices.ContainsFunc(s.jobReads, func(v View) bool { return slices.Equal(v.Jobs, now.Jobs) }) {
			s.jobReads = append(s.jobReads, next)
		}
		return
	}
	next.Pods, next.PodsVersion = now.Pods, now.PodsVersion
	if !slices.ContainsFunc(s.podReads, func(pods []*corev1.Pod) bool { return slices.Equal(pods, now.Pods) }) {
		s.podReads = append(s.podReads, now.Pods)
	}
}

// readClock records the time. A controller may read the clock at any point of a sync.
func (s *syncReads) readClock(now time.Time) {
	last := s.cached.Now
	if n := len(s.times); n > 0 {
		last = s.times[n-1]
	}
	if s.rereads && !now.Equal(last) {
		s.times = append(s.times, now)
	}
}

// combinations yields the views that the controller may have decided on: each read of the
// Jobs with each read of the pods. Controllers list orphans separately, so the pods of the
// Job may come from one read and the other pods from another.
func (s *syncReads) combinations(yield func(View) bool) {
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

// mixed returns the pods of the Job from one list and the other pods from another.
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

// withLiveReads returns the view updated with the live reads.
func (s *syncReads) withLiveReads(v View) *View {
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

// step adds the reads to a step of the controller.
func (s *syncReads) step(step Step) Step {
	if s == nil {
		return step
	}
	step.View, step.For, step.Lost = s.cached, s.syncs, s.lost
	live := len(s.jobs) > 0 || s.hasPods
	if live {
		step.Read = s.withLiveReads(*s.cached)
	}
	if len(s.jobReads)+len(s.podReads)+len(s.times) > 2 {
		seen := *s
		seen.jobs = maps.Clone(s.jobs)
		step.Earlier = seen.earlier(live)
	}
	return step
}

// earlier returns all views that the controller may have decided on.
func (s *syncReads) earlier(live bool) iter.Seq[View] {
	times := append([]time.Time{s.cached.Now}, s.times...)
	return func(yield func(View) bool) {
		for _, now := range times {
			for v := range s.combinations {
				v.Now = now
				if !yield(v) || live && !yield(*s.withLiveReads(v)) {
					return
				}
			}
		}
	}
}

// Views returns the views that the controller may have decided on, the most recent first.
func (s *Step) Views() iter.Seq[View] {
	return func(yield func(View) bool) {
		if s.Read != nil && !yield(*s.Read) || !yield(*s.View) || s.Earlier == nil {
			return
		}
		s.Earlier(yield)
	}
}
