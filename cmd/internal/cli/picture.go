package cli

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

// The sizes of the picture. The height of a lane depends on the number of lanes.
const (
	pictureWidth = 1080.0
	lanesLeft    = 64.0
	lanesRight   = 1052.0
	lanesHeight  = 900.0 // of all lanes of a Job
	leastLane    = 4.0
	mostLane     = 22.0
	lineHeight   = 15.0
	mostTitle    = 130 // letters
)

// mostLanes is the maximum number of lanes. If there are more, only some are drawn.
const mostLanes = int(lanesHeight / leastLane)

// picture draws timelines one below the other, over one axis of time.
type picture struct {
	strings.Builder
	span simulation.Time
	y    float64 // the lower end of what is drawn
}

// drawing returns timelines as an SVG, for light and dark pages.
func drawing(all []timeline) string {
	p := &picture{y: 2*lineHeight + legendHeight}
	panels := make([]*panel, len(all))
	lane := mostLane
	for i, t := range all {
		p.span = max(p.span, t.Took, simulation.Time(time.Second))
		panels[i] = &panel{picture: p, t: t, lanes: worstLanes(t.Lanes)}
		lane = min(lane, max(lanesHeight/float64(max(len(panels[i].lanes), 1)), leastLane))
	}
	title := titleOf(all[0])
	if len(all) > 1 {
		title = all[0].name + " against " + all[1].name
	}
	for i, n := range panels {
		n.lane = lane
		name := ""
		if len(all) > 1 {
			name = all[i].name + ": "
		}
		n.draw(name)
	}
	p.y += lineHeight
	head := &picture{}
	fmt.Fprintf(head, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %.1f" role="img">`+"\n",
		pictureWidth, p.y)
	fmt.Fprintf(head, "<title>%s</title>\n%s", escaped(title), pictureStyle)
	fmt.Fprintf(head, `<rect class="paper" width="%g" height="%.1f"/>`+"\n", pictureWidth, p.y)
	head.text(10, 18, "start", "title", cutText(title, mostTitle))
	head.legend()
	return head.String() + p.String() + "</svg>\n"
}

func titleOf(t timeline) string {
	return fmt.Sprintf("Job %s/%s: %s after %s, %s: %s", t.Job.Namespace, t.Job.Name, t.End, t.Took,
		podCount(t.Totals.Pods), t.outcomes())
}

// worstLanes returns at most mostLanes lanes: of each group of neighbours the worst one.
func worstLanes(lanes []simulation.Lane) []simulation.Lane {
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
		case failureRank(lane) > failureRank(out[last]):
			out[last] = lane
		}
	}
	return out
}

