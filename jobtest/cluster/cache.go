package cluster

import (
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Cache is the watch caches of one controller: one of Jobs, one of pods. They
// lag behind until they are told to catch up, each on its own, and pod by pod.
type Cache struct {
	c    *Cluster
	jobs []cachedJob // by site
	pods shelf
	late []types.UID // the pods whose changes are not shown yet, in the order of their first change
	live bool
	// lateAt are the first changes of the pods in late.
	lateAt  []int
	barrier int // the version when the process of the cache began
	shown   int // up to this version the pods of the last view were complete
}

// cachedJob is what a cache shows of a site, and the versions that it does not show yet,
// in order, each with the change that made it.
type cachedJob struct {
	job    *batchv1.Job
	late   []*batchv1.Job
	lateAt []int
}

// next shows the next version.
func (s *cachedJob) next() {
	if len(s.late) > 0 {
		s.job, s.late, s.lateAt = s.late[0], s.late[1:], s.lateAt[1:]
	}
}

// at returns what the cache shows of a site.
func (s *Cache) at(site int) *cachedJob {
	for len(s.jobs) <= site {
		s.jobs = append(s.jobs, cachedJob{})
	}
	return &s.jobs[site]
}

// NewCache starts a cache that shows what is stored. A live one never lags.
func (c *Cluster) NewCache(live bool) *Cache {
	cache := &Cache{c: c, live: live, barrier: c.version}
	for at, site := range c.sites {
		cache.at(at).job = site.job
	}
	for _, pod := range c.Pods() {
		cache.pods.put(pod)
	}
	c.caches = append(c.caches, cache)
	return cache
}

// NewCacheAt starts a cache that shows what was stored before the last changes,
// at most as many as History remembers: what a controller finds when it starts
// again and is served by an API server that lags. The pods may lag by more than
// the Job; then they are older, and what the controllers of Jobs may rely on is
// broken.
func (c *Cluster) NewCacheAt(jobBack, podsBack int) *Cache {
	cache := c.NewCache(false)
	// A Job goes back no further than to the first version that is remembered; pods that
	// are to be as fresh as the Job then are.
	known := -1
	for at := range c.sites {
		known = max(known, slices.IndexFunc(c.past, func(e change) bool { return e.uid == "" && e.site == at }))
	}
	if most := len(c.past) - 1 - known; known < 0 {
		podsBack, jobBack = max(0, podsBack-jobBack), 0
	} else if jobBack > most {
		podsBack, jobBack = podsBack-min(podsBack, jobBack-most), most
	}
	back := func(n int) []change { return c.past[len(c.past)-min(n, len(c.past)):] }
	for at := range c.sites {
		c.rewindJob(cache, at, back(jobBack))
	}
	cache.rewindPods(c.past[:len(c.past)-len(back(podsBack))], back(podsBack))
	return cache
}

// rewindJob undoes changes of a Job, as far as an earlier version is known.
func (c *Cluster) rewindJob(cache *Cache, at int, undone []change) {
	earlier := c.past[:len(c.past)-len(undone)]
	for _, e := range slices.Backward(earlier) {
		if e.uid != "" || e.site != at {
			continue
		}
		cache.at(at).job = e.job
		for _, u := range undone {
			if u.uid == "" && u.site == at {
				cache.lateJob(at, u.job, u.version)
			}
		}
		return
	}
}

// rewindPods undoes changes of pods. The earlier version of a pod is the last
// one before them; without any it was created by one of them or is not
// remembered, and then stays.
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
			s.pods.drop(u.uid) // its creation is among what is undone
		default:
			continue
		}
		s.latePod(u.uid, u.version)
	}
}

// Rewind lets the cache go back in time, by these numbers of changes, within the life of its
// process. It reports whether it did: it never shows older pods and claims to be
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

// Restart begins another process with the cache as it is.
func (s *Cache) Restart() { s.barrier = s.c.version }

// Stop ends a cache: it observes no more changes.
func (s *Cache) Stop() {
	s.c.caches = slices.DeleteFunc(s.c.caches, func(o *Cache) bool { return o == s })
}

