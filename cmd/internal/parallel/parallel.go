// Package parallel calls a function many times on all cores.
//
// The package knows nothing about the function.
package parallel

import (
	"iter"
	"runtime"
)

// InOrder yields produce(0) to produce(n-1) in order. It runs produce on all cores, at most
// GOMAXPROCS calls ahead of the result that the caller is using.
func InOrder[T any](n int, produce func(int) T) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		var pending []chan T
		for i := range n {
			for next := i + len(pending); next < n && len(pending) <= runtime.GOMAXPROCS(0); next++ {
				result := make(chan T, 1)
				pending = append(pending, result)
				go func() { result <- produce(next) }()
			}
			if !yield(i, <-pending[0]) {
				return
			}
			pending = pending[1:]
		}
	}
}
