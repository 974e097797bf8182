package chaos

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/internal/story"
	"github.com/jobfate/jobfate/tracking"
)

// runLog is the log of a run, with the views and requests of its controllers.
type runLog struct {
	*story.Log
	keys  tracking.Keys
	shown map[viewer]loggedView
	syncs []*loggedSync // in progress
}

// viewer is a controller, by its number, and the Job that it syncs.
type viewer struct {
	n  int
	at *slot
}

// loggedView is the last view of a controller that is in the log.
type loggedView struct {
	job  string
	pods []*corev1.Pod
}

// loggedSync is a sync in progress. It leaves no line if its view was unchanged and it sent no
// requests.
type loggedSync struct {
	from int // its first line
	new  bool
}

func (t *runLog) logChange(s *cluster.Step) {
	if !t.On {
		return
	}
	by := ""
	if s.Request != nil && s.Pod != nil && s.OldPod == nil {
		by = "creates "
	} else if s.Request != nil && s.OldPod != nil {
		by = string(s.Request.Verb) + "  "
		if story.RemovesFinalizer(s.Request) {
			by = "removes a finalizer  "
		}
	}
	switch {
	case s.Refused != nil:
	case s.OldPod == nil && s.Pod != nil:
		if by == "" {
			by = "there is "
		}
		t.Say("%s%s", by, story.Pod(t.keys, s.Pod))
	case s.Pod == nil && s.OldPod != nil:
		t.Say("%s%s -> gone", by, story.Pod(t.keys, s.OldPod))
	case s.Pod != nil:
		t.Say("%s%s -> %s", by, story.Pod(t.keys, s.OldPod),
			strings.TrimPrefix(story.Pod(t.keys, s.Pod), string(s.Pod.UID)+" "))
	case s.Job == nil:
		t.Say("the Job is gone")
	case s.Request != nil:
		t.Say("stores the status %s", story.Status(&s.Job.Status))
	case s.OldJob == nil || s.OldJob.UID != s.Job.UID:
		t.Say("the Job: %s", story.Spec(s.Job))
	default:
		t.Say("the Job: %s", story.Change(s.OldJob, s.Job))
	}
}

// logView logs what is new in the view of a controller when a sync begins.
func (t *runLog) logView(l *leader, at *slot, v *cluster.View) {
	if !t.On {
		return
	}
	if t.shown == nil {
		t.shown = map[viewer]loggedView{}
	}
	by := viewer{l.n, at}
	last, now := t.shown[by], loggedView{"no Job", v.Pods}
	if v.Job != nil {
		now.job = string(v.Job.UID) + " with status " + story.Status(&v.Job.Status)
	}
	t.shown[by] = now
	job := now.job
	if last.job == now.job {
		job = "the same Job"
	}
	current := &loggedSync{from: t.Len(), new: last.job != now.job}
	t.syncs = append(t.syncs, current)
	var fresh []*corev1.Pod
	for _, pod := range v.Pods {
		if !slices.Contains(last.pods, pod) {
			fresh = append(fresh, pod)
		}
	}
	current.new = current.new || len(fresh) > 0 || len(v.Pods) != len(last.pods)
	switch {
	case len(v.Pods) == 0:
		job += ", and no pods"
	case len(fresh) == 0:
		job += fmt.Sprintf(", and %d unchanged pods", len(v.Pods))
	case len(fresh) < len(v.Pods):
		job += fmt.Sprintf(", and %d pods, of which these are new or have changed:", len(v.Pods))
	default:
		job += ", and:"
	}
	t.Say("controller %d sees %s", l.n, job)
	for _, pod := range fresh {
		t.Say("  %s", story.Pod(t.keys, pod))
	}
	t.Indent(1)
}

// logRequest logs a request. Its effect is already in the log.
func (t *runLog) logRequest(q *cluster.Request, err error, effect bool) {
	if !t.On {
		return
	}
	t.syncs[len(t.syncs)-1].new = true
	switch {
	case err != nil && effect:
		t.Say("the answer is: %v", err)
	case err != nil:
		t.Say("asks to %s: %v", story.Request(t.keys, q), err)
	case !effect && !q.Writes():
		t.Say("asks to %s", story.Request(t.keys, q))
	case !effect:
		t.Say("asks to %s, which changes nothing", story.Request(t.keys, q))
	}
}

func (t *runLog) logResult(out cluster.Outcome) {
	if !t.On {
		return
	}
	current := t.syncs[len(t.syncs)-1]
	t.syncs = t.syncs[:len(t.syncs)-1]
	t.Indent(-1)
	switch {
	case out.Killed:
		t.Say("the controller is killed")
	case out.Err != nil:
		t.Say("it will retry: %v", out.Err)
	case !current.new && len(t.syncs) == 0:
		t.Drop(current.from)
	case out.After > 0:
		t.Say("it will sync again after %v", out.After)
	}
	if len(t.syncs) == 0 {
		t.Fold(current.from)
	}
}
