package explore

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// move is an event in a state: its kind, the place of the pod, and a detail.
type move struct {
	kind   moveKind
	place  uint8
	detail uint8
	shown  objects // the objects with which the caches catch up just before
}

type moveKind uint8

const (
	proceed moveKind = iota // the controller begins a sync, or sends its next request
	showJob
	showPod
	end // detail: the number of the exit code
	collect
	removeJob // remove a deleted Job
	reap
	pass // detail: the number of the tick
	edit
	fault // detail: the kind
)

// visitor gets a move, the state after it, and its violation, if any.
type visitor func(move, state, *referee.Violation)

// after returns the visitor for moves after the caches have caught up with some objects.
func (y visitor) after(shown objects) visitor {
	return func(m move, next state, v *referee.Violation) {
		m.shown |= shown
		y(m, next, v)
	}
}

// moves yields the moves in a state with the states after them. It omits orders that make
// no difference. A violation ends the search.
func (x *search) moves(s *state, yield visitor) {
	x.controllerMoves(s, yield)
	x.cacheMoves(s, yield)
	for i := range x.Pods {
		x.eitherWay(s, onePod(i), yield, func(s *state, yield visitor) { x.podMoves(s, i, yield) })
	}
	x.timeMoves(s, yield)
	x.eitherWay(s, theJob, yield, x.jobMoves)
	if s.faults > 0 {
		x.faultMoves(s, yield)
	}
}

// jobMoves yields edits and the removal of the Job.
func (x *search) jobMoves(s *state, yield visitor) {
	if int(s.edits) < len(x.Edits) && s.job != 0 {
		next := *s
		next.edits++
		if version := x.edited(s.job, s.edits); version != 0 {
			next.storeJob(version, unknown)
			v := x.see(&next, nil, s.job, -1, 0)
			yield(move{kind: edit, detail: s.edits}, next, v)
		}
	}
	if x.isRemovable(s) {
		next := *s
		next.storeJob(0, unknown)
		yield(move{kind: removeJob}, next, x.see(&next, nil, s.job, -1, 0))
	}
}

// isRemovable reports whether the Job is being deleted and has no pods left.
func (x *search) isRemovable(s *state) bool {
	job := x.jobs.values[s.job]
	return job != nil && cluster.Settled(job, func(yield func(metav1.Object) bool) {
		for i := range s.pods {
			if n := s.pods[i].stored; n != 0 && !yield(x.pods.values[n]) {
				return
			}
		}
	}) != ""
}

// timeMoves yields the moves that advance the time: between any two syncs, or only while
// the controller waits for a time.
func (x *search) timeMoves(s *state, yield visitor) {
	if s.at != 0 {
		return
	}
	at, shown := *s, objects(0)
	if !x.AnyTime {
		at, shown = x.caughtUp(s)
		if p := x.idle(&at); p == nil || p.after == 0 {
			return
		}
	}
	for n, tick := range x.Ticks {
		yield(move{kind: pass, detail: uint8(n), shown: shown}, x.aged(&at, tick), nil)
	}
}

// controllerMoves yields the next step of the controller.
func (x *search) controllerMoves(s *state, yield visitor) {
	if s.at == 0 {
		x.everyWay(s, yield, x.beginMove)
		return
	}
	x.eitherWay(s, x.target(s), yield, func(s *state, yield visitor) {
		next := *s
		a, v := x.serve(&next)
		x.proceed(&next, a)
		yield(move{kind: proceed}, next, v)
	})
}

// begun returns the state in which a sync has begun.
func (x *search) begun(s *state) state {
	next := *s
	next.at = x.begin(s)
	if s.job == s.seenJob {
		next.mark = asSeen
	}
	for i := range next.pods {
		p := &next.pods[i]
		if p.stored != 0 && p.stored == p.seen {
			p.mark = asSeen
		}
	}
	return next
}

func (x *search) beginMove(s *state, yield visitor) {
	next := x.begun(s)
	if s.current() {
		next.ghost = x.seeing(s.ghost)
	}
	if p := x.positions[next.at]; p.request == nil {
		next.rest(p.memory)
	}
	yield(move{kind: proceed}, next, nil)
}

// proceed passes an answer to the controller.
func (x *search) proceed(s *state, a answer) {
	if a.kind == fine && x.positions[s.at].request.Verb == cluster.Status {
		s.behind = true
	}
	s.at = x.answered(s.at, a)
	if p := x.positions[s.at]; p.request == nil {
		s.rest(p.memory)
	}
}

// podMoves yields the actions of kubelets and garbage collection on a pod.
func (x *search) podMoves(s *state, i int, yield visitor) {
	if s.pods[i].stored == 0 {
		return
	}
	pod := x.pods.values[s.pods[i].stored]
	do := func(m move, f func(*corev1.Pod) *corev1.Pod) {
		next := *s
		next.storePod(i, x.life(s.pods[i].stored, m, f))
		if next.pods[i].stored != s.pods[i].stored && x.matters(s, &next, i) {
			m.place = uint8(i)
			yield(m, next, nil)
		}
	}
	switch {
	case cluster.HasEnded(pod):
		if len(pod.Finalizers) == 0 && x.freePlaces(s) == 0 {
			do(move{kind: reap}, func(p *corev1.Pod) *corev1.Pod { return cluster.DeletePod(p, 0, noon) })
		}
	case pod.DeletionTimestamp != nil && pod.Spec.NodeName == "":
		do(move{kind: end, detail: 255}, cluster.FailPod)
	default:
		for n, code := range x.Codes {
			do(move{kind: end, detail: uint8(n)},
				func(p *corev1.Pod) *corev1.Pod { return cluster.EndPod(p, code, noon) })
		}
	}
	jobOf := func(uid types.UID) *batchv1.Job {
		if job := x.jobs.values[s.job]; job != nil && job.UID == uid {
			return job
		}
		return nil
	}
	if next := cluster.CollectPod(pod, jobOf, noon); next != pod {
		m := move{kind: collect}
		if next != nil && len(next.OwnerReferences) == 0 {
			m.detail = 1
		}
		do(m, func(p *corev1.Pod) *corev1.Pod { return cluster.CollectPod(p, jobOf, noon) })
	}
}

func (x *search) freePlaces(s *state) (n int) {
	for i := range x.Pods {
		if s.pods[i].stored == 0 {
			n++
		}
	}
	return n
}

// life returns the version of a pod after a move, and computes it once.
func (x *search) life(version uint16, m move, f func(*corev1.Pod) *corev1.Pod) uint16 {
	return x.lives.get(lifeKey{version, m}, func() uint16 { return x.podNumber(f(x.pod(version, versionOther))) })
}

type lifeKey struct {
	version uint16
	move    move
}
