package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobfate/jobfate/jobtest/internal/story"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// Trace is a path to a violation.
type Trace struct {
	// Lines describe the moves.
	Lines []string
	// Violation is the violation at the end of the path.
	Violation *referee.Violation
}

// String returns the trace, with a line for each move, and the violation.
func (t *Trace) String() string {
	return strings.Join(t.Lines, "\n") + "\n" + t.Violation.Error()
}

// trace returns the path to a violation.
func (x *search) trace(v *violation) *Trace {
	var way []uint32
	for at := v.at; at != 0; at = x.from[at] {
		way = append(way, at)
	}
	slices.Reverse(way)
	t := &Trace{Violation: v.what}
	before := x.states[0]
	tellOne := func(m move, after state) {
		t.Lines = append(t.Lines, fmt.Sprintf("%3d  %s", len(t.Lines)+1, x.describe(&before, &after, m)))
		before = after
	}
	catchUp := func(shown objects) {
		if shown&theJob != 0 {
			tellOne(move{kind: showJob}, x.show(&before, theJob))
		}
		for i := range x.Pods {
			// Showing the Job may have shown some pods as well.
			if shown&onePod(i) != 0 && before.lagging()&onePod(i) != 0 {
				tellOne(move{kind: showPod, place: uint8(i)}, x.show(&before, onePod(i)))
			}
		}
	}
	tell := func(m move, after state) {
		catchUp(m.shown)
		tellOne(m, after)
	}
	for _, at := range way {
		tell(x.by[at], x.states[at])
	}
	if v.move != nil {
		tell(*v.move, v.after)
	}
	catchUp(v.shown)
	t.Lines = append(t.Lines, x.objects(&before)...)
	return t
}

// describe returns the text of a move and its effect.
func (x *search) describe(before, after *state, m move) string {
	text := ""
	switch m.kind {
	case proceed:
		text = x.describeController(before, after)
	case showJob:
		text = "the cache shows the Job"
	case showPod:
		text = "the cache shows " + string(uids[m.place])
	case end:
		if m.detail == 255 {
			text = string(uids[m.place]) + " is marked as failed"
		} else {
			text = fmt.Sprintf("%s exits with %d", uids[m.place], x.Codes[m.detail])
		}
	case collect:
		text = "garbage collection processes " + string(uids[m.place])
	case removeJob:
		text = "garbage collection removes the Job"
	case reap:
		text = string(uids[m.place]) + " is removed"
	case pass:
		text = x.Ticks[m.detail].String() + " pass"
	case edit:
		text = fmt.Sprintf("the user makes edit %d of the spec", m.detail)
	case fault:
		text = x.describeFault(before, m)
	}
	if before.job != after.job && m.kind != pass {
		text += ": " + x.jobText(after.job)
	}
	for i := range before.pods {
		if old, now := before.pods[i].stored, after.pods[i].stored; old != now && m.kind != pass {
			text += ": " + x.podText(now, i)
		}
	}
	return text
}

func (x *search) describeController(before, after *state) string {
	if before.at == 0 {
		p := x.positions[x.begin(before)]
		if p.request == nil {
			return fmt.Sprintf("the controller syncs and sends no requests (requeue after %v)", p.after)
		}
		return "the controller begins a sync"
	}
	p := x.positions[before.at]
	text := "the controller: " + x.requestText(p)
	for a, n := range p.next {
		end := x.positions[n]
		if (n == after.at || end.request == nil && after.at == 0 && end.memory == after.memory) && a.kind != fine {
			text += " (" + a.asError(p.request).Error() + ")"
			break
		}
	}
	return text
}

func (x *search) requestText(p *position) string {
	return story.Request(x.Rules.Keys.WithDefaults(), p.request)
}

func (x *search) describeFault(before *state, m move) string {
	kind := faultKind(m.detail)
	text := kind.String()
	switch kind {
	case killBefore, killAfter, refuse, lose, giveUp, giveUpAfter:
		text += ": " + x.requestText(x.positions[before.at])
	case deletePod, force, disrupt, loseNode, orphan, strip:
		return text + " " + string(uids[m.place])
	}
	if m.place != 0 {
		text += "; it has stale caches"
	}
	return text
}

// objects describes the objects of a state.
func (x *search) objects(s *state) []string {
	lines := []string{"     stored: " + x.jobText(s.job), "     shown:  " + x.jobText(s.seenJob)}
	for i := range s.pods {
		if !s.empty(i) {
			lines = append(lines, "     stored: "+x.podText(s.pods[i].stored, i),
				"     shown:  "+x.podText(s.pods[i].seen, i))
		}
	}
	return append(lines, "     memory: "+x.memories.values[s.memory].key(),
		"     ghost:  "+x.ghosts.values[s.ghost].Key())
}

func (x *search) jobText(n uint16) string {
	if n == 0 {
		return "no Job"
	}
	job := x.jobs.values[n]
	text := "Job " + story.Status(&job.Status)
	if job.DeletionTimestamp != nil {
		text += " deleted"
	}
	return text
}

func (x *search) podText(n uint16, i int) string {
	if n == 0 {
		return string(uids[i]) + " gone"
	}
	return story.Pod(x.Rules.Keys.WithDefaults(), x.pods.values[n])
}
