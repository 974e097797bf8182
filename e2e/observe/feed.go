package observe

import (
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
)

// Feed collects the changes of watched objects, for a test that processes one at a time.
type Feed struct {
	// Start is when the feed was made.
	Start time.Time
	// News has an element if there may be changes.
	News chan struct{}

	wanted  func(object any) bool // nil: all
	mu      sync.Mutex
	pending []Change
}

// Change is a changed object.
type Change struct {
	At     time.Duration // after the start
	Object any
	Gone   bool // it no longer exists
}

// NewFeed returns the feed of some informers, which the caller starts.
func NewFeed(informers ...cache.SharedIndexInformer) *Feed { return newFeed(nil, informers...) }

func newFeed(wanted func(any) bool, informers ...cache.SharedIndexInformer) *Feed {
	f := &Feed{Start: time.Now(), News: make(chan struct{}, 1), wanted: wanted}
	for _, informer := range informers {
		informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { f.add(o, false) },
			UpdateFunc: func(_, o any) { f.add(o, false) },
			DeleteFunc: func(o any) {
				if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
					o = tombstone.Obj
				}
				f.add(o, true)
			},
		})
	}
	return f
}

func (f *Feed) add(o any, gone bool) {
	if f.wanted != nil && !f.wanted(o) {
		return
	}
	f.mu.Lock()
	f.pending = append(f.pending, Change{time.Since(f.Start), o, gone})
	f.mu.Unlock()
	select {
	case f.News <- struct{}{}:
	default:
	}
}

// Next returns the next change, if there is one.
func (f *Feed) Next() (c Change, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) == 0 {
		return c, false
	}
	c, f.pending = f.pending[0], f.pending[1:]
	return c, true
}
