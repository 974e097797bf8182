package proof

import (
	"bytes"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/explore"
)

// follow checks an event and returns the world after it. A nil world is that before the first event.
func (f *Follower) follow(before *world, e *cluster.Event) *world {
	w := &world{}
	if before != nil {
		*w = *before
		w.pods = slices.Clone(w.pods)
	}
	for _, job := range []*batchv1.Job{e.OldJob, e.Job} {
		if job != nil && job.UID != w.uid {
			f.begin(w, job)
			for _, p := range e.OldPods {
				f.addPod(w, p, false)
			}
		}
	}
	at := w.slot(e.Leader)
	if e.Leader != 0 && at < 0 {
		if at = w.slot(0); at < 0 {
			return w
		}
		w.by[at] = process{id: e.Leader}
	}
	switch e.Kind {
	case cluster.Started:
		w.by[at] = process{id: e.Leader}
		f.step(w, "start", at, [3]int16{}, func(p *pod) { p.restart(at) })
	case cluster.Stopped:
		f.abandon(w, at)
		w.by[at] = process{}
	case cluster.Began:
		f.abandon(w, at)
		by := &w.by[at]
		by.view, by.now, by.job, by.sent, by.waits = e.View, e.View.Now, nil, false, e.Behind
		if job := e.View.Job; job == nil || job.UID != w.uid {
			by.view = nil
		} else if f.Versions && older(job.ResourceVersion, by.known) {
			by.waits = true
		}
	case cluster.Ended:
		if by := &w.by[at]; !by.sent && !by.waits && by.view != nil && f.mayLook(w, at, e) {
			f.look(w, at, e)
		}
		f.abandon(w, at)
		w.by[at].view = nil
	case cluster.Sent:
		f.sent(w, at, e)
	case cluster.Changed:
		f.others(w, e)
	}
	return w
}

func (f *Follower) abandon(w *world, at int) {
	if w.by[at].job == nil {
		return
	}
	w.by[at].job = nil
	f.step(w, "abandon", at, [3]int16{}, func(p *pod) { p.of[at][on] = 0 })
}

func older(a, b string) bool {
	return len(a) < len(b) || len(a) == len(b) && a < b
}

func newest(a, b string) string {
	if older(a, b) {
		return b
	}
	return a
}

// sent checks a request.
func (f *Follower) sent(w *world, at int, e *cluster.Event) {
	by := &w.by[at]
	by.sent = true
	switch e.Request.Verb {
	case cluster.GetPod:
		return
	case cluster.Get:
		if e.Answered && e.Err == nil && e.OldJob != nil && e.OldJob.UID == w.uid {
			by.known = newest(by.known, e.OldJob.ResourceVersion)
			f.get(w, at, e.OldJob)
		}
		return
	case cluster.List:
		if e.Answered && e.Err == nil && by.job != nil {
			f.list(w, at, e)
		}
		return
	case cluster.Create:
		if e.Pod != nil {
			f.addPod(w, e.Pod, true)
		}
		return
	}
	if by.view != nil && w.pods[0].of[at][on] == 0 && w.ownWrite(by.view, e.Request) {
		f.look(w, at, e)
	}
	switch e.Request.Verb {
	case cluster.Status:
		f.status(w, at, e)
	case cluster.Patch:
		f.patch(w, at, e)
	default:
		if e.OldPod != nil {
			f.deleted(w, at, e)
		}
	}
}

// ownWrite reports whether a write is one of the Job, and not one that frees orphans.
func (w *world) ownWrite(v *cluster.View, r *cluster.Request) bool {
	if r.Verb == cluster.Status {
		return true
	}
	shown := find(v.Pods, r.UID)
	return shown != nil && (controller(shown) == w.uid ||
		controller(shown) == "" && bytes.Contains(r.Patch, []byte("ownerReferences")))
}

// searched follows a search. Each state of the search has the world of the path on which the search
// has first reached it.
type searched struct {
	*Follower
	worlds []*world
	limit  int // of the states whose moves are followed
}

// observe checks a move of the search.
func (s *searched) observe(o explore.Observed) (more bool) {
	for len(s.worlds) <= max(o.From, o.To) {
		s.worlds = append(s.worlds, nil)
	}
	w := s.worlds[o.From]
	if w != nil && (o.Swapped || o.Parked) {
		next := *w
		for i := range next.by {
			if id := next.by[i].id; id != 0 {
				next.by[i].id = 3 - id
			}
		}
		w = &next
	}
	for i := range o.Events {
		w = s.follow(w, &o.Events[i])
	}
	s.Steps++
	if w != nil && o.Alone {
		w = s.drop(w, 2)
	}
	if s.worlds[o.To] == nil {
		s.worlds[o.To] = w
	}
	return o.From < s.limit
}

// drop forgets a process that never acts again. A new one takes its place.
func (f *Follower) drop(w *world, id int) *world {
	at := w.slot(id)
	if at < 0 {
		return w
	}
	next := *w
	next.pods = append([]*pod(nil), w.pods...)
	next.by[at] = process{}
	f.step(&next, "start", at, [3]int16{}, func(p *pod) { p.restart(at) })
	return &next
}
