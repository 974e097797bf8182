package main

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/jobfate/jobfate/internal/simulation"
)

// The sizes of the picture: the lanes are as high as there is room for.
const (
	pictureWidth = 1080.0
	lanesLeft    = 64.0
	lanesRight   = 1052.0
	lanesHeight  = 900.0 // of all lanes of a Job
	leastLane    = 4.0
	mostLane     = 22.0
	lineHeight   = 15.0
	mostTitle    = 130 // letters
	mostReason   = 80
)

// mostLanes is how many lanes there is room for. Of more only some are drawn.
const mostLanes = int(lanesHeight / leastLane)

const pictureStyle = `<style>
text { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: #333 }
.title { font-size: 13px; font-weight: 600 } .small { fill: #666 }
.paper { fill: #fff } .grid { stroke: #e2e2e2 } .mark { stroke: #555; stroke-dasharray: 2 3; fill: none }
.hatch { stroke: #a5a5a5; stroke-width: 1.5 } .rule { fill: #111; stroke: #fff; stroke-width: 1.2 }
.pending { fill: #cfcfcf } .succeeded { fill: #2da44e } .failed { fill: #d1242f }
.evicted { fill: #d9a400 } .deleted { fill: #8250df } .unfinished { fill: #218bff }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .small { fill: #999 } .paper { fill: #0d1117 } .grid { stroke: #2b3038 } .mark { stroke: #aaa }
  .hatch { stroke: #6b7280 } .rule { fill: #fff; stroke: #0d1117 } .pending { fill: #484f58 }
}
</style>
<defs><pattern id="wait" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V5"/></pattern></defs>
`

// picture draws timelines one below the other, over one axis of time.
type picture struct {
	strings.Builder
	span simulation.Time
	y    float64 // down to where it is drawn
}

// panel is what is drawn of one timeline: a lane for each index, and in it a bar
// for each pod.
type panel struct {
	*picture
	t           timeline
	lanes       []simulation.Lane
	top, bottom float64 // of the lanes
	lane        float64 // the height of one
}

