package cluster

import (
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Cache holds the watch caches of one controller, one of Jobs and one of pods. Each cache
// lags until a method makes it catch up, the cache of pods one pod at a time.
type Cache struct {
	c       *Cluster
	jobs    []cachedJob // by slot
	pods    podStore    // empty in a live cache, which shows the stored pods
	lagging []types.UID // the stale pods, in the order of their first change that is not shown
	live    bool
	// laggingAt holds the versions of these first changes.
	laggingAt []int
	barrier   int // the version when the process started
	shown     int // the last view was complete in pods up to this version
}

// cachedJob is the Job that a cache shows for a slot. lagging lists the changes that it does not
// show yet, in order.
type cachedJob struct {
	job     *batchv1.Job
	lagging []change
}

// next shows the next version.
func (s *cachedJob) next() {
	if len(s.lagging) > 0 {
		s.job, s.lagging = s.lagging[0].job, s.lagging[1:]
	}
}

// at returns the cache entry of a slot.
func (s *Cache) at(slot int) *cachedJob {
	for len(s.jobs) <= slot {
		s.jobs = append(s.jobs, cachedJob{})
	}
	return &s.jobs[slot]
}

// NewCache returns a cache that is up to date. A live cache never lags.
func (c *Cluster) NewCache(live bool) *Cache {
	cache := &Cache{c: c, live: live, barrier: c.version}
	for at, slot := range c.slots {
		cache.at(at).job = slot.job
	}
	if !live {
		cache.pods = c.pods.clone()
	}
	c.caches = append(c.caches, cache)
	return cache
}

// NewCacheAt returns a cache whose Jobs and pods are stale by these numbers of changes, at most
// History. A controller gets such a cache if it restarts and reads from a stale API server. A Job
// without an earlier version in the History is not stale.
func (c *Cluster) NewCacheAt(jobBack, podsBack int) *Cache {
	cache := c.NewCache(false)
	back := func(n int) []change { return c.past[len(c.past)-min(n, len(c.past)):] }
	for at := range c.slots {
		c.rewindJob(cache, at, back(jobBack))
	}
	cache.rewindPods(c.past[:len(c.past)-len(back(podsBack))], back(podsBack))
	return cache
}

// rewindJob undoes changes of a Job if an earlier version is known.
func (c *Cluster) rewindJob(cache *Cache, at int, undone []change) {
	earlier := c.past[:len(c.past)-len(undone)]
	for _, e := range slices.Backward(earlier) {
		if e.uid != "" || e.slot != at {
			continue
		}
		cache.at(at).job = e.job
		for _, u := range undone {
			if u.uid == "" && u.slot == at {
				cache.lateJob(u)
			}
		}
		return
	}
}

// rewindPods undoes changes of pods. A pod gets its last version in earlier. A pod without
// one was either created by an undone change, and is dropped, or its earlier versions are
// not remembered, and it stays.
func (s *Cache) rewindPods(earlier, undone []change) {
	for i, u := range undone {
		if u.uid == "" || slices.ContainsFunc(undone[:i], func(o change) bool { return o.uid == u.uid }) {
			continue
		}
		var before *corev1.Pod
		known := false
		for _, e := range slices.Backward(earlier) {
			if e.uid == u.uid {
				before, known = e.pod, true
				break
			}
		}
		switch {
		case before != nil:
			s.pods.put(before)
		case known || u.pod != nil && len(u.pod.Status.Conditions) == 0 && u.pod.Spec.NodeName == "":
			s.pods.drop(u.uid) // its creation is undone
		default:
			continue
		}
		s.latePod(u.uid, u.version)
	}
}

// Rewind makes the cache stale by these numbers of changes without a restart of its process, and
// reports whether it did. It does nothing if the cache would show older pods but claim to be
// complete up to the same version.
func (s *Cache) Rewind(jobBack, podsBack int) bool {
	older := s.c.NewCacheAt(jobBack, podsBack)
	if older.podsVersion() >= s.shown {
		older.Stop()
		return false
	}
	older.barrier, older.shown = s.barrier, s.shown
	s.Stop()
	*s = *older
	s.c.caches[len(s.c.caches)-1] = s
	return true
}

// Stop stops the cache, which observes no further changes.
func (s *Cache) Stop() {
	s.c.caches = slices.DeleteFunc(s.c.caches, func(o *Cache) bool { return o == s })
}

func (s *Cache) lateJob(e change) {
	slot := s.at(e.slot)
	if s.live {
		slot.job = e.job
		return
	}
	slot.lagging = append(slot.lagging, e)
}

func (s *Cache) latePod(uid types.UID, version int) {
	if !s.live && !slices.Contains(s.lagging, uid) {
		s.lagging, s.laggingAt = append(s.lagging, uid), append(s.laggingAt, version)
	}
}

func (s *Cache) show(uid types.UID) {
	if pod := s.c.pods.get(uid); pod != nil {
		s.pods.put(pod)
	} else {
		s.pods.drop(uid)
	}
}

// Lagging returns the stale pods of the cache, and by how many versions it lags for the Job in
// focus.
func (s *Cache) Lagging() (pods []types.UID, job int) { return s.lagging, len(s.at(s.c.focus).lagging) }

// ShowJob shows the next version of the Job in focus.
func (s *Cache) ShowJob() { s.at(s.c.focus).next() }

// ShowPod shows the stored version of a pod. It skips the versions in between.
func (s *Cache) ShowPod(uid types.UID) {
	if i := slices.Index(s.lagging, uid); i >= 0 {
		s.lagging, s.laggingAt = slices.Delete(s.lagging, i, i+1), slices.Delete(s.laggingAt, i, i+1)
		s.show(uid)
	}
}

// ShowPods shows the stored versions of all pods.
func (s *Cache) ShowPods() {
	for _, uid := range s.lagging {
		s.show(uid)
	}
	s.lagging, s.laggingAt = nil, nil
}

// ShowAll makes the cache catch up completely.
func (s *Cache) ShowAll() {
	s.ShowPods()
	for at, slot := range s.c.slots {
		*s.at(at) = cachedJob{job: slot.job}
	}
}

// Upto returns the version, as counted by [Cluster.Version], up to which the cache is
// complete. It may also show some later changes.
func (s *Cache) Upto() int {
	return min(s.jobsVersion(), s.podsVersion())
}

// View returns the current content of the cache.
func (s *Cache) View() View {
	s.shown = s.podsVersion()
	pods := &s.pods
	if s.live {
		pods = &s.c.pods
	}
	var jobs []*batchv1.Job
	for _, slot := range s.jobs {
		if slot.job != nil {
			jobs = append(jobs, slot.job)
		}
	}
	return View{Now: s.c.Now, Job: s.at(s.c.focus).job, Jobs: jobs, Pods: pods.all(),
		JobsVersion: strconv.Itoa(s.jobsVersion()), PodsVersion: strconv.Itoa(s.shown),
		Barrier: strconv.Itoa(s.barrier)}
}

// jobsVersion returns the version up to which the cache of Jobs is complete.
func (s *Cache) jobsVersion() int {
	version := s.c.version
	for _, slot := range s.jobs {
		if len(slot.lagging) > 0 {
			version = min(version, slot.lagging[0].version-1)
		}
	}
	return version
}

// podsVersion returns the version up to which the cache of pods is complete.
func (s *Cache) podsVersion() int {
	version := s.c.version
	for _, at := range s.laggingAt {
		version = min(version, at-1)
	}
	return version
}

// Outcome is the result of a sync.
type Outcome struct {
	// After is the delay after which the controller requeues the Job, and At the time when
	// that is due. Both are zero if the controller only waits for a change.
	After time.Duration
	At    time.Time
	// Err is the error of Sync.
	Err error
	// Killed says that the controller was killed and must not be used again.
	Killed bool
}
