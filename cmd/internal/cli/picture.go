package cli

import (
	"encoding/xml"
	"fmt"
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
