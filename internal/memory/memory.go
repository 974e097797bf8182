// Package memory holds what a Machine remembers of its Job from sync to sync: the newest versions,
// the writes that the caches do not show yet, and the requests without an answer.
package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/jobfate/jobfate/backoff"
)

// Memory is the memory of a Machine. The zero Memory is that of a process that has just started.
type Memory struct {
	// Job is the UID of the Job. All other fields except Gone and the floors are about this
	// Job.
	Job types.UID
	// Gone is the UID of the last Job that a live read has shown to be gone. The caches may
	// still show it.
	Gone types.UID
	// Backoff is the backoff record of the last decision.
	Backoff backoff.Record
	// Sure says that Backoff is not in doubt: this process made the last status write,
	// and the write was answered. ReadFirst says that a status write had no answer: the Job must
	// be read live before any write.
	Sure, ReadFirst bool
	// LastStatus is when a status was last stored.
	LastStatus time.Time
	// Key is the Job's namespace and name.
	Key types.NamespacedName
	// Known is the newest resource version of the Job in an answer or in a cache, Shown
	// the newest in a cache. A Job that is older than Known is stale.
	Known, Shown string
	// Counted describes the last status that this process has stored, or used from a cache. A newer
	// status that counts something else was stored by another process.
	Counted Counted
	// Created, Deleted and Stripped hold the pods that were created, were deleted, or have lost
	// their finalizer. A pod is forgotten when every view that may still be used shows the write.
	Created  []Created
	Deleted  map[types.UID]Deleted
	Stripped map[types.UID]Stripped
	// Lost lists the names of the creations without an answer. A name is empty if the API
	// server generates it.
	Lost []string
	// JobsFloor and PodsFloor are the versions up to which the caches were complete when
	// they were last used. PodsFloor is also at least the version of every pod that was
	// adopted since. No older view is ever used.
	JobsFloor, PodsFloor string
}

// Counted holds the counts of a status. Completed indexes are left out, because a pod of a
// completed index is not counted again.
type Counted struct {
	Succeeded, Failed int32
	Uncounted         *batchv1.UncountedTerminatedPods
}

// CountedBy returns the counts of a status.
func CountedBy(s *batchv1.JobStatus) Counted {
	return Counted{s.Succeeded, s.Failed, s.UncountedTerminatedPods}
}

// equal does not tell an empty list from none.
func (c Counted) equal(o Counted) bool {
	none := &batchv1.UncountedTerminatedPods{}
	a, b := cmp.Or(c.Uncounted, none), cmp.Or(o.Uncounted, none)
	return c.Succeeded == o.Succeeded && c.Failed == o.Failed &&
		slices.Equal(a.Succeeded, b.Succeeded) && slices.Equal(a.Failed, b.Failed)
}

// Created is a pod whose creation was acknowledged.
type Created struct {
	UID     types.UID
	Name    string
	Version string
	At      time.Time // when it was created, or last read by name
	// Stopped says that a read by name, or a cache, has shown that the pod has ended or is being
	// deleted. While no cache shows the pod, it still holds back other creations, but is not active.
	Stopped bool
}

// Deleted is a pod that was deleted at a version, or is gone. ForEnd says that it was deleted because the Job ends.
type Deleted struct {
	Version string
	ForEnd  bool
}

// Stripped is a pod whose finalizer was removed. Version is its version before that, Without
// the version without the finalizer. Without is empty if the removal may also have deleted
// the pod: the answer to such a patch still has the old version.
type Stripped struct {
	Version, Without string
}

// ReadAfter is how long a created pod may remain unobserved before it is read by name.
const ReadAfter = 10 * time.Second

// Clone returns an independent copy.
func (m *Memory) Clone() Memory {
	c := *m
	c.Created, c.Lost = slices.Clip(c.Created), slices.Clip(c.Lost)
	c.Deleted, c.Stripped = maps.Clone(c.Deleted), maps.Clone(c.Stripped)
	return c
}

// Idle reports whether no write waits to be observed.
func (m *Memory) Idle() bool {
	return !Older(m.Shown, m.Known) && !m.ReadFirst && len(m.Created)+len(m.Deleted)+len(m.Stripped)+len(m.Lost) == 0
}

