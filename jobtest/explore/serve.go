package explore

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

var (
	errChanged = errors.New("it went wrong")
	errQuota   = errors.New("exceeded quota")
)

// serve handles the request at the position of the controller as the API server does. It
// changes only the stored objects, the ghost and the marks in the state.
func (x *search) serve(s *state) (answer, *referee.Violation) {
	p := x.positions[s.at]
	switch r := p.request; r.Verb {
	case cluster.Get:
		if s.mark == unknown {
			s.mark = asRead
		}
		s.behind = s.behind || s.job != s.seenJob
		return answer{job: s.job, mark: s.mark}, nil
	case cluster.List:
		return x.serveList(s), nil
	case cluster.GetPod:
		i := x.named(s, r.Name)
		if i < 0 {
			return answer{kind: gone}, nil
		}
		return answer{pod: s.pods[i].stored, mark: asRead}, nil
	case cluster.Status:
		return x.serveStatus(s, p)
	case cluster.Create:
		return x.serveCreate(s, p)
	default:
		return x.servePod(s, p)
	}
}

// serveList lists all pods. Caches that lag for any object are older than this list.
func (x *search) serveList(s *state) (a answer) {
	s.past = s.past || s.job != s.seenJob
	for i := range s.pods {
		p := &s.pods[i]
		if p.stored != 0 && p.mark == unknown {
			p.mark = asRead
		}
		p.past = p.past || p.stored != p.seen
		a.list.pods[i], a.list.marks[i] = p.stored, p.mark
	}
	return a
}

// withoutPod returns the answer about a pod for the caller, which only uses its error.
func withoutPod(a answer) answer {
	return answer{kind: a.kind, pod: min(a.pod, 1)}
}

// effect is the result of a request, computed once.
type effect struct {
	answer  answer
	version uint16
	err     error
}

type jobEffect struct {
	job     uint16
	version string
	asks    string
}

// stored returns the version of the Job after a status write.
func (x *search) stored(job uint16, version string, r *cluster.Request, asks string) effect {
	return x.jobEffects.get(jobEffect{job, version, asks}, func() effect {
		next, err := cluster.StoreStatus(x.job(job, version), r)
		e := effect{err: err}
		switch {
		case err == nil:
			e.version = x.jobNumber(next)
		case apierrors.IsInvalid(err):
			e.answer.kind = invalid
		case apierrors.IsConflict(err):
			e.answer.kind = conflict
		default:
			e.answer.kind = failed
		}
		return e
	})
}

func (x *search) serveStatus(s *state, p *position) (answer, *referee.Violation) {
	if s.job == 0 {
		return answer{kind: gone}, nil
	}
	e := x.stored(s.job, s.mark.version(p.input.behind), p.request, p.asks)
	if e.answer.kind == invalid {
		return e.answer, &referee.Violation{Property: "S11", Text: e.err.Error()}
	}
	if e.answer.kind != fine {
		return e.answer, nil
	}
	old := s.job
	s.storeJob(e.version, p.own)
	return e.answer, x.see(s, p, old, -1, 0)
}

func (x *search) serveCreate(s *state, p *position) (answer, *referee.Violation) {
	i := x.freePlace(s)
	if i < 0 {
		return answer{kind: quota}, nil
	}
	pod := x.created(p.request, i+1)
	s.pods[i].stored = x.podNumber(pod)
	return answer{place: uint8(i + 1)}, x.see(s, p, s.job, i, 0)
}

// freePlace returns the lowest place that is not referenced; -1 if there is none.
func (x *search) freePlace(s *state) int {
	used := x.used(s)
	for i := range x.Pods {
		if used&(1<<i) == 0 {
			return i
		}
	}
	return -1
}

type podEffect struct {
	verb cluster.Verb
	asks string
	pod  uint16
	mark mark
}

func (x *search) servePod(s *state, p *position) (answer, *referee.Violation) {
	i := x.named(s, p.request.Name)
	if i < 0 {
		return answer{kind: gone}, nil
	}
	old := s.pods[i].stored
	a := x.podAnswer(old, s.pods[i].mark, p.request, p.asks)
	if a.kind != fine {
		return a, nil
	}
	s.storePod(i, a.pod)
	s.pods[i].mark = a.mark
	if s.pods[i].stored == old {
		return withoutPod(a), nil
	}
	return withoutPod(a), x.see(s, p, s.job, i, old)
}

// podAnswer returns the answer to a request for a pod, with the new version of the pod.
func (x *search) podAnswer(pod uint16, is mark, r *cluster.Request, asks string) answer {
	return x.podAnswers.get(podEffect{r.Verb, asks, pod, is}, func() (a answer) {
		next, err := x.changed(x.pod(pod, is.version(false)), r)
		switch {
		case err == nil:
			a.pod, a.mark = x.podNumber(next), is
			if a.pod == 0 {
				a.mark = unknown
			} else if a.pod != pod || is == unknown {
				a.mark = asPatched
			}
		case apierrors.IsConflict(err):
			a.kind = conflict
		default:
			a.kind = failed
		}
		return a
	})
}

func (x *search) changed(pod *corev1.Pod, r *cluster.Request) (*corev1.Pod, error) {
	if r.Verb == cluster.Patch {
		return cluster.PatchPod(pod, r.Patch)
	}
	return cluster.RequestDeletion(pod, r.Options, noon)
}

// named returns the place of the pod that is stored with a name; -1 if there is none. The
// API server finds pods by name.
func (x *search) named(s *state, name string) int {
	for i := range s.pods {
		if n := s.pods[i].stored; n != 0 && x.pods.values[n].Name == name {
			return i
		}
	}
	return -1
}

// placeOf returns the place of the pod with the UID in the request; -1 if there is none.
func placeOf(r *cluster.Request) int {
	return slices.Index(uids[:], r.UID)
}

// see passes a change to the referee: of the pod in place i, or of the Job if i is
// negative. p is nil if the controller did not make the change.
func (x *search) see(s *state, p *position, oldJob uint16, i int, oldPod uint16) *referee.Violation {
	key := seen{ghost: s.ghost, oldJob: oldJob, job: s.job, place: int8(i), oldPod: oldPod, lost: x.unanswered}
	for j := range s.pods {
		key.pods[j] = s.pods[j].stored
	}
	if p != nil {
		key.at = s.at
	}
	v := x.verdicts.get(key, func() verdict {
		ghost := x.ghosts.values[s.ghost].Clone()
		step := cluster.Step{Now: noon, Job: x.job(s.job, versionOther), OldJob: x.job(oldJob, versionOther)}
		step.Pods = func() (pods []*corev1.Pod) {
			for _, n := range key.pods {
				if n != 0 {
					pods = append(pods, x.pod(n, versionOther))
				}
			}
			return pods
		}
		if p != nil {
			step.Request, step.View, step.Read, step.Lost = p.request, &p.view, p.read, x.unanswered
		}
		if i >= 0 {
			step.Pod, step.OldPod = x.pod(s.pods[i].stored, versionOther), x.pod(oldPod, versionOther)
		}
		violation := x.Rules.See(&ghost, &step)
		return verdict{x.ghostNumber(ghost), violation}
	})
	s.ghost = v.ghost
	return v.violation
}

// seen is a change as the referee sees it, with the ghost before it.
type seen struct {
	ghost, at   uint32
	oldJob, job uint16
	oldPod      uint16
	place       int8
	lost        bool
	pods        [maxPods]uint16
}

type verdict struct {
	ghost     uint32
	violation *referee.Violation
}
