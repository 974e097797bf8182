package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/decide"
)

// Memory is what a Machine remembers of its Job from sync to sync. The zero Memory is
// that of a process that has just started.
type Memory struct {
	// Job is the UID of the Job. What follows, the floors aside, is about it alone.
	Job types.UID
	// Backoff is what the last decision asked to remember.
	Backoff backoff.Record
	// Sure says that Backoff is not in doubt: the last status write was answered, and
	// was this process's own.
	Sure bool
	// LastStatus is when a status was last stored.
	LastStatus time.Time
	// Key is the Job's namespace and name.
	Key types.NamespacedName
	// Known is the newest resource version of the Job in an answer or in a cache, Shown
	// the newest in a cache. A Job that is older than Known is stale.
	Known, Shown string
	// ReadFirst says that a status may have been stored or not: the Job must be read
	// live before any write.
	ReadFirst bool
	// Created, Deleted and Stripped are pods that were created, deleted, or have lost
	// their finalizer. They are forgotten when every view that may still be used shows
	// that. Lost are creations without an answer.
	Created  []Created
	Deleted  []Deleted
	Stripped []Stripped
	Lost     []Lost
	// JobsFloor and PodsFloor are the versions up to which the caches were complete when
	// they were last used, and of the pods that were adopted since. No older view is ever
	// used.
	JobsFloor, PodsFloor string
}

// Created is a pod whose creation was acknowledged.
type Created struct {
	UID     types.UID
	Name    string
	Version string
	At      time.Time // when it was created, or last looked for
}

// Deleted is a pod that was deleted when it was at a version.
type Deleted struct {
	UID     types.UID
	Version string
}

// Stripped is a pod whose finalizer was removed when it was at a version. Without is
// that of the pod without the finalizer; empty if the pod is gone with it, because such
// an answer has the version from before.
type Stripped struct {
	UID              types.UID
	Version, Without string
}

// Lost is a creation without an answer. Name is empty if the API server was to
// generate it.
type Lost struct {
	Name string
}

// lookAfter is how long a created pod may remain unobserved before it is read by name.
const lookAfter = 10 * time.Second

// clone returns a memory that shares nothing that changes.
func (m *Memory) clone() Memory {
	c := *m
	c.Created, c.Deleted, c.Stripped, c.Lost = slices.Clip(c.Created), slices.Clip(c.Deleted), slices.Clip(c.Stripped), slices.Clip(c.Lost)
	return c
}

// Idle reports whether nothing is pending.
func (m *Memory) Idle() bool {
	return !older(m.Shown, m.Known) && !m.ReadFirst && len(m.Created)+len(m.Deleted)+len(m.Stripped)+len(m.Lost) == 0
}

// String says what is pending.
func (m *Memory) String() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	if older(m.Shown, m.Known) {
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

// forget begins the memory of another Job; an empty UID is none.
func (m *Memory) forget(job types.UID) {
	*m = Memory{Job: job, Key: m.Key, JobsFloor: m.JobsFloor, PodsFloor: m.PodsFloor}
}

// unobserved are the writes that a view does not show.
type unobserved struct {
	decide.InFlight
	created []Created
}

// observe returns the writes that the pods of a view do not show, and forgets those
// that every later view shows. shown returns the pod with a UID. The pods are complete up to the version; some may be
// newer than that.
func (m *Memory) observe(shown func(types.UID) *corev1.Pod, version string) (f unobserved) {
	f.Job = m.Job
	m.Created = without(m.Created, func(c Created) bool { return !older(version, c.Version) })
	for _, c := range m.Created {
		if shown(c.UID) == nil {
			f.created = append(f.created, c)
		}
	}
	f.Creations = len(f.created)
	gone := func(uid types.UID, since string) bool { return shown(uid) == nil && !older(version, since) }
	m.Deleted = without(m.Deleted, func(d Deleted) bool {
		pod := shown(d.UID)
		return gone(d.UID, d.Version) || pod != nil && pod.DeletionTimestamp != nil && !older(version, pod.ResourceVersion)
	})
	for _, d := range m.Deleted {
		if pod := shown(d.UID); pod == nil || pod.DeletionTimestamp == nil {
			f.Deletions++
		}
	}
	m.Stripped = without(m.Stripped, func(s Stripped) bool {
		return s.Without == "" && gone(s.UID, s.Version) || s.Without != "" && !older(version, s.Without)
	})
	for _, s := range m.Stripped {
		// Others may have put the finalizer back.
		if pod := shown(s.UID); pod != nil && (s.Without == "" || older(pod.ResourceVersion, s.Without)) {
			f.Stripped = append(f.Stripped, s.UID)
		}
	}
	return f
}

// nextLookup is how long it is until a created pod is read by name; 0 for none.
func (u *unobserved) nextLookup(now time.Time) (wait time.Duration) {
	for _, c := range u.created {
		if left := max(c.At.Add(lookAfter).Sub(now), time.Second); wait == 0 || left < wait {
			wait = left
		}
	}
	return wait
}

// without returns a list without some of its elements, and leaves the list as it is.
func without[T any](list []T, drop func(T) bool) []T {
	if !slices.ContainsFunc(list, drop) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// replace appends elements to a list, in the place of those with the same UIDs.
func replace[T any](list, elements []T, uid func(T) types.UID) []T {
	if len(elements) == 0 {
		return list
	}
	again := make(map[types.UID]bool, len(elements))
	for _, e := range elements {
		again[uid(e)] = true
	}
	return append(without(list, func(e T) bool { return again[uid(e)] }), elements...)
}

// older reports whether a resource version is older than another. They are numbers
// without leading zeros, of any size; anything else is older until it is the same.
// An empty version is older than every other.
func older(version, than string) bool {
	switch {
	case than == "" || version == than:
		return false
	case version == "" || !isNumber(version) || !isNumber(than):
		return true
	case len(version) != len(than):
		return len(version) < len(than)
	}
	return version < than
}

func isNumber(version string) bool {
	for _, c := range version {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// newest returns the newer of two versions.
func newest(a, b string) string {
	if older(a, b) {
		return b
	}
	return a
}