// failureRank ranks an index by the number of its pods that did not succeed, and then by whether
// the last pod did not.
func failureRank(lane simulation.Lane) (rank int) {
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

// escaped returns a text as XML. Characters that XML cannot represent are replaced.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

// cutText truncates a long text.
func cutText(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}

// x returns the position of a time. Times before the start are at the edge.
func (p *picture) x(at simulation.Time) float64 {
	return lanesLeft + (lanesRight-lanesLeft)*max(0, min(float64(at)/float64(p.span), 1))
}

// text writes a text unless it is empty; anchor is start, middle or end.
func (p *picture) text(x, y float64, anchor, class, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(p, `<text%s x="%.1f" y="%.1f"%s>%s</text>`+"\n", attribute("class", class), x, y,
		attribute("text-anchor", strings.TrimPrefix(anchor, "start")), escaped(text))
}

// attribute returns an attribute; empty if the value is.
func attribute(name, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf(` %s="%s"`, name, value)
}

// mostTicks is the maximum number of ticks of the axis.
const mostTicks = 12

// niceStep returns a round step that divides the span into at most the given number of steps.
func niceStep(span, most simulation.Time) simulation.Time {
	step := simulation.Time(time.Second)
	for _, factor := range []simulation.Time{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600,
		12 * 3600, 24 * 3600} {
		if step = factor * simulation.Time(time.Second); span/step <= most {
			break
		}
	}
	for span/step > most {
		step *= 2
	}
	return step
}

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

// The marks of a panel.
const (
	mostMarks  = 12 // with a text
	mostReason = 80 // characters of a text
)

// mark is an event of the scenario, or the conditions that changed at one time.
type mark struct {
	at    simulation.Time
	event bool
	text  string
	title string
}

// marks returns the marks with a text, in the order of time, and the number of marks that
// get no text.
func (n *panel) marks() (out []mark, more int) {
	for _, c := range n.t.Conditions {
		kind, reason := c.Type, c.Reason
		if c.Status != "True" {
			kind += " " + c.Status
		}
		last := len(out) - 1
		if last < 0 || out[last].at != c.At {
			out = append(out, mark{at: c.At, text: kind + ": " + reason, title: c.Message})
			continue
		}
		if before, ok := strings.CutSuffix(out[last].text, ": "+reason); ok {
			out[last].text = before + ", " + kind + ": " + reason
			continue
		}
		out[last].text += ", " + kind + ": " + reason
		out[last].title += "; " + c.Message
	}
	for _, e := range n.t.Happened {
		out = append(out, mark{at: e.At, event: true, text: e.Text, title: e.Text})
	}
	slices.SortStableFunc(out, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.at, b.at), -strings.Compare(fmt.Sprint(a.event), fmt.Sprint(b.event)))
	})
	if more = len(out) - mostMarks; more <= 0 {
		return out, 0
	}
	return append(slices.Clip(out[:mostMarks/2]), out[len(out)-mostMarks/2:]...), more
}

// drawMarks draws the marks, each with a line of text above the lanes.
func (n *panel) drawMarks(y, foot float64, marks []mark) {
	for i, m := range marks {
		x, at := n.x(m.at), y+lineHeight*float64(i)
		n.element(`<path class="mark" d="M%.1f %.1fV%.1f"/>`, x, at+1, foot)
	}
	if len(marks) == mostMarks { // there may be more, without a text
		for _, e := range n.t.Happened[:min(len(n.t.Happened), 1000)] {
			n.eventSign(n.x(e.At), n.top-5)
		}
	}
	for i, m := range marks {
		x, at := n.x(m.at), y+lineHeight*float64(i)
		sign := n.conditionSign
		if m.event {
			sign = n.eventSign
		}
		sign(x, at-4)
		anchor, dx := "start", 8.0
		if x > pictureWidth/2 {
			anchor, dx = "end", -8.0
		}
		fmt.Fprintf(n, `<text class="halo" x="%.1f" y="%.1f" text-anchor="%s">%s<title>%s</title></text>`+"\n",
			x+dx, at, anchor, escaped(cutText(m.at.String()+" "+m.text, mostReason)), escaped(m.title))
	}
}

// panel draws one timeline: a lane for each index with a bar for each pod, and below the
// lanes the number of active pods.
type panel struct {
	*picture
	t           timeline
	lanes       []simulation.Lane
	top, bottom float64 // of the lanes
	lane        float64 // the height of one
}

