package real

import (
	"fmt"
	"time"
)

// A Stopwatch times syncs of the real controller. Everything around the controller is prepared
// before the clock starts, or takes almost no time: the cache has the list of pods ready, and the
// server answers each write at once without recording it.
type Stopwatch struct {
	in    Input
	clock func() time.Duration
	pods  podCache
}

// NewStopwatch prepares syncs of one input. The clock returns the time since some moment. It may be
// the CPU time of the thread.
func NewStopwatch(in Input, clock func() time.Duration) *Stopwatch {
	return &Stopwatch{in: in, clock: clock, pods: newPodCache(in.Job, in.Pods)}
}

// Sync runs one sync, like the first one after a start of the controller, and returns how long it
// took.
func (s *Stopwatch) Sync() (time.Duration, error) {
	syncMu.Lock()
	defer syncMu.Unlock()
	defer s.in.apply()()
	registerMetrics()

	r := newRun(&s.in, s.pods)
	r.server.forgetful = true
	start := s.clock()
	caught, err := r.sync()
	took := s.clock() - start
	if caught != nil {
		return 0, fmt.Errorf("the controller panicked: %v", caught)
	}
	return took, err
}
