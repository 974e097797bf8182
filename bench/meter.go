package main

import (
	"runtime"
	"slices"
	"time"
)

// A side is one of those that are measured side by side.
type side struct {
	// run does the work that number of times, and returns how long once took.
	run func(times int) (time.Duration, error)
	// litters says that so much garbage is left behind that it is to be collected
	// before the next side runs, which is not to pay for it.
	litters bool
}

// timed makes a side of a function that needs nothing done before it.
func timed(f func()) side {
	return side{run: func(times int) (time.Duration, error) {
		start := clock()
		for range times {
			f()
		}
		return (clock() - start) / time.Duration(times), nil
	}}
}

// A meter runs sides.
type meter struct {
	runs int
}

// A result holds what each side took in each run.
type result [][]time.Duration

// long is how long a run is to take at least, so that the clock does not matter.
const long = 4 * time.Millisecond

// measure runs the sides in turn, once each side has been tried.
func (m meter) measure(sides ...side) (result, error) {
	runtime.LockOSThread() // whose time the clock tells
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
			i := (k + round) % len(sides) // none always follows the same
			took, err := sides[i].run(times[i])
			if err != nil {
				return nil, err
			}
			if sides[i].litters {
				runtime.GC()
			}
			out[i] = append(out[i], took)
		}
	}
	return out, nil
}

// try finds out how many times the work has to be done for a run to be long.
func (s side) try() (times int, err error) {
	for times = 1; ; times *= 8 {
		took, err := s.run(times)
		if err != nil {
			return 0, err
		}
		if s.litters {
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

// least returns the least time of a side.
func (r result) least(side int) time.Duration { return slices.Min(r[side]) }

// ratio returns the median of how many times as long as b side a took.
func (r result) ratio(a, b int) float64 {
	ratios := make([]float64, len(r[a]))
	for i := range ratios {
		ratios[i] = float64(r[a][i]) / float64(r[b][i])
	}
	return middle(ratios)
}

func middle[T time.Duration | float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// A usage is what a function allocates.
type usage struct{ count, bytes uint64 }

// allocated returns what f allocates, after a first call.
func allocated(f func()) usage {
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return usage{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc}
}
