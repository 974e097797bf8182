package controller

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// retries is the rate limiter of a queue. The delay before a retry grows with each failure. It
// ends no later than the next deadline of the Job, and no earlier than the API server requests.
type retries[T comparable] struct {
	workqueue.TypedRateLimiter[T]
	bounds sync.Map // of bounds by T, for the next When
}

type bounds struct{ due, notBefore time.Duration }

func newRetries[T comparable]() *retries[T] {
	return &retries[T]{TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[T](time.Second,
		time.Minute)}
}

// When returns the delay before the retry.
func (l *retries[T]) When(r T) time.Duration {
	kept, _ := l.bounds.LoadAndDelete(r)
	b, _ := kept.(bounds)
	return max(least(l.TypedRateLimiter.When(r), b.due), b.notBefore)
}

// least returns the shorter of two delays, where 0 means none.
func least(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