// element writes an element.
func (p *picture) element(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

// draw draws a panel below the previous ones. One of several panels has a name.
func (n *panel) draw(name string) {
	if name != "" {
		n.y += lineHeight
		n.text(10, n.y, "start", "title", cutText(name+titleOf(n.t), mostTitle))
	}
	marks, more := n.marks()
	first := n.y + lineHeight
	n.top = n.y + lineHeight*float64(len(marks)+1) + 10
	if more > 0 {
		n.top += lineHeight // their signs have their own line
	}
	n.bottom = n.top + n.lane*float64(len(n.lanes))
	foot := n.bottom + curveGap + curveHeight
	for at, step := simulation.Time(0), niceStep(n.span, mostTicks); at <= n.span; at += step {
		n.element(`<path class="grid" d="M%.1f %.1fV%.1f"/>`, n.x(at), n.top, foot)
		n.text(n.x(at), foot+lineHeight, "middle", "", at.String())
	}
	what := "pods"
	if n.t.indexed {
		what = "index"
	}
	n.text(lanesLeft-8, n.top-8, "end", "small", what)
	noteAt := n.top - 8
	var notes []string
	if n.t.Assumed != "" {
		notes = append(notes, cutText(strings.TrimSuffix(n.t.Assumed, "."), mostTitle))
	}
	if drawn, all := len(n.lanes), len(n.t.Lanes); drawn < all {
		notes = append(notes, fmt.Sprintf("%d of %d: the worst of each group of neighbours", drawn, all))
	}
	if more > 0 {
		noteAt -= lineHeight
		notes = append(notes, fmt.Sprintf("%d more events and conditions are marked without text", more))
	}
	n.text(lanesLeft, noteAt, "start", "small", strings.Join(notes, "; "))
	for _, w := range n.t.Waits {
		n.bar(`fill="url(#wait)"`, w.From, w.Until, n.top, n.bottom-n.top, "the Job backs off")
	}
	for i, lane := range n.lanes {
		n.drawLane(i, lane)
	}
	n.curve(n.bottom + curveGap)
	n.drawMarks(first, foot, marks)
	n.y = foot + lineHeight*1.5
}

func (n *panel) drawLane(i int, lane simulation.Lane) {
	y := n.top + n.lane*float64(i)
	inner := n.lane * 0.8
	if every := max(1, int(lineHeight/n.lane+0.999)); n.t.indexed && i%every == 0 {
		n.text(lanesLeft-8, y+inner/2+4, "end", "", fmt.Sprint(lane.Index))
	}
	for _, w := range lane.Waits {
		if n.x(w.Until)-n.x(w.From) < 1 {
			continue
		}
		n.bar(`fill="url(#wait)"`, w.From, w.Until, y, inner, fmt.Sprintf("index %d backs off", lane.Index))
	}
	last := -1.0 // where the last pod was drawn
	for _, pod := range lane.Pods {
		if x := n.x(pod.Created); x-last >= 1 || pod.Ended == nil || n.x(*pod.Ended)-x >= 1 {
			n.drawPod(y, inner, pod)
			last = x
		}
	}
}

// drawPod draws the phases of a pod: until it runs, until it ends or its node is lost, and
// until a pod on a lost node is removed.
func (n *panel) drawPod(y, height float64, pod simulation.Pod) {
	ended := *cmp.Or(pod.Ended, &n.t.Took)
	started := *cmp.Or(pod.Started, &ended)
	if ended < 0 {
		return // before the simulation
	}
	if started > pod.Created {
		n.bar(`class="pending"`, pod.Created, started, y, height, "pod "+pod.Name+" is not running yet")
	}
	ran := ended
	if pod.Lost != nil {
		ran = *pod.Lost
		n.bar(`class="lost"`, ran, ended, y+0.5, height-1, "the node of pod "+pod.Name+" is lost")
		n.label(ran, ended, y, height, "halo small", "node lost")
	}
	if started < ended || pod.Started != nil || pod.Created == ended {
		n.bar(classOf(pod.Outcome), started, ran, y, height, strings.TrimSpace("pod "+pod.Name+" "+ending(pod)))
	}
	if pod.Outcome == simulation.PodFailed && pod.ExitCode != nil {
		n.label(started, ran, y, height, "on", fmt.Sprint(*pod.ExitCode))
	}
	if pod.Action != "" {
		n.element(`<circle class="rule" cx="%.1f" cy="%.1f" r="%.1f"><title>matched %s %s</title></circle>`,
			n.x(ended), y+height/2, min(3.5, height/2), escaped(pod.Action), escaped(pod.Rule))
	}
}

// label writes a text into a bar if it fits.
func (n *panel) label(from, to simulation.Time, y, height float64, class, text string) {
	width := n.x(to) - n.x(from)
	if height >= 10 && width >= 7*float64(len(text))+4 {
		n.text((n.x(from)+n.x(to))/2, y+height/2+4, "middle", class, text)
	}
}

func (p *picture) bar(how string, from, to simulation.Time, y, height float64, title string) {
	width := max(p.x(to)-p.x(from), 0.5)
	p.element(`<rect %s x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s, %s to %s</title></rect>`,
		how, p.x(from), y, width, height, escaped(title), from, to)
}
