package story

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Log is the log of a schedule, step by step. It omits steps in which nothing happens, and
// lists equal steps once. The zero Log records nothing.
type Log struct {
	On      bool // whether the Log records
	mu      sync.Mutex
	steps   []step
	depth   int
	pending []string // lines to add if another line follows in the step
}

// step is a step and its lines.
type step struct {
	number, at, name string
	lines            []string
	last             []string // the last folded part
	again, mark      int      // how often the last part was repeated, and the index of the line that says so
	times            int      // how often the step happened in a row
	until            string   // the time of the last repetition
}

// Begin ends a step and begins the next one. A step that begins during a sync becomes part
// of the step of the sync.
func (t *Log) Begin(number int, at time.Time, name string) {
	if !t.On {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.depth > 0 {
		t.pending = append(t.pending, t.line("meanwhile: %s", []any{name}))
		return
	}
	t.fold()
	t.pending = nil
	t.steps = append(t.steps, step{number: fmt.Sprintf("%3d", number), at: at.Format("15:04:05.000"),
		name: name, times: 1})
}

// Say adds a line to the step.
func (t *Log) Say(format string, args ...any) {
	if !t.On {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.step()
	s.lines = append(append(s.lines, t.pending...), t.line(format, args))
	t.pending = nil
}

// Mention adds a line to the step if another line follows.
func (t *Log) Mention(format string, args ...any) {
	if !t.On {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending = append(t.pending, t.line(format, args))
}

// Indent changes the indentation of the following lines: by 1 when a sync begins, by -1
// when it ends.
func (t *Log) Indent(by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.depth += by
}

func (t *Log) line(format string, args []any) string {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ") // errors.Join separates errors by newlines
	return "     " + strings.Repeat("  ", t.depth) + text
}

func (t *Log) step() *step {
	if len(t.steps) == 0 {
		t.steps = append(t.steps, step{times: 1})
	}
	return &t.steps[len(t.steps)-1]
}

// fold ends the last step.
func (t *Log) fold() {
	n := len(t.steps)
	switch {
	case n == 0:
		return
	case len(t.steps[n-1].lines) == 0:
		t.steps = t.steps[:n-1]
	case n > 1 && t.steps[n-1].name == t.steps[n-2].name && slices.Equal(t.steps[n-1].lines, t.steps[n-2].lines):
		t.steps[n-2].times++
		t.steps[n-2].until = t.steps[n-1].at
		t.steps = t.steps[:n-1]
	}
}

// Len returns the number of lines of the step.
func (t *Log) Len() int { return len(t.step().lines) }

// Drop removes the lines of the step from an index on.
func (t *Log) Drop(from int) {
	s := t.step()
	s.lines, t.pending = s.lines[:from], nil
}

// Fold ends a part of the step that begins at an index. If the part equals the previous
// part, Fold counts it instead of keeping its lines.
func (t *Log) Fold(from int) {
	s := t.step()
	lines := slices.Clone(s.lines[from:])
	switch {
	case len(lines) == 0:
		return
	case !slices.Equal(lines, s.last):
		s.last, s.again = lines, 0
		return
	}
	s.lines = s.lines[:from]
	if s.again++; s.again == 1 {
		s.mark = len(s.lines)
		s.lines = append(s.lines, "")
	}
	s.lines[s.mark] = fmt.Sprintf("     and the same %d times more", s.again)
}

// Lines returns the lines of all steps. If there are too many, it leaves out lines in the
// middle, because the last ones matter most.
func (t *Log) Lines(most int) []string {
	t.fold()
	var lines []string
	for _, s := range t.steps {
		if s.name != "" {
			lines = append(lines, fmt.Sprintf("%s  %s  %s", s.number, s.at, s.name))
		}
		lines = append(lines, s.lines...)
		if s.times > 1 {
			lines = append(lines, fmt.Sprintf("     the same %d times more, until %s", s.times-1, s.until))
		}
	}
	const first = 10
	if most = max(most, 2*first); len(lines) > most {
		left := len(lines) - most + 1
		lines = slices.Replace(lines, first, first+left, fmt.Sprintf("  ... %d lines are left out ...", left))
	}
	return lines
}