func (s *Cache) lateJob(at int, job *batchv1.Job, version int) {
	site := s.at(at)
	if s.live {
		site.job = job
		return
	}
	site.late, site.lateAt = append(site.late, job), append(site.lateAt, version)
}

func (s *Cache) latePod(uid types.UID, version int) {
	if s.live {
		s.show(uid)
	} else if !slices.Contains(s.late, uid) {
		s.late, s.lateAt = append(s.late, uid), append(s.lateAt, version)
	}
}

func (s *Cache) show(uid types.UID) {
	if pod := s.c.pods.get(uid); pod != nil {
		s.pods.put(pod)
	} else {
		s.pods.drop(uid)
	}
}

// Late returns the pods that the cache shows as they were, and how many versions it is
// behind the Job in focus.
func (s *Cache) Late() (pods []types.UID, job int) { return s.late, len(s.at(s.c.focus).late) }

// ShowJob shows the next version of the Job in focus.
func (s *Cache) ShowJob() { s.at(s.c.focus).next() }

// ShowPod shows a pod as it is stored now. Versions in between are never shown.
func (s *Cache) ShowPod(uid types.UID) {
	if i := slices.Index(s.late, uid); i >= 0 {
		s.late, s.lateAt = slices.Delete(s.late, i, i+1), slices.Delete(s.lateAt, i, i+1)
		s.show(uid)
	}
}

// ShowPods shows all pods as they are stored.
func (s *Cache) ShowPods() {
	for _, uid := range s.late {
		s.show(uid)
	}
	s.late, s.lateAt = nil, nil
}

// ShowAll shows everything as it is stored.
func (s *Cache) ShowAll() {
	s.ShowPods()
	for at, site := range s.c.sites {
		*s.at(at) = cachedJob{job: site.job}
	}
}

// Upto returns how many changes the cache shows without a gap: everything up to
// that change of [Cluster.Version], and some of what came later.
func (s *Cache) Upto() int {
	return min(s.jobsVersion(), s.podsVersion())
}

// ShowPodsUpTo shows the pods that have changed up to a version, as they are
// stored now.
func (s *Cache) ShowPodsUpTo(version int) {
	for i := len(s.late) - 1; i >= 0; i-- {
		if s.lateAt[i] <= version {
			s.ShowPod(s.late[i])
		}
	}
}

// NextJob returns the change that made the version of the Job that ShowJob will
// show; zero when there is none.
func (s *Cache) NextJob() int {
	if at := s.at(s.c.focus).lateAt; len(at) > 0 {
		return at[0]
	}
	return 0
}

// View returns what the cache shows now.
func (s *Cache) View() View {
	s.shown = s.podsVersion()
	var jobs []*batchv1.Job
	for _, site := range s.jobs {
		if site.job != nil {
			jobs = append(jobs, site.job)
		}
	}
	return View{Now: s.c.Now, Job: s.at(s.c.focus).job, Jobs: jobs, Pods: s.pods.all(),
		JobsVersion: strconv.Itoa(s.jobsVersion()), PodsVersion: strconv.Itoa(s.shown), Barrier: strconv.Itoa(s.barrier)}
}

// jobsVersion is the version up to which the cache of Jobs is complete.
func (s *Cache) jobsVersion() int {
	version := s.c.version
	for _, site := range s.jobs {
		if len(site.lateAt) > 0 {
			version = min(version, site.lateAt[0]-1)
		}
	}
	return version
}

// podsVersion is the version up to which the cache of pods is complete.
func (s *Cache) podsVersion() int {
	version := s.c.version
	for _, at := range s.lateAt {
		version = min(version, at-1)
	}
	return version
}

// Outcome is the result of a sync.
type Outcome struct {
	// After is when the controller wants to look again; At is that as a time,
	// zero when only a change is worth it.
	After time.Duration
	At    time.Time
	// Err is what the controller returned.
	Err error
	// Killed says that the controller was killed and must not be used again.
	Killed bool
}
