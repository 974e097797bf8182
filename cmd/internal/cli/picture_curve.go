package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

// The curve of active pods below the lanes.
const (
	curveGap    = 12.0
	curveHeight = 56.0
)

// delta is a change of a number at a time.
type delta struct {
	at simulation.Time
	by int
}

// curve draws the number of active pods, and of running pods among them.
func (n *panel) curve(top float64) {
	var active, running []delta
	for _, lane := range n.t.Lanes {
		for _, pod := range lane.Pods {
			active = append(active, from(pod.Created, earliest(pod.Terminating, pod.Ended))...)
			if pod.Started != nil {
				running = append(running, from(*pod.Started, earliest(pod.Terminating, pod.Lost, pod.Ended))...)
			}
		}
	}
	a, most := n.columns(active)
	r, _ := n.columns(running)
	bottom := top + curveHeight
	path := func(heights []int) string {
		var b strings.Builder
		at := 0
		fmt.Fprintf(&b, "M%g %.1f", lanesLeft, bottom)
		for i, h := range heights {
			if h != at {
				fmt.Fprintf(&b, "H%g V%.1f", lanesLeft+float64(i), bottom-curveHeight*float64(h)/float64(max(most, 1)))
				at = h
			}
		}
		fmt.Fprintf(&b, "H%.1f", n.x(n.t.Took))
		return b.String()
	}
	n.element(`<path class="running" d="%sV%.1fZ"><title>running pods, at most %d</title></path>`, path(r),
		bottom, slices.Max(r))
	n.element(`<path class="active" d="%s"><title>active pods, at most %d</title></path>`, path(a), most)
	n.element(`<path class="grid" d="M%g %.1fH%g"/>`, lanesLeft, bottom, lanesRight)
	n.text(lanesLeft-8, top+8, "end", "", fmt.Sprint(most))
	n.text(lanesLeft-8, bottom, "end", "", "0")
	n.text(lanesLeft-8, (top+bottom)/2+6, "end", "small", "active")
}

// from counts one from begin until end; a nil end is never reached.
func from(begin simulation.Time, end *simulation.Time) []delta {
	if end == nil {
		return []delta{{begin, 1}}
	}
	return []delta{{begin, 1}, {max(begin, *end), -1}}
}

// earliest returns the earliest of the times that are set.
func earliest(times ...*simulation.Time) (first *simulation.Time) {
	for _, t := range times {
		if t != nil && (first == nil || *t < *first) {
			first = t
		}
	}
	return first
}

// columns returns the largest number in each column of the picture, and overall.
func (n *panel) columns(deltas []delta) (out []int, most int) {
	slices.SortFunc(deltas, func(a, b delta) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	out = make([]int, int(lanesRight-lanesLeft)+1)
	at, now := 0, 0
	for _, d := range deltas {
		if d.at < 0 { // before the simulation
			now += d.by
			out[0], most = now, now
			continue
		}
		column := int(n.x(d.at) - lanesLeft)
		for ; at < column; at++ {
			out[at+1] = now
		}
		now += d.by
		out[at] = max(out[at], now)
		most = max(most, now)
	}
	for at++; at < len(out); at++ {
		out[at] = now
	}
	return out, most
}
