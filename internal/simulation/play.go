package simulation

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// epoch is when a Job that does not exist yet is created. Nothing depends on it.
var epoch = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

// A simulation is given up after this many syncs without a change of time, or
// failed syncs in a row.
const (
	mostSyncs  = 1000
	mostErrors = 100
)

// play is a simulation under way.
type play struct {
	scenario Scenario
	indexes  []indexset.Set // of the courses
	bounds   Bounds
	goOn     func(now Time, pods int) bool
	stored   func(Status) error

	start      time.Time // from which all times are counted
	cluster    *cluster.Cluster
	controller *controller
	queue      queue
	due        bool                // the controller is to sync now
	syncAt     time.Time           // when it is to sync; zero: when something changes
	errors     int                 // in a row
	waiting    map[int32]time.Time // until when indexes back off
	changed    Time                // the last time at which anything changed
	steps      int
	failure    error // what ends the simulation
	stopped    bool  // goOn said no

	indexed bool
	policy  *failurepolicy.Policy
	lives   map[types.UID]*life
	running int           // pods that have not ended
	earlier int32         // pods of a NonIndexed Job that have ended before the simulation
	spent   []types.UID   // ended pods without the finalizer
	keep    bool          // spent pods, for a test
	taken   map[int32]int // how many pods each index has had
	places  places
	lanes   lanes
	result  Result
}

// Play plays a Job to its end. It fails when the Job is not valid, when an event
// cannot happen to it, or when the simulation goes beyond its bounds.
func Play(job *batchv1.Job, scenario Scenario, settings Settings) (*Result, error) {
	p, err := newPlay(job, scenario, settings)
	if err != nil {
		return nil, err
	}
	return p.run()
}

func newPlay(job *batchv1.Job, scenario Scenario, settings Settings) (*play, error) {
	if err := scenario.Check(); err != nil {
		return nil, err
	}
	p := &play{
		scenario: scenario,
		bounds:   settings.Bounds.orDefault(),
		goOn:     settings.GoOn,
		stored:   settings.Stored,
		start:    epoch,
		due:      true,
		lives:    map[types.UID]*life{},
		taken:    map[int32]int{},
		result:   Result{Waits: []Wait{}, Conditions: []Condition{}, Happened: []Happening{}},
	}
	if err := p.bounds.checkEvents(len(scenario.Events)); err != nil {
		return nil, err
	}
	if settings.Live != nil {
		p.start = settings.Live.Now
	}
	var err error
	if p.cluster, err = cluster.New(anew(job), p.start); err != nil { // it checks the template as well
		return nil, err
	}
	if p.cluster, err = cluster.New(slimJob(anew(job)), p.start); err != nil {
		return nil, err
	}
	spec := &p.cluster.Job().Spec
	if err := p.bounds.checkPods(spec, job.Status.Succeeded); err != nil {
		return nil, err
	}
	p.indexed = spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	if err := p.checkTargets(spec); err != nil {
		return nil, err
	}
	p.policy = failurepolicy.Compile(failurepolicy.FromAPI(spec.PodFailurePolicy, settings.RuleNames...))
	for _, course := range scenario.Pods {
		set, _ := course.Indexes.set() // it has been checked
		p.indexes = append(p.indexes, set)
	}
	p.places.set(scenario.Capacity)
	if settings.Live != nil {
		if err := p.goLive(job, settings.Live.Pods); err != nil {
			return nil, err
		}
	}
	p.cluster.Watch = p.watch
	p.controller = newController(p.cluster, settings, p.backsOff)
	return p, nil
}

// anew returns a Job as it was before an API server took it.
func anew(job *batchv1.Job) *batchv1.Job {
	job = job.DeepCopy()
	job.Status = batchv1.JobStatus{}
	if m := job.Spec.ManualSelector; m != nil && *m {
		return job
	}
	job.Spec.Selector = nil
	for _, labels := range []map[string]string{job.Labels, job.Spec.Template.Labels} {
		for _, key := range generatedLabels {
			delete(labels, key)
		}
	}
	return job
}

// generatedLabels are the labels with which the API server makes a selector.
var generatedLabels = []string{batchv1.ControllerUidLabel, batchv1.JobNameLabel, "controller-uid", "job-name"}

