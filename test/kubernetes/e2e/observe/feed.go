// Package observe follows the Jobs and pods of a namespace, and lets a test wait for
// expected states.
//
// A view misses no change. It processes all changes one at a time, in order, and each wait continues
// where the last one ended. A test can therefore wait for a state that lasts only a moment, and
// invariants are checked in every state. If an expected state does not occur, the test fails and
// lists the changes that did.
package observe

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"
)

const (
	// DefaultPatience is how long a feed waits for a change. It is long enough for a busy machine, and matters
	// only to tests that fail.
	DefaultPatience = 90 * time.Second
	// storyLines is the number of lines of the story that are printed.
	storyLines = 150
)

// Feed collects the changes of watched objects, for a test that processes one at a time.
type Feed struct {
	// Patience is how long it waits for a change, instead of DefaultPatience.
	Patience time.Duration

	apply   func(object any, gone bool) string
	after   func() // called after each change
	start   time.Time
	news    chan struct{} // has an element if there may be changes
	story   []string
	mu      sync.Mutex
	pending []change
}

// change is a changed object.
type change struct {
	at     time.Time
	object any
	gone   bool // it no longer exists
}

// NewFeed returns the feed of some informers, which the caller starts. It processes a change with a function, which
// returns a line for the story, or nothing.
func NewFeed(apply func(object any, gone bool) string, informers ...cache.SharedIndexInformer) *Feed {
	f := &Feed{Patience: DefaultPatience, apply: apply, after: func() {}, start: time.Now(),
		news: make(chan struct{}, 1)}
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
	f.mu.Lock()
	f.pending = append(f.pending, change{time.Now(), o, gone})
	f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// Step processes the next change, if there is one.
func (f *Feed) Step() bool {
	f.mu.Lock()
	if len(f.pending) == 0 {
		f.mu.Unlock()
		return false
	}
	c := f.pending[0]
	f.pending = f.pending[1:]
	f.mu.Unlock()
	if line := f.apply(c.object, c.gone); line != "" {
		f.note(c.at, line)
	}
	f.after()
	return true
}

func (f *Feed) note(at time.Time, line string) {
	f.story = append(f.story, fmt.Sprintf("%8.3fs %s", at.Sub(f.start).Seconds(), line))
	if len(f.story) > 2*storyLines {
		f.story = append(f.story[:0], f.story[len(f.story)-storyLines:]...)
	}
}

// next waits for a change, and processes it.
func (f *Feed) next(ctx context.Context) bool {
	for late := time.After(f.Patience); !f.Step(); {
		select {
		case <-f.news:
		case <-late:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Until processes changes until a function holds.
func (f *Feed) Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		if !f.next(t.Context()) {
			t.Fatalf("not observed: %s\n%s", what, f.Story())
		}
	}
	f.note(time.Now(), "reached: "+what)
}

// Story returns the last lines about the changes that were processed.
func (f *Feed) Story() string {
	return "observed:\n" + strings.Join(f.story[max(0, len(f.story)-storyLines):], "\n")
}

// Agree processes the changes of two feeds until a function finds no difference.
func Agree(t testing.TB, a, b *Feed, difference func() string) {
	t.Helper()
	for late := time.After(a.Patience); ; {
		for a.Step() || b.Step() {
		}
		differs := difference()
		if differs == "" {
			return
		}
		select {
		case <-a.news:
		case <-b.news:
		case <-late:
			t.Fatalf("still different after %s:\n%s\nfirst (-): %s\n\nsecond (+): %s", a.Patience, differs,
				a.Story(), b.Story())
		}
	}
}

// Await waits until a function reports nothing missing, for what no watch reports.
func Await(t testing.TB, patience time.Duration, what string, missing func() string) {
	t.Helper()
	late := time.After(patience)
	for text := missing(); text != ""; text = missing() {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-late:
			t.Fatalf("not reached within %s: %s: %s", patience, what, text)
		}
	}
}
