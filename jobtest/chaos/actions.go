package chaos

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// action is something that may happen. Weight is how often it is drawn as a step, aside how
// often it is drawn between two writes of a sync. Do reports whether it had an effect.
type action struct {
	name          string
	weight, aside int
	do            func(*run) bool
}

// syncActions are the syncs of the controllers and the updates of their caches.
var syncActions = []action{
	{"sync", 60, 0, func(r *run) bool {
		r.sync(r.leaders[r.IntN(len(r.leaders))])
		return true
	}},
	{"sync of another leader", 0, 6, func(r *run) bool {
		for _, l := range r.leaders {
			if l != r.acting {
				r.sync(l)
				return true
			}
		}
		return false
	}},
	{"cache shows a Job", 18, 2, func(r *run) bool {
		l := r.leader()
		_, late := l.cache.Late()
		l.cache.ShowJob()
		return late > 0
	}},
	{"cache shows a pod", 22, 2, func(r *run) bool {
		l := r.leader()
		late, _ := l.cache.Late()
		if len(late) == 0 {
			return false
		}
		l.cache.ShowPod(late[r.IntN(len(late))])
		return true
	}},
	{"cache shows all pods", 10, 1, func(r *run) bool {
		r.leader().cache.ShowPods()
		return true
	}},
	{"cache goes back in time", 2, 1, func(r *run) bool {
		// A controller that reads the version of a cache, and then its content, may rely on
		// the content not getting older in between, as with informers.
		if len(r.leaders) > 1 || r.leaders[0].looks {
			return false
		}
		return r.leader().cache.Rewind(r.lag(), r.lag())
	}},
	{"cache shows everything", 14, 1, func(r *run) bool {
		r.leader().cache.ShowAll()
		return true
	}},
}

func (r *run) leader() *leader { return r.leaders[r.IntN(len(r.leaders))] }

// podActions are the actions of kubelets and nodes.
var podActions = []action{
	{"pod starts", 16, 2, func(r *run) bool {
		pod := r.pod(func(p *corev1.Pod) bool { return cluster.IsActive(p) && p.Status.Phase != corev1.PodRunning })
		if pod != nil {
			r.c.Start(pod.UID)
		}
		return pod != nil
	}},
	{"pod exits 0", 12, 2, func(r *run) bool { return r.end(0, cluster.IsActive) }},
	{"pod exits 1", 7, 1, func(r *run) bool { return r.end(1, cluster.IsActive) }},
	{"pod exits 42", 5, 1, func(r *run) bool { return r.end(42, cluster.IsActive) }},
	{"pod exits 137", 2, 1, func(r *run) bool { return r.end(137, cluster.IsActive) }},
	{"deleted pod exits 0", 4, 1, func(r *run) bool { return r.end(0, terminating) }},
	{"deleted pod exits 137", 8, 1, func(r *run) bool { return r.end(137, terminating) }},
	{"deleted pod fails", 4, 0, func(r *run) bool {
		pod := r.pod(terminating)
		if pod != nil {
			r.c.Edit(pod.UID, func(p *corev1.Pod) {
				p.Status.Phase, p.DeletionGracePeriodSeconds = corev1.PodFailed, new(int64)
			})
		}
		return pod != nil
	}},
	{"pod exits and does not say when", 2, 0, func(r *run) bool {
		pod := r.pod(cluster.IsActive)
		if pod == nil {
			return false
		}
		r.c.End(pod.UID, one(r.dice, int32(0), 1, 42))
		r.c.Edit(pod.UID, func(p *corev1.Pod) {
			for i := range p.Status.ContainerStatuses {
				p.Status.ContainerStatuses[i].State.Terminated.FinishedAt = metav1.Time{}
			}
			if r.chance(50) {
				p.Status.Conditions = nil
			}
		})
		return true
	}},
	{"containers restart", 4, 1, func(r *run) bool {
		pod := r.pod(func(p *corev1.Pod) bool {
			return p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && p.Status.Phase == corev1.PodRunning
		})
		if pod != nil {
			r.c.Restart(pod.UID)
		}
		return pod != nil
	}},
	{"phase flips", 2, 1, func(r *run) bool {
		pod := r.pod(cluster.HasEnded)
		if pod != nil {
			r.c.Edit(pod.UID, func(p *corev1.Pod) {
				if p.Status.Phase == corev1.PodFailed {
					p.Status.Phase = corev1.PodSucceeded
				} else {
					p.Status.Phase = corev1.PodFailed
				}
			})
		}
		return pod != nil
	}},
	{"readiness flips", 3, 0, func(r *run) bool {
		pod := r.pod(func(p *corev1.Pod) bool { return len(p.Status.Conditions) > 0 && cluster.IsActive(p) })
		if pod != nil {
			r.c.Edit(pod.UID, func(p *corev1.Pod) {
				c := &p.Status.Conditions[0]
				if c.Status == corev1.ConditionTrue {
					c.Status = corev1.ConditionFalse
				} else {
					c.Status = corev1.ConditionTrue
				}
			})
		}
		return pod != nil
	}},
	{"node lost", 2, 1, func(r *run) bool {
		pod := r.pod(cluster.IsActive)
		if pod != nil {
			r.c.Lose(pod.UID)
		}
		return pod != nil
	}},
	{"eviction announced", 3, 1, func(r *run) bool {
		pod := r.pod(cluster.IsActive)
		if pod != nil {
			r.c.Disrupt(pod.UID)
		}
		return pod != nil
	}},
	{"eviction announced after the end", 1, 0, func(r *run) bool {
		pod := r.pod(func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
		if pod != nil {
			r.c.Edit(pod.UID, func(p *corev1.Pod) {
				p.Status.Conditions = append(p.Status.Conditions,
					corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
			})
		}
		return pod != nil
	}},
}

func terminating(p *corev1.Pod) bool { return p.DeletionTimestamp != nil && !cluster.HasEnded(p) }

func (r *run) end(code int32, which func(*corev1.Pod) bool) bool {
	pod := r.pod(which)
	if pod != nil {
		r.c.End(pod.UID, code)
	}
	return pod != nil
}

// clockActions change the time.
var clockActions = []action{
	{"a moment passes", 12, 2, func(r *run) bool {
		r.c.Now = r.c.Now.Add(time.Duration(1+r.IntN(3000)) * time.Millisecond)
		return true
	}},
	{"time passes to the requeue", 12, 0, func(r *run) bool {
		if at := r.leader().next[r.at]; at.After(r.c.Now) {
			r.c.Now = at
			return true
		}
		return false
	}},
	{"clock jumps an hour ahead", 1, 1, func(r *run) bool {
		r.c.Now = r.c.Now.Add(time.Hour)
		return true
	}},
	{"clock jumps an hour back", 1, 1, func(r *run) bool {
		r.c.Now = r.c.Now.Add(-time.Hour)
		return true
	}},
}

// leaderActions restart and replace controllers.
var leaderActions = []action{
	{"controller restarts", 2, 0, func(r *run) bool {
		r.replaceLeader(r.leader())
		return true
	}},
	{"second leader", 2, 0, func(r *run) bool {
		if len(r.leaders) > 1 {
			return false
		}
		r.startLeader(r.lag(), r.lag())
		return true
	}},
	{"one leader stops", 3, 0, func(r *run) bool {
		if len(r.leaders) < 2 {
			return false
		}
		r.stopLeader(r.leader())
		return true
	}},
}

// isDone reports whether the Job has ended and all its pods have ended.
func (r *run) isDone() bool {
	return r.c.Job() != nil && r.ended() && !slices.ContainsFunc(r.c.Pods(), r.keys().HasFinalizer)
}
