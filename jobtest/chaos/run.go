package chaos

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// run is the state of a run.
type run struct {
	Config
	*driver.Schedule
	c       *cluster.Cluster
	slots   []*slot
	ledgers referee.Ledgers // by the names of the Jobs
	at      *slot           // in focus
	leaders []*leader
	acting  *leader // the leader whose sync is in progress
	nested  bool    // the sync is in progress during a sync of another leader
	started int     // the number of leaders so far

	kinds  []int
	of     types.NamespacedName // the Job of the violation
	reach  Reach
	log    runLog
	last   cluster.Outcome // of the last sync
	cause  string          // of a stall
	change *cluster.Step   // of the last request that changed something, or whose status was refused
	// If faults have stopped: the requests that were rejected in the last sync, and in the current
	// one.
	refused, refusing map[string]bool
}

// leader is a controller and its cache.
type leader struct {
	n          int
	controller cluster.Controller
	cache      *cluster.Cache
	// The version of the last write that another leader made since this one started. This
	// leader is behind until its cache shows that write.
	foreign    int
	upto       int // the version up to which its cache was complete when its sync began
	next       map[*slot]time.Time
	lost       bool              // the answer to the current request is lost
	rereads    bool              // it reads its caches during a sync
	unobserved []unobservedWrite // creations that its cache has not shown
	pods       []*corev1.Pod     // in its cache when its sync began
	// The Jobs whose last status write was answered. The leader is in doubt about the
	// others.
	sure map[*slot]bool
}

// stop tells a controller that its process has ended.
func (l *leader) stop() {
	if c, ok := l.controller.(interface{ Stop() }); ok {
		c.Stop()
	}
}

func (l *leader) behind() bool { return l.upto < l.foreign }

// history is the maximum number of changes by which a cache lags when a controller starts.
const history = 24

func newRun(cfg Config, plan driver.Plan) *run {
	r := &run{Config: cfg, Schedule: driver.NewSchedule(cfg.Seed, plan)}
	r.log = runLog{Log: &r.Log, keys: cfg.keys()}
	return r
}

// beginStep begins a step of the report.
func (r *run) beginStep(name string) {
	if r.log.On && len(r.slots) > 1 {
		name += ", at " + r.at.name.String()
	}
	r.log.Begin(r.Step, r.c.Now, name)
}

// begin creates the Jobs and the first controller.
func (r *run) begin() bool {
	r.Part(2)
	c, err := cluster.New(r.Job, r.Start().Add(time.Duration(r.IntN(1000))*time.Millisecond))
	if err != nil {
		r.violate("Job", "the Job is invalid: %v", err)
		return false
	}
	r.c, c.History = c, history
	r.ledgers = referee.Ledgers{}
	r.addSlot(c.Focused(), r.Job)
	for _, job := range r.Beside {
		if err := c.CreateJob(job); err != nil {
			r.violate("Job", "a Job is invalid: %v", err)
			return false
		}
		r.addSlot(types.NamespacedName{Namespace: cmp.Or(job.Namespace, "default"), Name: cmp.Or(job.Name, "job")}, job)
	}
	c.Watch, c.Intercept, c.BeforeRead = r.watch, r.intercept, r.beforeRead
	r.focusOn(r.slots[0])
	r.updateKinds()
	r.startLeader(0, 0)
	return true
}

// live runs the steps and the checks after them.
func (r *run) live() { r.Isolate(r.steps) }

func (r *run) steps() {
	if !r.begin() {
		return
	}
	defer func() {
		for _, l := range r.leaders {
			l.stop()
		}
	}()
	r.Schedule.Run(func() bool {
		r.choose(driver.AsStep)
		return true
	})
	if !r.Broken() && r.Mode == Liveness {
		r.Step = r.Steps + 1
		r.Part(3)
		r.runToEnd()
	}
}

// choose draws an action and executes it.
func (r *run) choose(weight func(*action) int) {
	driver.Act(r.Schedule, actions, weight, func(i int) bool {
		defer r.focusOn(r.at)
		if n := len(r.slots); n > 1 {
			r.focusOn(r.slots[r.IntN(n)])
		}
		r.beginStep(actions[i].Name)
		kinds := r.kinds
		if !actions[i].Do(r) {
			return false
		}
		if kinds == nil {
			kinds = r.kinds
		}
		r.count(i, kinds, true)
		return true
	})
}

// count counts an action or a fault for each feature that the Job uses now, and for a pending verdict if it may concern
// that.
func (r *run) count(i int, kinds []int, verdict bool) {
	for _, kind := range kinds {
		r.reach.counts[i][kind]++
	}
	if verdict && r.at.pending && !referee.Decided(r.c.Job()) {
		r.reach.counts[i][len(policies)-1]++
	}
}

// noteVerdict records that a request acts on a verdict, or stores it while there are pods to delete.
func (r *run) noteVerdict(q *cluster.Request) {
	job, pods := r.c.Job(), r.c.Pods()
	if referee.Decided(job) {
		return
	}
	own := func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, job) && cluster.IsActive(p) }
	switch q.Verb {
	case cluster.Delete:
		r.at.pending = r.at.pending || slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
			return p.Name == q.Name && own(p) && r.keys().HasFinalizer(p)
		})
	case cluster.Status:
		var sent batchv1.Job
		if q.Job != nil {
			sent.Status = q.Job.Status
		} else if json.Unmarshal(q.Patch, &sent) != nil {
			return
		}
		r.at.pending = r.at.pending || referee.Decided(&sent) && slices.ContainsFunc(pods, own)
	}
	lost := func(p *corev1.Pod) bool { return r.at.unanswered[p.UID] && cluster.IsActive(p) }
	if r.at.pending && slices.ContainsFunc(r.acting.pods, lost) {
		r.count(len(actions)+len(driver.Faults), nil, true)
	}
}

