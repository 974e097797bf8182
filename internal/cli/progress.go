package cli

import (
	"fmt"
	"io"
	"time"
)

// How long a command is quiet before it shows how far it is, and between two
// lines.
const (
	quietFor  = time.Second
	lineEvery = 200 * time.Millisecond
)

// progress shows on a terminal how far something is that takes long, on one line
// that is written over and in the end cleared.
type progress struct {
	out   io.Writer // nil: not shown
	clock func() time.Time
	next  time.Time
	shown bool
}

func newProgress(env Environment) *progress {
	p := &progress{clock: env.Clock}
	if env.Told && env.Getenv("TERM") != "dumb" {
		p.out, p.next = env.Stderr, env.Clock().Add(quietFor)
	}
	return p
}

// show shows a line, if it is time for one. That it cannot be shown is no error.
func (p *progress) show(format string, args ...any) {
	if p.out == nil {
		return
	}
	now := p.clock()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(lineEvery), true
	fmt.Fprintf(p.out, control(clearLine)+format, args...)
}

// clear leaves the terminal as it was.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, control(clearLine))
	}
}

// clearLine goes back to the beginning of a line and empties it.
const clearLine = "\r\x1b[K"
