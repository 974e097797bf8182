package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

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
