package cluster

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
)

// Memory is what a [Caller] remembers of a Job. The zero Memory is that of one
// that has just been started.
type Memory struct {
	job     types.UID
	backoff backoff.Record
	// sure says that the last status was stored. Before that a write whose answer
	// was lost, or that of a predecessor, may have recorded pods, and the record
	// is made anew at each look.
	sure       bool
	lastStatus time.Time
	stored     string // the resource version of the last status stored
	// Sorted, and never changed in place.
	created, deleted, stripped []types.UID
}

// snapshot completes a view with what is remembered, after it has forgotten what
// is no longer needed. The memory of another Job is forgotten altogether.
func (m *Memory) snapshot(v *View) (jobfate.Snapshot, error) {
	s := jobfate.Snapshot{Job: v.Job, Pods: v.Pods, Now: v.Now}
	if v.Job == nil {
		return s, errSnapshot
	}
	if m.job != v.Job.UID {
		*m = Memory{job: v.Job.UID}
	}
	m.forgetSeen(v)
	s.InFlight = jobfate.InFlight{
		Job: m.job, Status: m.stored != "",
		Creations: len(m.created), Deletions: len(m.deleted), Stripped: m.stripped,
	}
	s.Backoff, s.BackoffInDoubt, s.LastStatus = m.backoff, !m.sure, m.lastStatus
	return s, nil
}

// forgetSeen forgets the writes whose effects the view shows, and those that
// somebody has undone.
func (m *Memory) forgetSeen(v *View) {
	if m.stored != "" && !older(v.Job.ResourceVersion, m.stored) {
		m.stored = ""
	}
	if len(m.created)+len(m.deleted)+len(m.stripped) == 0 {
		return
	}
	shown := podsByUID(v.Pods)
	m.created = slices.DeleteFunc(slices.Clone(m.created), func(uid types.UID) bool {
		return shown[uid] != nil || v.Complete(uid)
	})
	m.deleted = slices.DeleteFunc(slices.Clone(m.deleted), func(uid types.UID) bool {
		pod := shown[uid]
		return pod == nil || pod.DeletionTimestamp != nil || v.Complete(uid)
	})
	m.stripped = slices.DeleteFunc(slices.Clone(m.stripped), func(uid types.UID) bool {
		pod := shown[uid]
		return pod == nil || !hasFinalizer(pod) || v.Complete(uid)
	})
}

// with adds a UID to a sorted list that others may hold as well.
func with(list []types.UID, uid types.UID) []types.UID {
	at, has := slices.BinarySearch(list, uid)
	if has {
		return list
	}
	return slices.Insert(slices.Clip(list), at, uid)
}

// Clone returns a caller with the same memory, which shares nothing that
// changes.
func (c *Caller) Clone() *Caller {
	next := *c
	return &next
}

// Key returns the memory as text: callers with equal options and keys act alike.
func (c *Caller) Key() string {
	m := c.memory
	return fmt.Sprintf("%s %v %v %d %q %v %v %v", m.job, m.sure, m.backoff, m.lastStatus.UnixNano(), m.stored, m.created, m.deleted, m.stripped)
}

// Age makes everything that the caller remembers older, but nothing older than
// the limit.
func (c *Caller) Age(by time.Duration, limit time.Time) {
	age := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		if t = t.Add(-by); t.Before(limit) {
			return limit
		}
		return t
	}
	c.memory.backoff.LastFailure = age(c.memory.backoff.LastFailure)
	c.memory.lastStatus = age(c.memory.lastStatus)
}

// ForgetInFlight makes the caller forget which of its writes it has not seen
// yet. It then breaks what a decision relies on: for tests that show what comes
// of it.
func (c *Caller) ForgetInFlight() {
	c.memory.stored, c.memory.created, c.memory.deleted, c.memory.stripped = "", nil, nil, nil
}
