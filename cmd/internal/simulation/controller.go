package simulation

import (
	"time"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
)

// Settings configure the controller and the bounds of a simulation.
type Settings struct {
	// Options are passed to each decision.
	Options []decide.Option
	// Live is set for an existing Job. The simulation continues from this state.
	Live *Live
	// Bounds limit the simulation.
	Bounds Bounds
	// Continue reports whether to go on. It is called before each sync, with the virtual
	// time and the number of pods so far. If it returns false, the simulation is
	// interrupted. It may be nil.
	Continue func(now Time, pods int) bool
	// Stored is called after each status write; an error ends the simulation. It may be
	// nil.
	Stored func(Status) error
	// KeepCounted keeps the pods that the Job has counted, for tests. No result depends on it.
	KeepCounted bool
}

// syncOnce lets the Job controller sync. It returns when to sync again; the zero time means after the next change.
func (p *play) syncOnce() (again time.Time, err error) {
	out := p.cluster.Run(p.caller, p.cache)
	if d := p.caller.Machine.Result().Decision; d.Facts() != nil {
		p.last = d
		p.decided(d)
	}
	return out.At, out.Err
}

// wholeJob is the key of the Job itself in maps by index.
const wholeJob = -1

// backingOff returns the indexes that back off, with the ends of their delays. If the whole Job backs
// off, the index is wholeJob.
func backingOff(d decide.Decision) map[int32]time.Time {
	until := map[int32]time.Time{}
	f, why := d.Facts(), explain.Of(d).Job()
	if !f.PerIndex() {
		if why.Code == explain.JobBackingOff {
			until[wholeJob] = why.Until
		}
		return until
	}
	switch why.Code {
	case explain.JobFinished, explain.JobEnding, explain.JobDeleting, explain.JobSuspended, explain.JobNoParallelism:
		return until // no index gets a pod
	}
	for _, r := range f.Pods() {
		if left := f.DelayOf(r.Index); left > 0 {
			until[r.Index] = f.Now.Add(left)
		}
	}
	return until
}
