package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func at(seconds int) *simulation.Time {
	return new(simulation.Time(seconds) * simulation.Time(time.Second))
}

// TestCurve counts pods: one from 10s to 30s, one from before the start until 20s, one that
// ended before the start, and one from 90s on.
func TestCurve(t *testing.T) {
	n := &panel{picture: &picture{span: *at(100)}}
	var deltas []delta
	for _, pod := range []simulation.Pod{{Created: *at(10), Ended: at(30)}, {Created: *at(-9), Terminating: at(20), Ended: at(40)}, {Created: *at(-9), Ended: at(-5)}, {Created: *at(90)}} {
		deltas = append(deltas, from(pod.Created, earliest(pod.Terminating, pod.Ended))...)
	}
	heights, most := n.columns(deltas)
	Same(t, "pods at most", most, 2)
	column := func(seconds int) int { return int(n.x(*at(seconds)) - lanesLeft) }
	for seconds, want := range map[int]int{0: 1, 5: 1, 15: 2, 25: 1, 35: 0, 80: 0, 95: 1, 100: 1} {
		Same(t, fmt.Sprintf("pods at %ds", seconds), heights[column(seconds)], want)
	}
}

// TestMarks checks the marks of events and conditions. Conditions of the same time and reason
// share a mark. Of many marks only the first and the last ones have a text.
func TestMarks(t *testing.T) {
	r := &simulation.Result{Took: *at(100), Conditions: []simulation.Condition{
		{At: *at(3), Type: "Suspended", Status: "False", Reason: "JobResumed"},
		{At: *at(50), Type: "FailureTarget", Status: "True", Reason: "A"}, {At: *at(50), Type: "Failed", Status: "True", Reason: "A"},
		{At: *at(60), Type: "X", Status: "True", Reason: "A"}, {At: *at(60), Type: "Y", Status: "True", Reason: "B"},
	}, Happened: []simulation.Happening{{At: *at(3), Text: "suspend is set to false"}}}
	n := &panel{t: timeline{Result: r}}
	marks, more := n.marks()
	var texts []string
	for _, m := range marks {
		texts = append(texts, m.text)
	}
	want := []string{"suspend is set to false", "Suspended False: JobResumed", "FailureTarget, Failed: A", "X: A, Y: B"}
	if !slices.Equal(texts, want) || more != 0 {
		t.Errorf("got %q and %d more, want %q", texts, more, want)
	}
	r.Happened = slices.Repeat(r.Happened, 50)
	marks, more = n.marks()
	if len(marks) != mostMarks || more != 53-mostMarks || marks[0].text != want[0] || marks[mostMarks-1].text != want[3] {
		t.Errorf("got %d marks and %d more, from %q to %q", len(marks), more, marks[0].text, marks[len(marks)-1].text)
	}
	picture := drawing([]timeline{n.t})
	Same(t, "signs of events: 50, the legend and the texts", strings.Count(picture, `<path class="event"`), 50+1+mostMarks-3)
	checkPart(t, "the picture", picture, "41 more events and conditions are marked without text")
}

// TestPods checks the texts in the picture that do not depend on colours.
func TestPods(t *testing.T) {
	pods := []simulation.Pod{{Name: "a", Created: 0, Started: at(1), Ended: at(40), Outcome: simulation.PodFailed, ExitCode: new(int32(137))},
		{Name: "b", Created: *at(41), Started: at(42), Lost: at(50), Outcome: simulation.PodUnfinished}}
	r := &simulation.Result{Took: *at(100), Lanes: []simulation.Lane{{Pods: pods}}}
	picture := drawing([]timeline{{Result: r, indexed: true}})
	for _, part := range []string{`text-anchor="middle">137</text>`, `>node lost</text>`, "pod a fails with exit code 137, 1s to 40s", "the node of pod b is lost, 50s to 1m40s"} {
		checkPart(t, "the picture", picture, part)
	}
	// Bars that are too small to see are omitted.
	r.Lanes[0].Pods = nil
	for i := range 100_000 {
		begin := simulation.Time(i) * simulation.Time(time.Millisecond)
		end := begin + simulation.Time(time.Millisecond)
		r.Lanes[0].Pods = append(r.Lanes[0].Pods, simulation.Pod{Created: begin, Started: &begin, Ended: &end, Outcome: simulation.PodSucceeded})
	}
	if bars := strings.Count(drawing([]timeline{{Result: r}}), "<rect"); bars > 1100 {
		t.Errorf("got %d bars, want one for each column", bars)
	}
}
