package explore

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// The two processes of a search: the one that acts, and the one that is frozen.
const (
	acting = 1 + iota
	frozen
)

// observe passes what happens in a move to config.Observe. It serves the request of the move again,
// because the search keeps only the state after it.
func (x *search) observe(from uint32, m move, to uint32) {
	if x.Observe == nil {
		return
	}
	s := x.states[from]
	s = x.show(&s, m.shown)
	o := &observation{search: x, before: s}
	o.move(m, to)
	swapped := m.kind == fault && faultKind(m.detail) == otherLeader
	more := x.Observe(Observed{From: int(from), To: int(to), Swapped: swapped && s.other != 0,
		Parked: swapped && s.other == 0, Alone: x.states[to].other == 0, Events: o.events})
	if !more {
		x.Observe = nil
	}
}

// Observed is a move of a search. In the Events, process 1 is the leader that acts. Process 2 is
// frozen; Swapped says that before these events the two exchange their numbers, Parked that process
// 1 becomes process 2 and a new one starts, and Alone that process 2 never continues after them.
type Observed struct {
	From, To               int // the numbers of the states; the first state is 0
	Swapped, Parked, Alone bool
	Events                 []cluster.Event
}

// observation collects the events of a move.
type observation struct {
	*search
	before state
	events []cluster.Event
}

func (o *observation) add(e cluster.Event) { o.events = append(o.events, e) }

// event returns an event that happens in a state.
func (o *observation) event(kind cluster.EventKind, s *state) cluster.Event {
	e := cluster.Event{Kind: kind, Leader: acting, OldJob: o.storedJob(s), OldPods: o.storedPods(s)}
	e.Job = e.OldJob
	return e
}

// storedJob returns the stored Job with its version, as the current sync observes it.
func (o *observation) storedJob(s *state) *batchv1.Job {
	behind := s.at != 0 && o.positions[s.at].input.behind
	return o.job(s.job, s.mark.version(behind))
}

func (o *observation) storedPods(s *state) (pods []*corev1.Pod) {
	for i := range s.pods {
		if s.pods[i].stored != 0 {
			pods = append(pods, o.storedPod(&s.pods[i]))
		}
	}
	return pods
}

func (o *observation) storedPod(p *place) *corev1.Pod { return o.pod(p.stored, p.mark.version(false)) }

func (o *observation) move(m move, to uint32) {
	s := &o.before
	switch m.kind {
	case proceed:
		if s.at == 0 {
			o.begins(s)
			return
		}
		next := *s
		a, _ := o.serve(&next)
		o.sent(s, &next, a, true)
		if p := o.positions[o.answered(s.at, a)]; p.request == nil {
			o.add(o.event(cluster.Ended, &next))
		}
	case fault:
		o.fault(m, to)
	case pass:
	default:
		o.changes(s, &o.states[to])
	}
}

// begins adds the beginning of a sync, and its end if it sends no request.
func (o *observation) begins(s *state) {
	next := o.begun(s)
	p := o.positions[next.at]
	e := o.event(cluster.Began, &next)
	view := p.view
	e.View, e.Behind = &view, p.input.behind
	o.add(e)
	if p.request == nil {
		end := e
		end.Kind, end.View = cluster.Ended, nil
		o.add(end)
	}
}

// sent adds a request. Next is the state with its effect.
func (o *observation) sent(s, next *state, a answer, answered bool) {
	p := o.positions[s.at]
	e := o.event(cluster.Sent, s)
	e.Request, e.Answered, e.Err = p.request, answered, a.asError(p.request)
	after := *next
	after.at = s.at
	e.Job = o.storedJob(&after)
	for i := range s.pods {
		if s.pods[i].stored != next.pods[i].stored {
			e.OldPod, e.Pod = o.storedPod(&s.pods[i]), o.storedPod(&next.pods[i])
		}
	}
	o.add(e)
}

// changes adds what other clients have changed.
func (o *observation) changes(s, next *state) {
	for i := range s.pods {
		if old, now := s.pods[i].stored, next.pods[i].stored; old != now {
			e := o.event(cluster.Changed, s)
			e.Leader = 0
			e.OldPod, e.Pod = o.pod(old, versionOther), o.pod(now, versionOther)
			o.add(e)
		}
	}
	if s.job != next.job {
		e := o.event(cluster.Changed, s)
		e.Leader, e.Job = 0, o.job(next.job, versionOther)
		o.add(e)
	}
}

func (o *observation) fault(m move, to uint32) {
	s := &o.before
	kind := faultKind(m.detail)
	switch kind {
	case killBefore, killAfter, refuse, lose, giveUp, giveUpAfter:
		next := *s
		a := answer{kind: failed}
		if kind == killAfter || kind == lose || kind == giveUpAfter {
			a, _ = o.serve(&next)
		}
		o.sent(s, &next, a, false)
		switch kind {
		case killBefore, killAfter:
			o.add(cluster.Event{Kind: cluster.Started, Leader: acting})
		case refuse, lose:
			if p := o.positions[o.answered(s.at, answer{kind: failed})]; p.request != nil {
				return
			}
			fallthrough
		default:
			o.add(o.event(cluster.Ended, &next))
		}
	case otherLeader:
		if s.other == 0 {
			o.add(cluster.Event{Kind: cluster.Started, Leader: acting})
		}
	default:
		o.changes(s, &o.states[to])
	}
}
