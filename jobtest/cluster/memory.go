package cluster

import (
	"fmt"
	"time"

	"github.com/jobfate/jobfate/inflight"
)

// Clone returns a caller with the same memory, which shares nothing that
// changes.
func (c *Caller) Clone() *Caller {
	next := *c
	return &next
}

// Key returns the memory as text: callers with equal options and keys act alike.
func (c *Caller) Key() string {
	m := &c.memory
	return fmt.Sprintf("%s %v %v %d %q %v %v %v", m.Job, m.Sure, m.Backoff, m.LastStatus.UnixNano(), m.Stored, m.Created, m.Deleted, m.Stripped)
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
	c.memory.Backoff.LastFailure = age(c.memory.Backoff.LastFailure)
	c.memory.LastStatus = age(c.memory.LastStatus)
}

// ForgetInFlight makes the caller forget which of its writes it has not seen
// yet. It then breaks what a decision relies on: for tests that show what comes
// of it.
func (c *Caller) ForgetInFlight() {
	m := &c.memory
	*m = inflight.Memory{Job: m.Job, Backoff: m.Backoff, Sure: m.Sure, LastStatus: m.LastStatus}
}
