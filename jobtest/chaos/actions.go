package chaos

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest"
)

// action is something that may happen. Weight is how often it is drawn as a step, aside how
// often it is drawn between two writes of a sync. Do reports whether it had an effect.
type action struct {
	name          string
	weight, aside int
	do            func(*run) bool
}

// actions is set by init, because some actions call functions that draw from it.
var actions []action

func init() {
	actions = slices.Concat(syncActions, eventActions(), collectActions, clockActions, leaderActions)
}

// These are the weights of an action as a step, between two writes, and as an update of a cache.
func asStep(a *action) int { return a.weight }
func aside(a *action) int  { return a.aside }
func cacheUpdates(a *action) int {
	if strings.HasPrefix(a.name, "cache shows") {
		return a.weight
	}
	return 0
}

// of returns the action of an event.
func of(e jobtest.Event) action {
	return action{e.Name, e.Step, e.Aside, func(r *run) bool { return e.HappenIn(r.scene()) }}
}

// eventActions are the events of package jobtest that happen in schedules.
func eventActions() (all []action) {
	pods, tampered, jobs := jobtest.Events()
	for _, e := range slices.Concat(pods, tampered, jobs) {
		if e.Step+e.Aside > 0 {
			all = append(all, of(e))
		}
	}
	return all
}

// scene is where the events of the Job in focus happen.
func (r *run) scene() *jobtest.Scene {
	return &jobtest.Scene{Cluster: r.c, Dice: r.dice, Keys: r.keys()}
}

// collectActions are garbage collection, and the creation of the Job after its deletion.
var collectActions = []action{
	{"garbage collected", 8, 0, func(r *run) bool { return r.c.CollectGarbage() }},
	{"Job made again", 20, 2, func(r *run) bool {
		if r.isDone() && r.chance(30) {
			r.c.DeleteJob(metav1.DeletePropagationBackground)
		}
		if r.c.Job() != nil {
			return false
		}
		return r.c.CreateJob(r.at.job) == nil
	}},
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
