package main

import (
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A side is one of the functions that a row compares.
type side struct {
	// run does the work the given number of times, and returns the time of one.
	run func(times int) (time.Duration, error)
	// leavesGarbage says that the side leaves much garbage. The meter collects it before the next
	// side runs, so that the garbage does not slow down that side.
	leavesGarbage bool
}

// timed returns a side that calls a function without preparation.
func timed(f func()) side {
	return side{run: func(times int) (time.Duration, error) {
		start := clock()
		for range times {
			f()
		}
		return (clock() - start) / time.Duration(times), nil
	}}
}

// A meter measures sides.
type meter struct {
	runs int
}

// A result holds the time of each side in each run.
type result [][]time.Duration

// long is the minimum duration of a run, so that the resolution of the clock does not matter.
const long = 4 * time.Millisecond

// measure runs the sides in turn. It first tries each one, to learn how often a run must repeat it.
func (m meter) measure(sides ...side) (result, error) {
	runtime.LockOSThread() // the clock measures this thread
	defer runtime.UnlockOSThread()
	out := make(result, len(sides))
	times := make([]int, len(sides))
	for i, s := range sides {
		var err error
		if times[i], err = s.try(); err != nil {
			return nil, err
		}
	}
	for round := range m.runs {
		for k := range sides {
			i := (k + round) % len(sides) // change the first side in each round
			took, err := sides[i].run(times[i])
			if err != nil {
				return nil, err
			}
			if sides[i].leavesGarbage {
				runtime.GC()
			}
			out[i] = append(out[i], took)
		}
	}
	return out, nil
}

// try returns how many times a run must do the work, so that the run is long enough.
func (s side) try() (times int, err error) {
	for times = 1; ; times *= 8 {
		took, err := s.run(times)
		if err != nil {
			return 0, err
		}
		if s.leavesGarbage {
			runtime.GC()
		}
		if took*time.Duration(times) >= long/16 {
			return 1 + int(long/took), nil
		}
	}
}

// median returns the median time of a side.
func (r result) median(side int) time.Duration {
	return middle(r[side])
}

// least returns the minimum time of a side.
func (r result) least(side int) time.Duration { return slices.Min(r[side]) }

// ratio returns the median of the ratios of the times of side a and side b.
func (r result) ratio(a, b int) float64 { return middle(r.ratios(a, b)) }

func (r result) ratios(a, b int) []float64 {
	ratios := make([]float64, len(r[a]))
	for i := range ratios {
		ratios[i] = float64(r[a][i]) / float64(r[b][i])
	}
	return ratios
}

func middle[T time.Duration | float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// A usage is the number and the size of allocations.
type usage struct{ count, bytes uint64 }

// allocated returns the allocations of the second call of f.
func allocated(f func()) usage {
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return usage{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc}
}

// clock returns the CPU time of this thread.
func clock() time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		panic(err) // every Linux has this clock
	}
	return time.Duration(used.Nano())
}