// String lists the writes that wait to be observed.
func (m *Memory) String() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	if Older(m.Shown, m.Known) {
		parts = append(parts, "version "+m.Known+" of the Job")
	}
	if m.ReadFirst {
		parts = append(parts, "a status write without an answer")
	}
	add(len(m.Created), "creations")
	add(len(m.Deleted), "deletions")
	add(len(m.Stripped), "removed finalizers")
	add(len(m.Lost), "creations without an answer")
	if len(parts) == 0 {
		return "nothing pending"
	}
	return "waiting to observe " + strings.Join(parts, ", ")
}

// Forget replaces the memory with an empty one for another Job. An empty UID means no Job.
func (m *Memory) Forget(job types.UID) {
	*m = Memory{Job: job, Gone: m.Gone, Key: m.Key, JobsFloor: m.JobsFloor, PodsFloor: m.PodsFloor}
}

// Caches holds the resource versions up to which the caches of Jobs and pods are complete, and
// that of a consistent list which the process requested after it acquired its lease.
type Caches struct{ Jobs, Pods, Barrier string }

// Fresh reports whether the caches show every write before the barrier, and are not older
// than when they were last used. If another process has stored the status, which has the given
// version, the pods must also be as new as that status: older pods may still have finalizers
// although the status counts them.
func (m *Memory) Fresh(c Caches, job *batchv1.Job, version string) bool {
	jobs, pods := Newest(m.JobsFloor, c.Barrier), Newest(m.PodsFloor, c.Barrier)
	if m.IsForeign(job, version) {
		pods = Newest(pods, version)
	}
	return jobs != "" && !Older(c.Jobs, jobs) && pods != "" && !Older(c.Pods, pods)
}

// IsForeign reports whether another process has stored the status of a cached Job.
func (m *Memory) IsForeign(job *batchv1.Job, version string) bool {
	var last Counted // of a new Job
	if m.Job == job.UID {
		if Older(version, m.Known) {
			return false // a decision on this Job waits
		}
		last = m.Counted
	}
	return !CountedBy(&job.Status).equal(last)
}

// Lose remembers a creation without an answer. The name is empty if the API server generates it.
func (m *Memory) Lose(name string) { m.Lost = append(m.Lost, name) }

// Found forgets a creation without an answer, once it is known whether it was carried out.
func (m *Memory) Found(name string) {
	if i := slices.Index(m.Lost, name); i >= 0 {
		m.Lost = slices.Concat(m.Lost[:i], m.Lost[i+1:])
	}
}

// Create remembers a pod that was created, or that exists although the cache does not show
// it.
func (m *Memory) Create(pod metav1.Object, now time.Time) {
	made := Created{UID: pod.GetUID(), Name: pod.GetName(), Version: pod.GetResourceVersion(), At: now}
	if p, ok := pod.(*corev1.Pod); ok {
		made.Stopped = hasStopped(p)
	}
	m.Created = append(m.Created, made)
}

// hasStopped reports whether a pod has ended or is being deleted.
func hasStopped(pod *corev1.Pod) bool {
	phase := pod.Status.Phase
	return pod.DeletionTimestamp != nil || phase == corev1.PodFailed || phase == corev1.PodSucceeded
}

// stop remembers which created pods a view shows as stopped.
func (m *Memory) stop(shown func(types.UID) *corev1.Pod) {
	m.Created = slices.Clone(m.Created) // copies of the memory share it
	for i, c := range m.Created {
		if pod := shown(c.UID); pod != nil && hasStopped(pod) {
			m.Created[i].Stopped = true
		}
	}
}

// Delete remembers a pod that was deleted. Its creation was observed.
func (m *Memory) Delete(uid types.UID, d Deleted) {
	if m.Deleted == nil {
		m.Deleted = map[types.UID]Deleted{}
	}
	m.Deleted[uid] = d
}

