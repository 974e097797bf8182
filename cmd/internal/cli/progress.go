package cli

import (
	"fmt"
	"io"
	"time"
)

// progressDelay is how long a command runs before it shows its progress. The others are the intervals between updates
// on a terminal, and between lines elsewhere.
const (
	progressDelay    = 2 * time.Second
	progressInterval = 200 * time.Millisecond
	lineInterval     = 5 * time.Second
)

// progress shows the progress of a long command. On a terminal it is one line, which is overwritten, and
// cleared at the end.
type progress struct {
	out    io.Writer // nil: not shown
	clock  func() time.Time
	next   time.Time
	prefix string // of a line that stays; empty on a terminal
	shown  bool
}

func newProgress(env Environment) *progress {
	p := &progress{clock: env.Clock}
	if !env.Quiet {
		p.out, p.next = env.Stderr, env.Clock().Add(progressDelay)
	}
	if !env.StderrTerminal || env.Getenv("TERM") == "dumb" {
		p.prefix = env.Name + ": "
	}
	return p
}

// show updates the line, or prints another one, if that is due. It ignores write errors.
func (p *progress) show(format string, args ...any) {
	if p.out == nil {
		return
	}
	now := p.clock()
	if now.Before(p.next) {
		return
	}
	if p.prefix != "" {
		p.next = now.Add(lineInterval)
		fmt.Fprintf(p.out, p.prefix+format+"\n", args...)
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
