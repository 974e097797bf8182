package explore

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// faultMoves are what may go wrong.
func (x *search) faultMoves(s *state, yield visitor) {
	for _, kind := range x.Kinds {
		m := move{what: fault, detail: uint8(kind)}
		switch kind {
		case KillBefore, Refuse:
			if s.at != 0 {
				x.requestFault(s, m, yield)
			}
		case KillAfter, Lose:
			if s.at != 0 {
				x.eitherWay(s, x.target(s), yield, func(s *state, yield visitor) { x.requestFault(s, m, yield) })
			}
		case DeleteJob, DeleteJobForeground, DeleteJobOrphan:
			x.eitherWay(s, theJob, yield, func(s *state, yield visitor) { x.jobFault(s, m, yield) })
		default:
			for i := range x.Pods {
				m.place = uint8(i)
				x.eitherWay(s, onePod(i), yield, func(s *state, yield visitor) { x.podFault(s, m, yield) })
			}
		}
	}
}

// requestFault does something to the request that the controller is about to
// send.
func (x *search) requestFault(s *state, m move, yield visitor) {
	next := *s
	next.faults--
	var v *referee.Violation
	if kind := Kind(m.detail); kind == KillAfter || kind == Lose {
		_, v = x.serve(&next)
	}
	if kind := Kind(m.detail); kind == Lose {
		// Nobody acknowledged the write, so the controller cannot know of it.
		next.ghost = x.informed(next.ghost, true, true)
	}
	if kind := Kind(m.detail); kind == Refuse || kind == Lose {
		x.goOn(&next, answer{kind: failed})
		yield(m, next, v)
		return
	}
	x.restart(&next, m, v, yield)
}

// restart starts the controller again: with fresh caches, or with old ones. In
// those the pods are as fresh as the Job.
func (x *search) restart(s *state, m move, v *referee.Violation, yield visitor) {
	s.rest(x.fresh)
	s.behind = false
	s.ghost = x.informed(s.ghost, x.ghosts.values[s.ghost].Blind, true)
	fresh := *s
	fresh.showJob(false)
	for i := range fresh.pods {
		fresh.showPod(i)
	}
	yield(m, fresh, v)
	if s.current() {
		return
	}
	m.place = 1
	stale := *s
	for i := range stale.pods {
		p := &stale.pods[i]
		if p.old && !x.Stale {
			stale.showPod(i)
		}
		p.past = p.stored != p.seen
	}
	stale.ghost = x.informed(s.ghost, true, true)
	yield(m, stale, v)
}

// informed is the ghost that knows whether the controller lacks writes of its
// predecessor, and whether it is in doubt.
func (x *search) informed(ghost uint32, blind, inDoubt bool) uint32 {
	g := x.ghosts.values[ghost]
	if g.Blind == blind && g.InDoubt == inDoubt {
		return ghost
	}
	g = g.Clone()
	g.Blind, g.InDoubt = blind, inDoubt
	return x.ghostNumber(g)
}

func (x *search) jobFault(s *state, m move, yield visitor) {
	if s.job == 0 || x.jobs.values[s.job].DeletionTimestamp != nil {
		return
	}
	policy := metav1.DeletePropagationBackground
	switch Kind(m.detail) {
	case DeleteJobForeground:
		policy = metav1.DeletePropagationForeground
	case DeleteJobOrphan:
		policy = metav1.DeletePropagationOrphan
	}
	next := *s
	next.faults--
	next.storeJob(x.jobNumber(cluster.DeleteJob(x.job(s.job, versionOther), policy, x.now)), unknown)
	yield(m, next, x.see(&next, nil, s.job, -1, 0))
}

func (x *search) podFault(s *state, m move, yield visitor) {
	i, old := int(m.place), s.pods[m.place].stored
	if old == 0 {
		return
	}
	key := m
	key.place = 0
	next := *s
	next.storePod(i, x.life(old, key, func(p *corev1.Pod) *corev1.Pod {
		switch Kind(m.detail) {
		case Delete:
			return cluster.DeletePod(p, cluster.DefaultGrace, x.now)
		case Force:
			return cluster.DeletePod(p, 0, x.now)
		case Disrupt:
			return cluster.DisruptPod(p, x.now)
		case LoseNode:
			return x.lost(p)
		case Orphan:
			return cluster.OrphanPod(p)
		case Strip:
			return cluster.EditPod(p, func(p *corev1.Pod) { p.Finalizers = nil })
		}
		return p
	}))
	if next.pods[i].stored == old || !x.matters(s, &next, i) {
		return
	}
	next.faults--
	yield(m, next, x.see(&next, nil, s.job, i, old))
}

func (x *search) lost(p *corev1.Pod) *corev1.Pod {
	if cluster.HasEnded(p) {
		return p
	}
	if p = cluster.FailPod(cluster.DisruptPod(p, x.now)); p == nil {
		return nil
	}
	return cluster.DeletePod(p, 0, x.now)
}
