package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
	"github.com/jobfate/jobfate/indexset"
)

// The limits of a folded timeline.
const (
	mostTimeline  = 50  // lines of a timeline that is not folded
	mostWindows   = 18  // windows of time, with two lines each
	shortWindow   = 2   // lines of a window that is not folded
	mostImportant = 10  // important lines within windows
	mostStatus    = 110 // characters of a status within a window
	longestCycle  = 40  // lines of a cycle
	leastRepeats  = 3   // repetitions of a cycle that is folded
	mostSums      = 6   // kinds of events in a line that replaces others
)

// folded shortens a long timeline. First it merges lines of the same time with the same text about
// several pods, then it folds cycles, and finally it sums up windows of time. It also returns the
// original number of lines, or 0 if the timeline is not folded.
func folded(lines []timelineLine, indexed bool) ([]timelineLine, int) {
	all := len(lines)
	if all <= mostTimeline {
		return lines, 0
	}
	lines = foldRepeats(merged(lines, indexed))
	if len(lines) > mostTimeline {
		lines = foldWindows(lines)
	}
	return lines, all
}

// merged merges lines of the same time with the same text about several pods.
func merged(lines []timelineLine, indexed bool) (out []timelineLine) {
	first := 0 // the position in out of the first line of this time
	for i := range lines {
		l := &lines[i]
		if i > 0 && lines[i-1].at != l.at {
			first = len(out)
		}
		at := -1
		if l.what.subject != "" {
			at = slices.IndexFunc(out[first:], func(o timelineLine) bool { return o.what == l.what })
		}
		if at < 0 {
			out, at = append(out, *l), len(out)-first
		}
		out[first+at].pods = append(out[first+at].pods, l.index)
	}
	for i := range out {
		out[i].sums = []sum{{out[i].what, len(out[i].pods)}}
		if n := len(out[i].pods); n > 1 {
			out[i].text = out[i].what.of(n) + out[i].what.until
			if indexed {
				out[i].text += ": indexes " + shortened(indexset.Of(out[i].pods...).String(), false)
			}
		}
	}
	return out
}

// of returns the text about n pods or indexes.
func (w lineText) of(n int) string {
	switch {
	case w.subject == "":
		return w.one
	case n == 1:
		return w.subject + " " + w.one
	case w.subject == "index":
		return fmt.Sprintf("%d indexes %s", n, w.many)
	}
	return fmt.Sprintf("%s %s", podCount(n), w.many)
}

// cycle identifies lines that repeat each other.
type cycle struct {
	what lineText
	n    int
}

// foldRepeats keeps the first of several cycles that follow each other at equal intervals,
// and replaces the others by one line.
func foldRepeats(lines []timelineLine) (out []timelineLine) {
	keys := make([]int, len(lines)) // equal for lines that repeat each other
	known := map[cycle]int{}
	for i, l := range lines {
		k := cycle{l.what, len(l.pods)}
		k.what.until = ""
		if _, ok := known[k]; !ok {
			known[k] = len(known)
		}
		keys[i] = known[k]
	}
	for i := 0; i < len(lines); {
		length, times := repeatsAt(lines, keys, i)
		if times < leastRepeats {
			out = append(out, lines[i])
			i++
			continue
		}
		out = append(out, lines[i:i+length]...)
		out = append(out, repeat(lines[i:i+length*times], length))
		i += length * times
	}
	return out
}

// repeatsAt returns the length of the cycle that begins at line i, and how often it occurs
// in a row. Of several cycles it returns the one that covers the most lines.
func repeatsAt(lines []timelineLine, keys []int, i int) (length, times int) {
	for l := 1; l <= longestCycle && i+2*l <= len(lines); l++ {
		period := lines[i+l].at - lines[i].at
		if period <= 0 || lines[i+l-1].at == lines[i+l].at { // a cycle begins at the first line of a time
			continue
		}
		j := i
		for ; j+l < len(lines) && keys[j] == keys[j+l] && lines[j+l].at-lines[j].at == period; j++ {
		}
		if n := (j-i)/l + 1; n >= leastRepeats && n*l > length*times {
			length, times = l, n
		}
	}
	return length, times
}

// repeat returns the line that replaces all cycles but the first.
func repeat(lines []timelineLine, length int) timelineLine {
	var words []string
	for _, l := range lines[:length] {
		if text := l.what.of(len(l.pods)); l.what.one != "status" && !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	if len(words) > mostSums {
		words = append(words[:mostSums], "and more")
	}
	times, end := len(lines)/length-1, lines[len(lines)-1].at
	out := timelineLine{at: lines[length].at, text: fmt.Sprintf("... repeats every %s, %s, until %s: %s",
		lines[length].at-lines[0].at, count(times, "time"), end, strings.Join(words, ", "))}
	for _, l := range lines[length:] {
		out.sums = added(out.sums, l.sums)
	}
	return out
}

// foldWindows divides the time into windows and sums up each. It keeps the last status of a
// window, a few important lines, and all lines of a short window.
func foldWindows(lines []timelineLine) (out []timelineLine) {
	step := niceStep(lines[len(lines)-1].at-lines[0].at, mostWindows)
	important := 0
	for first := 0; first < len(lines); {
		window := lines[first].at / step
		last := first
		for last < len(lines) && lines[last].at/step == window {
			last++
		}
		if last-first <= shortWindow {
			out = append(out, lines[first:last]...)
		} else {
			out = append(out, foldWindow(lines[first:last], (window+1)*step, &important)...)
		}
		first = last
	}
	return out
}

// foldWindow folds the lines of the window that ends at the given time.
func foldWindow(lines []timelineLine, until simulation.Time, important *int) []timelineLine {
	summary := timelineLine{at: lines[0].at}
	var kept, status []timelineLine
	for _, l := range lines {
		switch {
		case l.what.important && *important < mostImportant:
			*important++
			kept = append(kept, l)
		case l.what.one == "status":
			l.text = cutText(l.text, mostStatus)
			status = []timelineLine{l}
		default:
			summary.sums = added(summary.sums, l.sums)
		}
	}
	summary.text = "until " + until.String() + summed(summary.sums)
	kept = append(kept, status...)
	slices.SortStableFunc(kept, func(a, b timelineLine) int { return cmp.Compare(a.at, b.at) })
	if summary.sums == nil {
		return kept
	}
	return append([]timelineLine{summary}, kept...)
}

// added adds counts to the sums.
func added(sums, more []sum) []sum {
	for _, m := range more {
		m.what.until = ""
		if m.what.subject == "" {
			continue
		}
		if at := slices.IndexFunc(sums, func(s sum) bool { return s.what == m.what }); at >= 0 {
			sums[at].n += m.n
			continue
		}
		sums = append(sums, m)
	}
	return sums
}

// summed renders the sums.
func summed(sums []sum) string {
	var parts []string
	for _, s := range sums[:min(mostSums, len(sums))] {
		text := s.what.of(s.n)
		if s.n == 1 {
			text = "1 " + text
		}
		parts = append(parts, text)
	}
	if len(sums) > mostSums {
		parts = append(parts, "and more")
	}
	if parts == nil {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}
