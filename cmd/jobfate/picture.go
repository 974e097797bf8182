package main

import (
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/jobfate/jobfate/internal/simulation"
)

// The sizes of the picture: the lanes are as high as there is room for.
const (
	pictureWidth = 1080.0
	lanesLeft    = 60.0
	lanesRight   = 1060.0
	lanesHeight  = 900.0
	leastLane    = 4.0
	mostLane     = 22.0
	lineHeight   = 14.0
)

const pictureStyle = `<style>
text { font: 11px system-ui, sans-serif; fill: #333 }
.title { font-size: 13px; font-weight: 600 }
.paper { fill: #fff } .grid { stroke: #ddd } .mark { stroke: #555; stroke-dasharray: 2 3 }
.hatch { stroke: #999; stroke-width: 1.5 } .rule { fill: #222 }
.pending { fill: #ccc } .succeeded { fill: #2da44e } .failed { fill: #d1242f }
.evicted { fill: #bf8700 } .deleted { fill: #8250df } .unfinished { fill: #218bff }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .paper { fill: #0d1117 } .grid { stroke: #333 } .mark { stroke: #aaa }
  .hatch { stroke: #777 } .rule { fill: #fff } .pending { fill: #444 }
}
</style>
<defs><pattern id="wait" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V5"/></pattern></defs>
`

// picture draws a timeline: a lane for each index, and in it a bar for each pod.
type picture struct {
	strings.Builder
	t      timeline
	top    float64 // of the lanes
	lane   float64 // the height of one
	bottom float64
	span   simulation.Time
}

// svg returns the timeline as an SVG, for light and dark pages.
func (t timeline) svg() string {
	p := picture{t: t, span: max(t.Took, simulation.Time(time.Second))}
	p.lane = min(max(lanesHeight/float64(max(len(t.Lanes), 1)), leastLane), mostLane)
	p.top = 40 + lineHeight*float64(len(t.Conditions)+1)
	p.bottom = p.top + p.lane*float64(len(t.Lanes))
	height := p.bottom + 3.5*lineHeight
	fmt.Fprintf(&p, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %.1f" role="img">`+"\n", pictureWidth, height)
	title := fmt.Sprintf("Job %s/%s: %s after %s, %s: %s", t.Job.Namespace, t.Job.Name, t.End, t.Took, count(t.Totals.Pods, "pod"), t.outcomes())
	fmt.Fprintf(&p, "<title>%s</title>\n%s", html.EscapeString(title), pictureStyle)
	fmt.Fprintf(&p, `<rect class="paper" width="%g" height="%.1f"/>`+"\n"+`<text class="title" x="10" y="18">%s</text>`+"\n", pictureWidth, height, html.EscapeString(title))
	p.legend()
	p.axis()
	for _, w := range t.Waits {
		p.bar(`fill="url(#wait)"`, w.From, w.Until, p.top, p.bottom-p.top, "the Job backs off")
	}
	for i, lane := range t.Lanes {
		p.drawLane(i, lane)
	}
	p.conditions()
	p.WriteString("</svg>\n")
	return p.String()
}

// x returns where a time stands.
func (p *picture) x(at simulation.Time) float64 {
	return lanesLeft + (lanesRight-lanesLeft)*min(float64(at)/float64(p.span), 1)
}

func (p *picture) bar(how string, from, to simulation.Time, y, height float64, title string) {
	width := max(p.x(to)-p.x(from), 0.5)
	fmt.Fprintf(p, `<rect %s x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s, %s to %s</title></rect>`+"\n",
		how, p.x(from), y, width, height, html.EscapeString(title), from, to)
}

func (p *picture) legend() {
	x := 10.0
	entry := func(how, text string) {
		fmt.Fprintf(p, `<rect %s x="%.1f" y="27" width="12" height="9"/><text x="%.1f" y="35">%s</text>`+"\n", how, x, x+16, text)
		x += 100
	}
	entry(`class="pending"`, "not running")
	for _, o := range []simulation.Outcome{simulation.PodSucceeded, simulation.PodFailed, simulation.PodEvicted, simulation.PodDeleted, simulation.PodUnfinished} {
		entry(classOf(o), strings.ToLower(string(o)))
	}
	entry(`fill="url(#wait)"`, "backing off")
	fmt.Fprintf(p, `<circle class="rule" cx="%.1f" cy="31.5" r="3"/><text x="%.1f" y="35">rule matched</text>`+"\n", x+6, x+16)
}

func classOf(o simulation.Outcome) string {
	return `class="` + strings.ToLower(string(o)) + `"`
}

// axis draws at most 12 ticks at round times.
func (p *picture) axis() {
	step := simulation.Time(time.Second)
	for _, factor := range []simulation.Time{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600} {
		if step = factor * simulation.Time(time.Second); p.span/step <= 12 {
			break
		}
	}
	for p.span/step > 12 {
		step *= 2
	}
	for at := simulation.Time(0); at <= p.span; at += step {
		fmt.Fprintf(p, `<path class="grid" d="M%.1f %.1fV%.1f"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			p.x(at), p.top, p.bottom, p.x(at), p.bottom+lineHeight, at)
	}
	what := "pods"
	if p.t.indexed {
		what = "index"
	}
	fmt.Fprintf(p, `<text x="%g" y="%.1f" text-anchor="end">%s</text>`+"\n", lanesLeft-6, p.top-4, what)
}

func (p *picture) drawLane(i int, lane simulation.Lane) {
	y := p.top + p.lane*float64(i)
	inner := p.lane * 0.8
	if every := max(1, int(lineHeight/p.lane+0.999)); p.t.indexed && i%every == 0 {
		fmt.Fprintf(p, `<text x="%g" y="%.1f" text-anchor="end">%d</text>`+"\n", lanesLeft-6, y+p.lane/2+4, lane.Index)
	}
	for _, w := range lane.Waits {
		p.bar(`fill="url(#wait)"`, w.From, w.Until, y, inner, fmt.Sprintf("index %d backs off", lane.Index))
	}
	for _, pod := range lane.Pods {
		ended, started := p.t.Took, p.t.Took
		if pod.Ended != nil {
			ended, started = *pod.Ended, *pod.Ended
		}
		if pod.Started != nil {
			started = *pod.Started
		}
		if started > pod.Created {
			p.bar(`class="pending"`, pod.Created, started, y, inner, "pod "+pod.Name+" does not run yet")
		}
		p.bar(classOf(pod.Outcome), started, ended, y, inner, "pod "+pod.Name+" "+ending(pod))
		if pod.Action != "" {
			fmt.Fprintf(p, `<circle class="rule" cx="%.1f" cy="%.1f" r="%.1f"><title>%s: %s</title></circle>`+"\n",
				p.x(ended), y+inner/2, min(3, inner/2), html.EscapeString(pod.Action), html.EscapeString(pod.Rule))
		}
	}
}

// conditions marks when conditions changed, each with a line of text above.
func (p *picture) conditions() {
	for i, c := range p.t.Conditions {
		x, y := p.x(c.At), 40+lineHeight*float64(i+1)
		anchor, dx := "start", 4.0
		if x > pictureWidth/2 {
			anchor, dx = "end", -4.0
		}
		text := fmt.Sprintf("%s %s: %s %s", c.At, c.Type, c.Status, c.Reason)
		fmt.Fprintf(p, `<path class="mark" d="M%.1f %.1fV%.1f"/><text x="%.1f" y="%.1f" text-anchor="%s">%s<title>%s</title></text>`+"\n",
			x, y-8, p.bottom, x+dx, y, anchor, html.EscapeString(text), html.EscapeString(c.Message))
	}
}
