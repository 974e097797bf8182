package chaos

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// tale takes down what happens in a run, step by step. A step of which nothing comes
// leaves no line, and equal steps are told once.
type tale struct {
	steps []episode
	depth int
	shown map[who]*sights
	syncs []*looked // under way
}

// episode is a step.
type episode struct {
	number, at, name string
	lines            []string
	last             []string // the lines of its last sync
	again, mark      int      // how often that was repeated, and the line that says so
	times            int      // that it happened, one after another
	until            string   // the last of these
}

// who is a controller, by its number, and the Job that it syncs.
type who struct {
	n  int
	at *site
}

// sights is what a controller was last told to see.
type sights struct {
	job  string
	pods []*corev1.Pod
}

// looked is a sync under way. It leaves no line if it saw nothing new and asked for nothing.
type looked struct {
	from int // its first line
	new  bool
}

func (t *tale) step() *episode {
	if len(t.steps) == 0 {
		t.steps = append(t.steps, episode{times: 1})
	}
	return &t.steps[len(t.steps)-1]
}

func (t *tale) say(format string, args ...any) {
	step := t.step()
	step.lines = append(step.lines, "     "+strings.Repeat("  ", t.depth)+fmt.Sprintf(format, args...))
}

// begin notes a step.
func (t *tale) begin(r *run, name string) {
	if len(r.sites) > 1 {
		name += ", at " + r.at.name.String()
	}
	if t.depth > 0 {
		t.say("meanwhile: %s", name)
		return
	}
	t.fold()
	t.steps = append(t.steps, episode{number: fmt.Sprintf("%3d", r.step), at: r.c.Now.Format("15:04:05.000"), name: name, times: 1})
}

// fold ends the last step.
func (t *tale) fold() {
	n := len(t.steps)
	switch {
	case n == 0:
		return
	case len(t.steps[n-1].lines) == 0:
		t.steps = t.steps[:n-1]
	case n > 1 && t.steps[n-1].name == t.steps[n-2].name && slices.Equal(t.steps[n-1].lines, t.steps[n-2].lines):
		t.steps[n-2].times++
		t.steps[n-2].until = t.steps[n-1].at
		t.steps = t.steps[:n-1]
	}
}

// told returns the lines of all steps.
func (t *tale) told() (lines []string) {
	t.fold()
	for _, s := range t.steps {
		if s.name != "" {
			lines = append(lines, fmt.Sprintf("%s  %s  %s", s.number, s.at, s.name))
		}
		lines = append(lines, s.lines...)
		if s.times > 1 {
			lines = append(lines, fmt.Sprintf("     the same %d times more, until %s", s.times-1, s.until))
		}
	}
	return lines
}

func (t *tale) changed(s *cluster.Step) {
	by := ""
	if s.Request != nil && s.Pod != nil && s.OldPod == nil {
		by = "creates "
	} else if s.Request != nil && s.OldPod != nil {
		by = string(s.Request.Verb) + "  "
		if removesFinalizer(s.Request) {
			by = "removes a finalizer  "
		}
	}
	switch {
	case s.Refused != nil:
	case s.OldPod == nil && s.Pod != nil:
		if by == "" {
			by = "there is "
		}
		t.say("%s%s", by, podLine(s.Pod))
	case s.Pod == nil && s.OldPod != nil:
		t.say("%s%s -> gone", by, podLine(s.OldPod))
	case s.Pod != nil:
		t.say("%s%s -> %s", by, podLine(s.OldPod), strings.TrimPrefix(podLine(s.Pod), string(s.Pod.UID)+" "))
	case s.Job == nil:
		t.say("the Job is gone")
	case s.Request != nil:
		t.say("stores the status %s", statusLine(&s.Job.Status))
	case s.OldJob == nil || s.OldJob.UID != s.Job.UID:
		t.say("the Job: %s", specLine(s.Job))
	default:
		t.say("the Job: %s", specChange(s.OldJob, s.Job))
	}
}

// saw notes what a controller sees when a sync begins, as far as it is new.
func (t *tale) saw(l *leader, at *site, v *cluster.View) {
	if t.shown == nil {
		t.shown = map[who]*sights{}
	}
	by := who{l.n, at}
	last, before := t.shown[by], t.shown[by] != nil
	now := &sights{"no Job", v.Pods}
	if v.Job != nil {
		now.job = string(v.Job.UID) + " with status " + statusLine(&v.Job.Status)
	}
	if !before {
		last = &sights{}
	}
	t.shown[by] = now
	job := now.job
	if last.job == now.job {
		job = "the same Job"
	}
	look := &looked{from: len(t.step().lines), new: last.job != now.job}
	t.syncs = append(t.syncs, look)
	var fresh []*corev1.Pod
	for _, pod := range v.Pods {
		if !slices.Contains(last.pods, pod) {
			fresh = append(fresh, pod)
		}
	}
	look.new = look.new || len(fresh) > 0 || len(v.Pods) != len(last.pods)
	switch {
	case len(v.Pods) == 0:
		job += ", and no pods"
	case len(fresh) == 0:
		job += fmt.Sprintf(", and of %d pods nothing new", len(v.Pods))
	case len(fresh) < len(v.Pods):
		job += fmt.Sprintf(", and %d pods, of which these are new or have changed:", len(v.Pods))
	default:
		job += ", and:"
	}
	t.say("controller %d sees %s", l.n, job)
	for _, pod := range fresh {
		t.say("  %s", podLine(pod))
	}
	t.depth++
}

// asked notes a request. What came of it is told already.
func (t *tale) asked(q *cluster.Request, err error, effect bool) {
	t.syncs[len(t.syncs)-1].new = true
	switch {
	case err != nil && effect:
		t.say("which is answered: %v", err)
	case err != nil:
		t.say("asks to %s: %v", requestLine(q), err)
	case !effect && !writes(q):
		t.say("asks to %s", requestLine(q))
	case !effect:
		t.say("asks to %s, which changes nothing", requestLine(q))
	}
}

func (t *tale) synced(out cluster.Outcome) {
	look := t.syncs[len(t.syncs)-1]
	t.syncs = t.syncs[:len(t.syncs)-1]
	t.depth--
	switch step := t.step(); {
	case out.Killed:
		t.say("the controller is killed")
	case out.Err != nil:
		t.say("it will try again: %v", out.Err)
	case !look.new && len(t.syncs) == 0:
		step.lines = step.lines[:look.from]
	case out.After > 0:
		t.say("it will look again after %v", out.After)
	}
	if len(t.syncs) == 0 {
		t.step().foldSync(look.from)
	}
}

// foldSync ends a sync, whose lines begin at from: one that is like the one before is
// counted, and not told.
func (e *episode) foldSync(from int) {
	lines := slices.Clone(e.lines[from:])
	switch {
	case len(lines) == 0:
		return
	case !slices.Equal(lines, e.last):
		e.last, e.again = lines, 0
		return
	}
	e.lines = e.lines[:from]
	if e.again++; e.again == 1 {
		e.mark = len(e.lines)
		e.lines = append(e.lines, "")
	}
	e.lines[e.mark] = fmt.Sprintf("     and the same %d times more", e.again)
}
