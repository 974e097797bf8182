package console

import (
	"strings"
	"sync"
)

// Writes is an output that keeps what was written, write by write.
type Writes struct {
	mu  sync.Mutex
	all []string
}

// Write implements [io.Writer].
func (w *Writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, string(p))
	return len(p), nil
}

// Take returns the writes since the last call.
func (w *Writes) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// String returns the text since the last call.
func (w *Writes) String() string { return strings.Join(w.Take(), "") }
