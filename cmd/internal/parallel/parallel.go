// Package parallel calls a function many times on all cores.
package parallel

import (
	"iter"
	"runtime"
)

// ahead is how many results of a goroutine wait for the caller.
const ahead = 4

// InOrder yields produce(0) to produce(n-1) in order. It runs produce on all cores, a few calls ahead of the
// caller. Each goroutine makes many calls, because its stack grows during the first.
func InOrder[T any](n int, produce func(int) T) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		stop := make(chan struct{})
		defer close(stop)
		results := make([]chan T, min(n, runtime.GOMAXPROCS(0)))
		for first := range results {
			results[first] = make(chan T, ahead)
			go func() {
				for i := first; i < n; i += len(results) {
					select {
					case results[first] <- produce(i):
					case <-stop:
						return
					}
				}
			}()
		}
		for i := range n {
			if !yield(i, <-results[i%len(results)]) {
				return
			}
		}
	}
}
