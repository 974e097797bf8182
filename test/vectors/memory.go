package vectors

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/memory"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/machine"
)

// The caches have observed the version shown. Pending writes have a higher version.
const shown, pending = "1000", "2000"

// Remember gives a Machine the memory of the syncs before the case.
func (c *Case) Remember(of *machine.Machine) {
	s := &c.Snapshot
	m := memory.Memory{Job: s.Job.UID, Backoff: s.Backoff.record(), Sure: !s.Backoff.InDoubt, LastStatus: s.LastStatus,
		Counted: memory.CountedBy(&s.Job.Status),
		Deleted: map[types.UID]memory.Deleted{}, Stripped: map[types.UID]memory.Stripped{}}
	for i := range s.Pending.Creations {
		m.Created = append(m.Created, memory.Created{UID: types.UID(fmt.Sprint("created-", i)),
			Version: pending, At: s.Now})
	}
	for i := range s.Pending.Deletions {
		m.Deleted[types.UID(fmt.Sprint("deleted-", i))] = memory.Deleted{Version: pending}
	}
	for _, uid := range s.Pending.Stripped {
		m.Stripped[uid] = memory.Stripped{Without: pending}
	}
	if s.Pending.Status {
		m.Known = pending
	}
	*inside.Memory(of) = m
}
