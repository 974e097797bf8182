package cli

import (
	"fmt"
	"io"
	"time"
)

// progressDelay is how long a command runs before it shows its progress, and progressInterval the
// interval between updates.
const (
	progressDelay    = time.Second
	progressInterval = 200 * time.Millisecond
)

// progress shows the progress of a long command on one line of a terminal. The line is
// overwritten, and cleared at the end.
type progress struct {
	out   io.Writer // nil: not shown
	clock func() time.Time
	next  time.Time
	shown bool
}

func newProgress(env Environment) *progress {
	p := &progress{clock: env.Clock}
	if env.StderrTerminal && env.Getenv("TERM") != "dumb" {
		p.out, p.next = env.Stderr, env.Clock().Add(progressDelay)
	}
	return p
}

// show updates the line if an update is due. It ignores write errors.
func (p *progress) show(format string, args ...any) {
	if p.out == nil {
		return
	}
	now := p.clock()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressInterval), true
	fmt.Fprintf(p.out, control(clearLine)+format, args...)
}

// clear clears the line.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, control(clearLine))
	}
}

// clearLine goes back to the beginning of a line and empties it.
const clearLine = "\r\x1b[K"
