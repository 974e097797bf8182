package cluster

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/inside"
)

// Clone returns a caller with the same memory. The two share only immutable data.
func (c *Caller) Clone() *Caller {
	return &Caller{Machine: c.Machine.Clone(), Options: c.Options, Progress: c.Progress, Feeding: c.Feeding,
		shown: c.shown, Check: c.Check}
}

// Explain says what the caller is waiting to observe; empty if nothing.
func (c *Caller) Explain() string {
	m := inside.Memory(c.Machine)
	if len(m.Created) == 0 {
		if text := m.String(); text != "nothing pending" {
			return "the controller is " + text
		}
		return ""
	}
	var names []string
	for _, pod := range m.Created {
		names = append(names, "the creation of "+string(pod.UID))
	}
	return "the controller is waiting to observe " + strings.Join(names, ", ")
}

// Key returns the memory as text. Callers with equal options and equal keys behave the
// same.
func (c *Caller) Key() string {
	m := inside.Memory(c.Machine)
	lists := cmp.Or(m.Counted.Uncounted, &batchv1.UncountedTerminatedPods{}) // none is like empty ones
	return fmt.Sprintf("%s %s %v %v %d %q %q %d %d %v %v %v %v %v %v %q %q %q", m.Job, m.Gone, m.Sure,
		m.Backoff, m.LastStatus.UnixNano(), m.Known, m.Shown,
		m.Counted.Succeeded, m.Counted.Failed, lists.Succeeded, lists.Failed, m.ReadFirst, m.Created, m.Deleted,
		m.Stripped, m.Lost, m.JobsFloor, m.PodsFloor)
}

// Age subtracts a duration from all times that the caller remembers, but makes none of them
// earlier than the limit.
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
	m := inside.Memory(c.Machine)
	m.Backoff.LastFailure = age(m.Backoff.LastFailure)
	m.LastStatus = age(m.LastStatus)
	created := m.Created[:0:0]
	for _, pod := range m.Created {
		pod.At = age(pod.At)
		created = append(created, pod)
	}
	m.Created = created
}

// ForgetInFlight makes the caller forget its writes in flight. This breaks an assumption of
// decisions, for tests that show the consequences.
func (c *Caller) ForgetInFlight() {
	m := inside.Memory(c.Machine)
	m.Known, m.Shown, m.ReadFirst, m.Created, m.Deleted, m.Stripped, m.Lost = "", "", false, nil, nil, nil, nil
}
