// Package parallel calls a function many times on all cores.
//
// The package knows nothing about the function.
package parallel

import (
	"iter"
	"runtime"
)

// chunk is how many calls a goroutine makes, whose stack then grows only once for them.
const chunk = 32

// InOrder yields produce(0) to produce(n-1) in order. It runs produce on all cores, at most
// GOMAXPROCS chunks of calls ahead of the chunk that the caller is using.
func InOrder[T any](n int, produce func(int) T) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		var pending []chan []T
		for i, next := 0, 0; i < n; pending = pending[1:] {
			for ; next < n && len(pending) <= runtime.GOMAXPROCS(0); next += chunk {
				first, result := next, make(chan []T, 1)
				pending = append(pending, result)
				go func() {
					var all []T
					for i := range min(chunk, n-first) {
						all = append(all, produce(first+i))
					}
					result <- all
				}()
			}
			for _, value := range <-pending[0] {
				if !yield(i, value) {
					return
				}
				i++
			}
		}
	}
}
