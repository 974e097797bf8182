package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/simulation"
)

// How a text that is too long is folded.
const (
	mostTimeline  = 50  // lines of a timeline that are printed as they are
	mostWindows   = 18  // of time, with two lines for each
	shortWindow   = 2   // lines, which are printed as they are
	mostImportant = 10  // lines within windows
	mostStatus    = 110 // letters of a status within a window
	longestCycle  = 40
	leastRepeats  = 3 // of a cycle, to be folded
	mostSums      = 6 // in a line that stands for others
)

// folded makes few lines of many: first it merges those of one time that say the
// same of several pods, then it folds what repeats, and at last it sums up
// windows of time. It returns the number of lines that there were, if it has folded any.
func folded(lines []moment, indexed bool) ([]moment, int) {
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

// merged makes one line of those of one time that say the same of several pods.
func merged(lines []moment, indexed bool) (out []moment) {
	first := 0 // of this time, in out
	for i := range lines {
		l := &lines[i]
		if i > 0 && lines[i-1].at != l.at {
			first = len(out)
		}
		at := -1
		if l.what.subject != "" {
			at = slices.IndexFunc(out[first:], func(o moment) bool { return o.what == l.what })
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
				out[i].text += ": indexes " + shortened(setOf(out[i].pods).String(), false)
			}
		}
	}
	return out
}

func setOf(indexes []int32) indexset.Set {
	var b indexset.Builder
	for _, i := range indexes {
		b.Add(i)
	}
	return b.Set()
}

// of says it of a number of pods or indexes.
func (w what) of(n int) string {
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

// cycle is what two lines have in common when one repeats the other.
type cycle struct {
	what what
	n    int
}

// foldRepeats leaves the first of cycles that follow each other at equal distances
// of time, and puts a line in place of the others.
func foldRepeats(lines []moment) (out []moment) {
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

// repeatsAt returns the cycle that begins at a line and covers the most, and how
// often it follows in a row.
func repeatsAt(lines []moment, keys []int, i int) (length, times int) {
	for l := 1; l <= longestCycle && i+2*l <= len(lines); l++ {
		period := lines[i+l].at - lines[i].at
		if period <= 0 || lines[i+l-1].at == lines[i+l].at { // a cycle begins with a time
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

// repeat is the line that stands for all cycles but the first.
func repeat(lines []moment, length int) moment {
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
	out := moment{at: lines[length].at, text: fmt.Sprintf("... repeats every %s, %s, until %s: %s",
		lines[length].at-lines[0].at, count(times, "time"), end, strings.Join(words, ", "))}
	for _, l := range lines[length:] {
		out.sums = added(out.sums, l.sums)
	}
	return out
}

// foldWindows divides the time into windows and says of each what happens in it, and
// the last status. Important lines stay, and so do the lines of a window that has few.
func foldWindows(lines []moment) (out []moment) {
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

// foldWindow folds the lines until a time.
func foldWindow(lines []moment, until simulation.Time, important *int) []moment {
	summary := moment{at: lines[0].at}
	var kept, status []moment
	for _, l := range lines {
		switch {
		case l.what.important && *important < mostImportant:
			*important++
			kept = append(kept, l)
		case l.what.one == "status":
			l.text = cutText(l.text, mostStatus)
			status = []moment{l}
		default:
			summary.sums = added(summary.sums, l.sums)
		}
	}
	summary.text = "until " + until.String() + summed(summary.sums)
	kept = append(kept, status...)
	slices.SortStableFunc(kept, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	if summary.sums == nil {
		return kept
	}
	return append([]moment{summary}, kept...)
}

// added adds up how often things have happened.
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

// summed says how often things have happened.
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
