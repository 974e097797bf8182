package chaos

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
)

type action = driver.Action[*run]

// actions is set by init, because some actions call functions that draw from it.
var actions []action

func init() {
	actions = slices.Concat(syncActions, eventActions(), collectActions, clockActions, leaderActions)
}

// cacheUpdates returns the weight of an action as an update of a cache.
func cacheUpdates(a *action) int {
	if strings.HasPrefix(a.Name, "cache shows") {
		return a.Step
	}
	return 0
}

// eventActions returns the events of package jobtest that happen in schedules.
func eventActions() (all []action) {
	for _, e := range jobtest.Events() {
		if e.Step+e.Aside > 0 {
			all = append(all, action{Name: e.Name, Step: e.Step, Aside: e.Aside, Do: func(r *run) bool {
				return e.HappenIn(&jobtest.Scene{Cluster: r.c, Dice: r, Keys: r.keys()})
			}})
		}
	}
	return all
}

// collectActions are garbage collection, and the creation of the Job after its deletion.
var collectActions = []action{
	{Name: "garbage collected", Step: 8, Do: func(r *run) bool { return r.c.CollectGarbage() }},
	{Name: "Job made again", Step: 20, Aside: 2, Do: func(r *run) bool {
		if r.isDone() && r.Chance(30, "deleted") {
			r.c.DeleteJob(metav1.DeletePropagationBackground)
		}
		if r.c.Job() != nil {
			return false
		}
		return r.c.CreateJob(r.at.job) == nil
	}},
}

// syncActions lists the syncs of the controllers and the updates of their caches.
var syncActions = []action{
	{Name: "sync", Step: 60, Do: func(r *run) bool {
		r.sync(r.leaders[r.IntN(len(r.leaders))])
		return true
	}},
	{Name: "sync of another leader", Aside: 6, Do: func(r *run) bool {
		for _, l := range r.leaders {
			if l != r.acting {
				r.sync(l)
				return true
			}
		}
		return false
	}},
	{Name: "cache shows a Job", Step: 18, Aside: 2, Do: func(r *run) bool {
		l := r.leader()
		_, lag := l.cache.Lagging()
		l.cache.ShowJob()
		return lag > 0
	}},
	{Name: "cache shows a pod", Step: 22, Aside: 2, Do: func(r *run) bool {
		l := r.leader()
		lagging, _ := l.cache.Lagging()
		if len(lagging) == 0 {
			return false
		}
		l.cache.ShowPod(lagging[r.IntN(len(lagging))])
		return true
	}},
	{Name: "cache shows all pods", Step: 10, Aside: 1, Do: func(r *run) bool {
		r.leader().cache.ShowPods()
		return true
	}},
	{Name: "cache goes back in time", Step: 2, Aside: 1, Do: func(r *run) bool {
		// A controller that reads the version of a cache, and then its content, may rely on
		// the content not getting older in between, as with informers.
		if len(r.leaders) > 1 || r.leaders[0].rereads {
			return false
		}
		return r.leader().cache.Rewind(r.lag(), r.lag())
	}},
	{Name: "cache shows everything", Step: 14, Aside: 1, Do: func(r *run) bool {
		r.leader().cache.ShowAll()
		return true
	}},
}

func (r *run) leader() *leader { return r.leaders[r.IntN(len(r.leaders))] }

// clockActions change the time.
var clockActions = []action{
	{Name: "a moment passes", Step: 12, Aside: 2, Do: func(r *run) bool {
		r.c.Now = r.c.Now.Add(time.Duration(1+r.IntN(3000)) * time.Millisecond)
		return true
	}},
	{Name: "time passes to the requeue", Step: 12, Do: func(r *run) bool {
		if at := r.leader().next[r.at]; at.After(r.c.Now) {
			r.c.Now = at
			return true
		}
		return false
	}},
	{Name: "clock jumps an hour ahead", Step: 1, Aside: 1, Do: func(r *run) bool {
		r.c.Now = r.c.Now.Add(time.Hour)
		return true
	}},
	{Name: "clock jumps an hour back", Step: 1, Aside: 1, Do: func(r *run) bool {
		r.c.Now = r.c.Now.Add(-time.Hour)
		return true
	}},
}

// leaderActions restart and replace controllers.
var leaderActions = []action{
	{Name: "controller restarts", Step: 2, Do: func(r *run) bool {
		r.replaceLeader(r.leader())
		return true
	}},
	{Name: "second leader", Step: 2, Do: func(r *run) bool {
		if len(r.leaders) > 1 {
			return false
		}
		r.startLeader(r.lag(), r.lag())
		return true
	}},
	{Name: "one leader stops", Step: 3, Do: func(r *run) bool {
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
