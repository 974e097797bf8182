package explore

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// faultMoves yields the faults.
func (x *search) faultMoves(s *state, yield visitor) {
	for _, kind := range x.Kinds {
		m := move{kind: fault, detail: uint8(kind)}
		switch kind {
		case killBefore, refuse, giveUp:
			if s.at != 0 {
				x.requestFault(s, m, yield)
			}
		case killAfter, lose, giveUpAfter:
			if s.at != 0 {
				x.eitherWay(s, x.target(s), yield, func(s *state, yield visitor) { x.requestFault(s, m, yield) })
			}
		case otherLeader:
			x.everyWay(s, yield, func(s *state, yield visitor) { x.otherLeader(s, m, yield) })
		case deleteJob, deleteJobForeground, deleteJobOrphan:
			x.eitherWay(s, theJob, yield, func(s *state, yield visitor) { x.jobFault(s, m, yield) })
		default:
			for i := range x.Pods {
				m.place = uint8(i)
				x.eitherWay(s, onePod(i), yield, func(s *state, yield visitor) { x.podFault(s, m, yield) })
			}
		}
	}
}

// requestFault applies a fault to the next request of the controller.
func (x *search) requestFault(s *state, m move, yield visitor) {
	next := *s
	next.faults--
	var v *referee.Violation
	kind := faultKind(m.detail)
	if kind == killAfter || kind == lose || kind == giveUpAfter {
		x.unanswered = kind != killAfter
		_, v = x.serve(&next)
		x.unanswered = false
	}
	if verb := x.positions[s.at].request.Verb; (kind == lose || kind == giveUpAfter) &&
		(verb == cluster.Status || verb == cluster.Patch) {
		next.ghost = x.doubtful(next.ghost) // the controller cannot know the stored status
	}
	switch kind {
	case refuse, lose:
		x.proceed(&next, answer{kind: failed})
		yield(m, next, v)
		return
	case giveUp, giveUpAfter:
		x.proceed(&next, answer{kind: givenUp})
		yield(m, next, v)
		return
	}
	x.restart(&next, m, v, yield)
}

// restart restarts the controller, with fresh or with stale caches.
func (x *search) restart(s *state, m move, v *referee.Violation, yield visitor) {
	s.rest(x.fresh)
	s.behind = s.job != s.seenJob
	s.past = s.behind
	for i := range s.pods {
		s.pods[i].past = s.pods[i].stored != s.pods[i].seen
	}
	s.ghost = x.doubtful(s.ghost)
	fresh := *s
	fresh.showJob()
	for i := range fresh.pods {
		fresh.showPod(i)
	}
	yield(m, fresh, v)
	if !s.current() {
		m.place = 1
		yield(m, *s, v)
	}
}

// doubtful returns the ghost with InDoubt set.
func (x *search) doubtful(ghost uint32) uint32 {
	g := x.ghosts.values[ghost]
	if g.InDoubt {
		return ghost
	}
	g = g.Clone()
	g.InDoubt = true
	return x.ghostNumber(g)
}

func (x *search) jobFault(s *state, m move, yield visitor) {
	if s.job == 0 || x.jobs.values[s.job].DeletionTimestamp != nil {
		return
	}
	policy := metav1.DeletePropagationBackground
	switch faultKind(m.detail) {
	case deleteJobForeground:
		policy = metav1.DeletePropagationForeground
	case deleteJobOrphan:
		policy = metav1.DeletePropagationOrphan
	}
	next := *s
	next.faults--
	next.storeJob(x.jobNumber(cluster.DeleteJob(x.job(s.job, versionOther), policy, noon)), unknown)
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
		switch faultKind(m.detail) {
		case deletePod:
			return cluster.DeletePod(p, cluster.DefaultGrace, noon)
		case force:
			return cluster.DeletePod(p, 0, noon)
		case disrupt:
			return cluster.DisruptPod(p, noon)
		case loseNode:
			return x.lost(p)
		case orphan:
			return cluster.OrphanPod(p)
		case strip:
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
	if p = cluster.FailPod(cluster.DisruptPod(p, noon)); p == nil {
		return nil
	}
	return cluster.DeletePod(p, 0, noon)
}
