package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	watchapi "k8s.io/apimachinery/pkg/watch"
)

// watch is the response body of a watch. It has no goroutine: it renders events when the
// client reads.
type watch struct {
	*Request
	ctx     context.Context
	sel     selection
	timeout <-chan time.Time
	woken   chan struct{}
	closed  chan struct{}

	// Guarded by the server's lock.
	seen  int64  // events up to this revision are rendered
	frame []byte // the bytes that the client has not read yet
	ended bool
}

func (s *Server) serveWatch(ctx context.Context, r *Request) (answer, error) {
	sel, err := r.selection()
	if err != nil {
		return answer{}, err
	}
	revision, err := parseRevision(sel.ResourceVersion)
	if err != nil {
		return answer{}, internal(err.Error())
	}
	w := &watch{
		Request: r,
		ctx:     ctx,
		sel:     sel,
		woken:   make(chan struct{}, 1),
		closed:  make(chan struct{}),
		seen:    revision,
	}
	initial := sel.SendInitialEvents != nil && *sel.SendInitialEvents
	switch {
	case initial && revision > s.revision:
		w.fail(tooLargeVersion(revision, s.revision))
	case initial || sel.SendInitialEvents == nil && revision == 0:
		w.seen = s.revision
		for _, key := range r.kind.keys {
			if v := r.kind.objects[key]; sel.has(v) {
				w.emit(Event{Type: watchapi.Added, Revision: v.revision, Object: v.obj, now: v})
			}
		}
		if initial && sel.AllowWatchBookmarks {
			w.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		}
	case revision == 0:
		w.seen = s.revision
	case revision < r.kind.compacted:
		w.fail(gone("too old resource version: " + strconv.FormatInt(revision, 10) + " (" +
			strconv.FormatInt(r.kind.compacted, 10) + ")"))
	}
	if seconds := sel.TimeoutSeconds; seconds != nil && *seconds > 0 {
		w.timeout = time.After(time.Duration(*seconds) * time.Second)
	}
	s.watches[w] = struct{}{}
	return answer{code: http.StatusOK, watch: w}, nil
}

// CloseWatches closes the watches that a function selects, as a restart of the server
// does; nil selects all.
func (s *Server) CloseWatches(which func(*Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		if which == nil || which(w.Request) {
			w.ended = true
			w.wake()
		}
	}
}

func (w *watch) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// Read implements io.Reader. It waits for an event.
func (w *watch) Read(p []byte) (int, error) {
	s := w.kind.s
	for {
		s.mu.Lock()
		if len(w.frame) == 0 && !w.ended {
			w.collect()
		}
		n := copy(p, w.frame)
		w.frame = w.frame[n:]
		ended := w.ended
		s.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if ended {
			return 0, io.EOF
		}
		select {
		case <-w.woken:
		case <-w.closed:
			return 0, io.EOF
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		case <-w.timeout:
			w.expire()
		}
	}
}

// expire ends a watch after its timeout, with a last bookmark.
func (w *watch) expire() {
	s := w.kind.s
	s.mu.Lock()
	defer s.mu.Unlock()
	w.collect()
	if w.sel.AllowWatchBookmarks {
		w.bookmark(nil)
	}
	w.ended = true
}

// Close implements io.Closer.
func (w *watch) Close() error {
	s := w.kind.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.watches[w]; open {
		delete(s.watches, w)
		close(w.closed)
	}
	return nil
}

// collect renders the events since the last call.
func (w *watch) collect() {
	for _, e := range w.kind.since(w.seen) {
		w.seen = e.Revision
		if e, ok := w.sees(e); ok {
			w.emit(e)
		}
	}
}

// sees returns a change as seen through the selectors of the watch.
func (w *watch) sees(e Event) (Event, bool) {
	before := e.old != nil && w.sel.has(e.old)
	after := e.Type != watchapi.Deleted && w.sel.has(e.now)
	switch {
	case before && after:
		e.Type = watchapi.Modified
	case after:
		e.Type = watchapi.Added
	case before && e.Type == watchapi.Deleted:
	case before: // no longer selected: the client gets the old version as deleted
		e.Type = watchapi.Deleted
		gone := &version{obj: e.old.obj, body: e.old.body, revision: e.Revision}
		e.Object, e.now = gone.obj, gone
	default:
		return e, false
	}
	return e, true
}

func (w *watch) emit(e Event) {
	text, err := w.render(nil, e.now, false)
	if err == nil {
		w.write(e.Type, text)
	}
}

func (w *watch) write(kind watchapi.EventType, object []byte) {
	w.frame = fmt.Appendf(w.frame, "{\"type\":%q,\"object\":%s}\n", kind, object)
}

func (w *watch) bookmark(annotations map[string]string) {
	obj := w.kind.empty()
	obj.SetAnnotations(annotations)
	body, err := encode(obj)
	if annotations == nil {
		body, err = []byte(metadataPrefix+`"creationTimestamp":null}}`), nil
	}
	if err == nil {
		if text, err := w.render(nil, &version{obj: obj, body: body, revision: w.seen}, false); err == nil {
			w.write(watchapi.Bookmark, text)
		}
	}
}

// fail ends a watch with an error event.
func (w *watch) fail(err error) {
	if status, ok := err.(apierrors.APIStatus); ok {
		w.write(watchapi.Error, failure(status).body)
	}
	w.ended = true
}
