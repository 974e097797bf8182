package explore

import (
	"cmp"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobtest/inside"
)

// key returns the memory as text. Callers with equal options and equal keys behave the same. The search reads from it
// which pods are still referenced.
func (c caller) key() string {
	m := inside.Memory(c.Machine)
	lists := cmp.Or(m.Counted.Uncounted, &batchv1.UncountedTerminatedPods{}) // none is like empty ones
	return fmt.Sprintf("%s %s %v %v %d %q %q %d %d %v %v %v %v %v %v %q %q %q", m.Job, m.Gone, m.Sure,
		m.Backoff, m.LastStatus.UnixNano(), m.Known, m.Shown,
		m.Counted.Succeeded, m.Counted.Failed, lists.Succeeded, lists.Failed, m.ReadFirst, m.Created, m.Deleted,
		m.Stripped, m.Lost, m.JobsFloor, m.PodsFloor)
}

// age subtracts a duration from all times that the caller remembers, but makes none of them
// earlier than the limit.
func (c caller) age(by time.Duration, limit time.Time) {
	m := inside.Memory(c.Machine)
	m.Backoff.LastFailure = older(m.Backoff.LastFailure, by, limit)
	m.LastStatus = older(m.LastStatus, by, limit)
	created := m.Created[:0:0]
	for _, pod := range m.Created {
		pod.At = older(pod.At, by, limit)
		created = append(created, pod)
	}
	m.Created = created
}