// drawing returns timelines as an SVG, for light and dark pages.
func drawing(all []timeline) string {
	p := &picture{y: 3 * lineHeight}
	panels := make([]*panel, len(all))
	lane := mostLane
	for i, t := range all {
		p.span = max(p.span, t.Took, simulation.Time(time.Second))
		panels[i] = &panel{picture: p, t: t, lanes: thinned(t.Lanes)}
		lane = min(lane, max(lanesHeight/float64(max(len(panels[i].lanes), 1)), leastLane))
	}
	title, names := titleOf(all[0]), []string{""}
	if len(all) > 1 {
		first, second := all[0].name, all[1].name
		title, names = first+" against "+second, []string{first + ": ", second + ": "}
	}
	for i, n := range panels {
		n.lane = lane
		n.draw(names[i])
	}
	p.axis(panels)
	head := &picture{}
	fmt.Fprintf(head, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %.1f" role="img">`+"\n", pictureWidth, p.y)
	fmt.Fprintf(head, "<title>%s</title>\n%s", escaped(title), pictureStyle)
	fmt.Fprintf(head, `<rect class="paper" width="%g" height="%.1f"/>`+"\n", pictureWidth, p.y)
	fmt.Fprintf(head, `<text class="title" x="10" y="18">%s</text>`+"\n", escaped(cutText(title, mostTitle)))
	head.legend()
	return head.String() + p.String() + "</svg>\n"
}

func titleOf(t timeline) string {
	return fmt.Sprintf("Job %s/%s: %s after %s, %s: %s", t.Job.Namespace, t.Job.Name, t.End, t.Took, podCount(t.Totals.Pods), t.outcomes())
}

// thinned returns as many lanes as there is room for: of neighbours the one that
// fared worst.
func thinned(lanes []simulation.Lane) []simulation.Lane {
	each := (len(lanes) + mostLanes - 1) / mostLanes
	if each <= 1 {
		return lanes
	}
	var out []simulation.Lane
	for i, lane := range lanes {
		last := len(out) - 1
		switch {
		case i%each == 0:
			out = append(out, lane)
		case trouble(lane) > trouble(out[last]):
			out[last] = lane
		}
	}
	return out
}

// trouble ranks how badly an index fared: by its pods that did not succeed, and
// then by whether the last is one of them.
func trouble(lane simulation.Lane) (rank int) {
	for i, pod := range lane.Pods {
		if pod.Outcome != simulation.PodSucceeded {
			rank += 2
			if i == len(lane.Pods)-1 {
				rank++
			}
		}
	}
	return rank
}

// escaped returns a text as XML has it, which cannot hold every letter.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

// cutText leaves the beginning of a long text.
func cutText(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}

// x returns where a time stands.
func (p *picture) x(at simulation.Time) float64 {
	return lanesLeft + (lanesRight-lanesLeft)*min(float64(at)/float64(p.span), 1)
}

func (p *picture) bar(how string, from, to simulation.Time, y, height float64, title string) {
	width := max(p.x(to)-p.x(from), 0.5)
	fmt.Fprintf(p, `<rect %s x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s, %s to %s</title></rect>`+"\n",
		how, p.x(from), y, width, height, escaped(title), from, to)
}

func (p *picture) legend() {
	x := 10.0
	entry := func(how, text string) {
		fmt.Fprintf(p, `<rect %s x="%.1f" y="27" width="12" height="10"/><text x="%.1f" y="36">%s</text>`+"\n", how, x, x+16, text)
		x += 100
	}
	entry(`class="pending"`, "not running")
	for _, o := range []simulation.Outcome{simulation.PodSucceeded, simulation.PodFailed, simulation.PodEvicted, simulation.PodDeleted, simulation.PodUnfinished} {
		entry(classOf(o), strings.ToLower(string(o)))
	}
	entry(`fill="url(#wait)"`, "backing off")
	fmt.Fprintf(p, `<circle class="rule" cx="%.1f" cy="32" r="3.5"/><text x="%.1f" y="36">rule matched</text>`+"\n", x+6, x+16)
}

func classOf(o simulation.Outcome) string {
	return `class="` + strings.ToLower(string(o)) + `"`
}

// step is the time between two ticks, of which there are at most 12.
func (p *picture) step() simulation.Time {
	step := simulation.Time(time.Second)
	for _, factor := range []simulation.Time{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600} {
		if step = factor * simulation.Time(time.Second); p.span/step <= 12 {
			break
		}
	}
	for p.span/step > 12 {
		step *= 2
	}
	return step
}

// axis draws the times below all panels.
func (p *picture) axis(panels []*panel) {
	bottom := panels[len(panels)-1].bottom
	for at, step := simulation.Time(0), p.step(); at <= p.span; at += step {
		fmt.Fprintf(p, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", p.x(at), bottom+lineHeight, at)
	}
	p.y = bottom + 2*lineHeight
}

// draw draws a panel below what there is. One of several has a name.
func (n *panel) draw(name string) {
	if name != "" {
		n.y += lineHeight
		fmt.Fprintf(n, `<text class="title" x="10" y="%.1f">%s</text>`+"\n", n.y, escaped(cutText(name+titleOf(n.t), mostTitle)))
	}
	first := n.y + lineHeight
	n.top = n.y + lineHeight*float64(len(n.t.Conditions)+1) + 8
	n.bottom = n.top + n.lane*float64(len(n.lanes))
	for at, step := simulation.Time(0), n.step(); at <= n.span; at += step {
		fmt.Fprintf(n, `<path class="grid" d="M%.1f %.1fV%.1f"/>`+"\n", n.x(at), n.top, n.bottom)
	}
	what := "pods"
	if n.t.indexed {
		what = "index"
	}
	fmt.Fprintf(n, `<text class="small" x="%g" y="%.1f" text-anchor="end">%s</text>`+"\n", lanesLeft-8, n.top-8, what)
	if drawn, all := len(n.lanes), len(n.t.Lanes); drawn < all {
		fmt.Fprintf(n, `<text class="small" x="%g" y="%.1f">%d of %d: of neighbours the one that fared worst</text>`+"\n", lanesLeft, n.top-8, drawn, all)
	}
	for _, w := range n.t.Waits {
		n.bar(`fill="url(#wait)"`, w.From, w.Until, n.top, n.bottom-n.top, "the Job backs off")
	}
	for i, lane := range n.lanes {
		n.drawLane(i, lane)
	}
	n.conditions(first)
	n.y = n.bottom + lineHeight
}

func (n *panel) drawLane(i int, lane simulation.Lane) {
	y := n.top + n.lane*float64(i)
	inner := n.lane * 0.8
	if every := max(1, int(lineHeight/n.lane+0.999)); n.t.indexed && i%every == 0 {
		fmt.Fprintf(n, `<text x="%g" y="%.1f" text-anchor="end">%d</text>`+"\n", lanesLeft-8, y+inner/2+4, lane.Index)
	}
	for _, w := range lane.Waits {
		n.bar(`fill="url(#wait)"`, w.From, w.Until, y, inner, fmt.Sprintf("index %d backs off", lane.Index))
	}
	for _, pod := range lane.Pods {
		ended, started := n.t.Took, n.t.Took
		if pod.Ended != nil {
			ended, started = *pod.Ended, *pod.Ended
		}
		if pod.Started != nil {
			started = *pod.Started
		}
		if started > pod.Created {
			n.bar(`class="pending"`, pod.Created, started, y, inner, "pod "+pod.Name+" does not run yet")
		}
		n.bar(classOf(pod.Outcome), started, ended, y, inner, strings.TrimSpace("pod "+pod.Name+" "+ending(pod)))
		if pod.Action != "" {
			fmt.Fprintf(n, `<circle class="rule" cx="%.1f" cy="%.1f" r="%.1f"><title>%s: %s</title></circle>`+"\n",
				n.x(ended), y+inner/2, min(3.5, inner/2), escaped(pod.Action), escaped(pod.Rule))
		}
	}
}

// conditions marks when conditions changed, each with a line of text above.
func (n *panel) conditions(y float64) {
	for _, c := range n.t.Conditions {
		x := n.x(c.At)
		anchor, dx := "start", 4.0
		if x > pictureWidth/2 {
			anchor, dx = "end", -4.0
		}
		text := cutText(fmt.Sprintf("%s %s: %s %s", c.At, c.Type, c.Status, c.Reason), mostReason)
		fmt.Fprintf(n, `<path class="mark" d="M%.1f %.1fV%.1f"/><text x="%.1f" y="%.1f" text-anchor="%s">%s<title>%s</title></text>`+"\n",
			x, y-8, n.bottom, x+dx, y, anchor, escaped(text), escaped(c.Message))
		y += lineHeight
	}
}