// updateKinds determines which features the Job uses now.
func (r *run) updateKinds() {
	r.kinds = nil
	if job := r.c.Job(); job != nil {
		for i := range policies {
			if policies[i].has(&job.Spec) {
				r.kinds = append(r.kinds, i)
			}
		}
	}
}

// startLeader starts another controller, whose caches lag by a number of changes.
func (r *run) startLeader(jobBack, podsBack int) {
	r.started++
	l := &leader{n: r.started, controller: r.Controller(), cache: r.c.NewCacheAt(jobBack, podsBack),
		next: map[*slot]time.Time{}, sure: map[*slot]bool{}}
	r.leaders = append(r.leaders, l)
	r.emit(r.event(cluster.Started, l))
}

// stopLeader stops a controller.
func (r *run) stopLeader(l *leader) {
	l.stop()
	r.emit(r.event(cluster.Stopped, l))
	l.cache.Stop()
	if len(r.leaders) > 1 {
		r.forgive()
	}
	r.leaders = slices.DeleteFunc(r.leaders, func(o *leader) bool { return o == l })
}

// replaceLeader replaces a controller by a new one. Each of its caches may lag.
func (r *run) replaceLeader(l *leader) {
	r.stopLeader(l)
	r.startLeader(r.lag(), r.lag())
}

// lag draws the number of changes by which a cache lags.
func (r *run) lag() int {
	if r.Chance(40, "current cache") {
		return 0
	}
	return r.IntN(12)
}

// sync runs one sync of a controller for the Job in focus. If the controller is killed, it
// is replaced.
func (r *run) sync(l *leader) cluster.Outcome {
	outer, nested := r.acting, r.nested
	r.acting, r.nested = l, outer != nil
	l.upto = l.cache.Upto()
	r.updateGhosts(l)
	if len(r.leaders) > 1 {
		r.forgive()
	}
	r.Syncs++
	out := r.c.Run(observer{r, l.controller}, l.cache)
	r.last = out
	r.log.logResult(out)
	r.acting, r.nested = outer, nested
	if outer != nil {
		r.updateGhosts(outer)
		r.forgive() // the outer leader cannot know what this one has counted
	}
	l.next[r.at] = out.At
	if out.Killed {
		r.replaceLeader(l)
	}
	return out
}

// updateGhosts records in the ghosts what a controller cannot know.
func (r *run) updateGhosts(l *leader) {
	for _, s := range r.slots {
		s.ghost.Behind, s.ghost.InDoubt = l.behind(), !l.sure[s]
	}
}

func (r *run) forgive() {
	for _, s := range r.slots {
		s.ghost.Forgive()
	}
}

// watch handles every change of the cluster.
func (r *run) watch(s cluster.Step) {
	if s.Request != nil && r.acting != nil && s.Refused == nil {
		for _, l := range r.leaders {
			if l != r.acting {
				l.foreign = r.c.Version()
			}
		}
		if s.Request.Verb == cluster.Status {
			r.acting.sure[r.slotOf(s.Name())] = !r.acting.lost
		}
		if s.Request.Verb == cluster.Delete && r.acting.lost {
			r.at.unanswered[s.OldPod.UID] = true
		}
	}
	if s.Pod == nil && s.OldPod == nil && s.Refused == nil && (s.Request == nil || s.Job == nil) {
		r.updateKinds()
	}
	r.emitChange(&s)
	if s.Request != nil {
		r.change = &s
	}
	r.log.logChange(&s)
	if of, v := r.Rules.Judge(r.ledgers, &s); v != nil && (r.Except == nil || !r.Except(v)) && r.Found(v) {
		r.of = of
	}
}

// effectOf returns what a request has changed, or nil.
func (r *run) effectOf(q *cluster.Request) *cluster.Step {
	if r.change == nil || r.change.Request != q || r.change.Refused != nil {
		return nil
	}
	return r.change
}

// intercept runs actions before a request is served, and draws the fault of the request.
func (r *run) intercept(q *cluster.Request) cluster.Fault {
	r.acting.lost = false
	request := driver.Request{Resource: corev1.Resource("pods"), Name: q.Name, Writes: q.Writes(),
		Creates: q.Verb == cluster.Create}
	i, fault := r.Fault(request, func() {
		r.meanwhile(12)
		r.updateCaches()
		r.updateGhosts(r.acting)
		r.noteVerdict(q)
	})
	if i < 0 {
		return fault
	}
	r.count(len(actions)+i, r.kinds, q.Verb == cluster.Status || q.Verb == cluster.Delete)
	r.acting.lost = fault.Lost
	if fault.Lost && (q.Verb == cluster.Status || q.Verb == cluster.Patch) {
		r.acting.sure[r.at] = false
	}
	return fault
}

// beforeRead runs actions before a controller reads a cache again.
func (r *run) beforeRead() {
	r.acting.rereads = true
	r.meanwhile(4)
	r.updateCaches()
}

// meanwhile lets something happen during a sync, in that percentage of cases.
func (r *run) meanwhile(percent int) {
	if !r.nested && r.Meanwhile(percent) {
		r.choose(driver.Aside)
		r.updateGhosts(r.acting)
	}
}

// updateCaches updates the caches of a controller that reads them during a sync, because events
// may arrive between two reads.
func (r *run) updateCaches() {
	if r.acting.rereads && !r.nested && r.Meanwhile(15) {
		r.choose(cacheUpdates)
	}
}