func (p *play) run() (*Result, error) {
	for i, e := range p.scenario.Events {
		p.after(e.At.Duration, func() {
			if err := p.happen(e); err != nil {
				p.fail(fmt.Errorf("events[%d]%w", i, err))
			}
		})
	}
	limit := p.start.Add(or(p.scenario.Limit, defaultLimit))
	for {
		p.syncAll()
		next, some := p.next()
		switch {
		case p.failure != nil:
			return nil, p.failure
		case p.stopped:
			return p.finish(Interrupted), nil
		case p.over():
			return p.finish(""), nil
		case !some && jobstatus.Finished(p.cluster.Job()) != nil: // but a lost node keeps a pod
			return p.finish(""), nil
		case !some:
			return p.finish(Stalled), nil
		case next.After(limit):
			p.cluster.Now = limit
			return p.finish(OutOfTime), nil
		}
		p.cluster.Now = next
		if !p.syncAt.IsZero() && !p.syncAt.After(next) {
			p.due, p.syncAt = true, time.Time{}
		}
		p.queue.do(next)
	}
}

// fail ends the simulation with an error, unless it has one.
func (p *play) fail(err error) {
	if p.failure == nil {
		p.failure = err
	}
}

// syncAll lets the controller sync, and again for as long as it is due at once.
func (p *play) syncAll() {
	for range mostSyncs {
		if p.failure == nil {
			p.failure = p.bounds.checkCost(p.now(), p.result.Totals.Pods, p.steps)
		}
		if !p.due || p.failure != nil {
			return
		}
		if p.stopped = p.goOn != nil && !p.goOn(p.now(), p.result.Totals.Pods); p.stopped {
			return
		}
		p.due = false
		p.steps += 1 + len(p.lives)
		again, err := p.controller.sync()
		p.forgetSpent()
		p.result.Totals.Syncs++
		switch p.errors++; {
		case err == nil:
			p.errors = 0
		case p.errors > mostErrors:
			p.fail(err)
		default:
			again = p.cluster.Now.Add(time.Second)
		}
		if !again.IsZero() {
			p.lookAt(again)
		}
	}
	p.fail(errors.New("the controller never comes to rest"))
}

// next returns the time at which something is going to happen, if anything is.
func (p *play) next() (at time.Time, some bool) {
	at, some = p.queue.next()
	if !p.syncAt.IsZero() && (!some || p.syncAt.Before(at)) {
		return p.syncAt, true
	}
	return at, some
}

// lookAt lets the controller sync at a time, unless it is going to earlier; then
// it says anew when. So does the queue of a controller, which holds a Job once and
// at the earliest time. If each sync asked for another one, a batch period later,
// there would be ever more of them. A sync at once leaves the next one as it is:
// a wait that was almost over would else begin a batch period anew.
func (p *play) lookAt(at time.Time) {
	switch {
	case !at.After(p.cluster.Now):
		p.due = true
	case p.syncAt.IsZero() || at.Before(p.syncAt):
		p.syncAt = at
	}
}

// forgetSpent takes the pods away that the Job has counted, as the garbage collector
// of pods may at any time: no decision depends on them, and each sync would look at
// all of them.
func (p *play) forgetSpent() {
	if p.keep {
		return
	}
	for _, uid := range p.spent {
		p.cluster.Vanish(uid)
		delete(p.lives, uid)
	}
	p.spent = p.spent[:0]
}

// over reports whether the Job and all of its pods have ended.
func (p *play) over() bool { return p.running == 0 && jobstatus.Finished(p.cluster.Job()) != nil }

// finish completes the result. An empty end is that of the Job.
func (p *play) finish(end End) *Result {
	r := &p.result
	r.End, r.Took = end, p.now()
	job := p.cluster.Job()
	if n := job.Spec.Completions; n != nil {
		r.Completions = *n
	}
	r.Status = *job.Status.DeepCopy()
	if c := jobstatus.Finished(job); c != nil {
		r.Reason, r.Message = c.Reason, c.Message
		if end == "" {
			r.End = End(c.Type)
		}
	}
	if end == Stalled {
		r.Took, r.WaitsFor = p.changed, p.controller.waitsFor()
	}
	for _, l := range p.lives {
		if pod := l.pod(); pod.Ended == nil {
			r.Totals.Running += pod.Ran(r.Took)
		}
	}
	r.Lanes = p.lanes.all()
	return r
}

// now returns the time since the start of the simulation.
func (p *play) now() Time { return p.timeOf(p.cluster.Now) }

func (p *play) timeOf(t time.Time) Time { return Time(t.Sub(p.start)) }

// after does something after a while.
func (p *play) after(d time.Duration, do func()) { p.queue.add(p.cluster.Now.Add(d), do) }