// ForgetCreation forgets the creation of a pod that was observed. A cache may show the pod before
// it is complete up to the creation.
func (m *Memory) ForgetCreation(uid types.UID) {
	if i := slices.IndexFunc(m.Created, func(c Created) bool { return c.UID == uid }); i >= 0 {
		m.Created = slices.Concat(m.Created[:i], m.Created[i+1:]) // copies of the memory share it
	}
}

// Strip remembers a pod that has lost its finalizer since a version, or is gone. Its creation
// was observed. pod is the object in the answer, nil if there is none. If the finalizer was the
// last thing that blocked the deletion, the patch has deleted the pod, and the answer has the
// old version.
func (m *Memory) Strip(uid types.UID, seen string, pod metav1.Object) {
	s := Stripped{Version: seen}
	if pod != nil && pod.GetUID() == uid {
		grace := pod.GetDeletionGracePeriodSeconds()
		if pod.GetDeletionTimestamp() == nil || len(pod.GetFinalizers()) > 0 || grace != nil && *grace > 0 {
			s.Without = pod.GetResourceVersion()
		}
	}
	if m.Stripped == nil {
		m.Stripped = map[types.UID]Stripped{}
	}
	m.Stripped[uid] = s
}

// Pending lists the writes that a view does not show.
type Pending struct {
	Created           []Created
	Deleted, Stripped []types.UID
	ForEnd            int // how many of Deleted were deleted because the Job ends
}

// Observe returns the writes that the pods of a view do not show, and forgets the writes
// that every later view shows. shown returns the pod of the view with a UID. The view is
// complete up to the version, and some of its pods may be newer.
func (m *Memory) Observe(shown func(types.UID) *corev1.Pod, version string) (p Pending) {
	m.Created = Without(m.Created, func(c Created) bool {
		_, deleted := m.Deleted[c.UID]
		_, stripped := m.Stripped[c.UID]
		return deleted || stripped || !Older(version, c.Version)
	})
	m.stop(shown)
	p.Created = Without(m.Created, func(c Created) bool { return shown(c.UID) != nil })
	for uid, d := range m.Deleted {
		pod := shown(uid)
		switch {
		case pod == nil && !Older(version, d.Version),
			pod != nil && pod.DeletionTimestamp != nil && !Older(version, pod.ResourceVersion):
			delete(m.Deleted, uid)
		case pod == nil || pod.DeletionTimestamp == nil:
			p.Deleted = append(p.Deleted, uid)
			if d.ForEnd {
				p.ForEnd++
			}
		}
	}
	for uid, s := range m.Stripped {
		pod := shown(uid)
		switch {
		case s.Without == "" && pod == nil && !Older(version, s.Version), s.Without != "" && !Older(version, s.Without):
			delete(m.Stripped, uid)
		// Others may have put the finalizer back.
		case pod != nil && (s.Without == "" || Older(pod.ResourceVersion, s.Without)):
			p.Stripped = append(p.Stripped, uid)
		}
	}
	if len(m.Deleted)+len(m.Stripped) == 0 {
		m.Deleted, m.Stripped = nil, nil // maps do not shrink
	}
	slices.Sort(p.Deleted)
	slices.Sort(p.Stripped)
	return p
}

// NextRead returns the time until the next created pod is to be read by name; 0 if there is
// none.
func (p *Pending) NextRead(now time.Time) time.Duration {
	if len(p.Created) == 0 {
		return 0
	}
	first := slices.MinFunc(p.Created, func(a, b Created) int { return a.At.Compare(b.At) })
	return max(first.At.Add(ReadAfter).Sub(now), time.Second)
}

// Without returns the elements of a list that are not dropped. It does not change the list.
func Without[T any](list []T, drop func(T) bool) (left []T) {
	if !slices.ContainsFunc(list, drop) {
		return list
	}
	for _, x := range list {
		if !drop(x) {
			left = append(left, x)
		}
	}
	return left
}

// Older reports whether a resource version is older than another. If one is not well formed, version counts as older
// unless both are equal. An empty version is older than every other.
func Older(version, than string) bool {
	if than == "" || version == than {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order < 0
}

// Newest returns the newer of two versions.
func Newest(a, b string) string {
	if Older(a, b) {
		return b
	}
	return a
}
