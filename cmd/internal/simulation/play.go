package simulation

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// epoch is the creation time of a Job that does not exist yet. Nothing depends on its value.
var epoch = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

// A simulation gives up after this many syncs at the same time, or failed syncs in a row.
const (
	mostSyncs  = 1000
	mostErrors = 100
)

// play is a running simulation.
type play struct {
	Settings
	scenario Scenario
	indexes  []indexset.Set // the indexes of each behaviour

	start   time.Time // all times are relative to it
	cluster *cluster.Cluster
	cache   *cluster.Cache  // of the controller
	caller  *cluster.Caller // which makes its decisions
	last    decide.Decision
	queue   queue
	due     bool                // the controller must sync now
	syncAt  time.Time           // the time of the next sync; zero: after the next change
	errors  int                 // failed syncs in a row
	waiting map[int32]time.Time // the end of the delay of each index that backs off
	changed Time                // the time of the last change
	steps   int
	failure error // the error that ends the simulation
	stopped bool  // Continue has returned false

	indexed bool
	failed  []*simPod // failed pods that no decision has matched with the pod failure policy
	lives   map[types.UID]*simPod
	running int           // the number of pods that have not ended
	earlier int32         // the number of pods of a NonIndexed Job that ended before the simulation
	counted []types.UID   // ended pods without the finalizer
	taken   map[int32]int // the number of pods that each index has had
	places  places
	assumed *assumption // of an existing Job without a scenario
	refused bool        // the last sync could not create a pod
	lanes   lanes
	result  Result
}

// Play runs a Job until it has ended. It fails if the Job is invalid, if an event cannot
// happen, or if the simulation exceeds its bounds.
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
		Settings: settings,
		scenario: scenario,
		start:    epoch,
		due:      true,
		lives:    map[types.UID]*simPod{},
		taken:    map[int32]int{},
		lanes:    lanes{byIndex: map[int32]*Lane{}},
		result:   Result{Waits: []Wait{}, Conditions: []Condition{}, Happened: []Happening{}},
	}
	p.Bounds = cmp.Or(p.Bounds, DefaultBounds())
	if n, most := len(scenario.Events), p.Bounds.Events; n > most {
		return nil, &BoundError{"Events", fmt.Sprintf("events: there are %d; want at most %d", n, most)}
	}
	if settings.Live != nil {
		p.start = settings.Live.Now
	}
	var err error
	if p.cluster, err = cluster.New(unstored(job), p.start); err != nil { // validates the template as well
		return nil, err
	}
	if p.cluster, err = cluster.New(slimJob(unstored(job)), p.start); err != nil {
		return nil, err
	}
	spec := &p.cluster.Job().Spec
	if err := p.Bounds.checkPods(spec, job.Status.Succeeded); err != nil {
		return nil, err
	}
	p.indexed = jobstatus.IsIndexed(spec)
	if err := p.checkTargets(spec); err != nil {
		return nil, err
	}
	for _, behaviour := range scenario.Pods {
		set, _ := behaviour.Indexes.set() // Check has validated it
		p.indexes = append(p.indexes, set)
	}
	p.places.most = scenario.Capacity
	if settings.Live != nil {
		if settings.Live.Assume {
			if p.assumed, err = assume(job, settings); err != nil {
				return nil, err
			}
			p.result.Assumed = p.assumed.String()
		}
		if err := p.continueFrom(job, settings.Live.Pods); err != nil {
			return nil, err
		}
		if p.assumed != nil && p.assumed.refusal != "" {
			p.cluster.Intercept = p.refuse
		}
	}
	p.cluster.Watch = p.watch
	p.cache, p.caller = p.cluster.NewCache(true), cluster.NewCaller(settings.Options...)
	return p, nil
}

// unstored returns a Job without its status and without the fields that the API server generated.
func unstored(job *batchv1.Job) *batchv1.Job {
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

// generatedLabels lists the labels that the API server generates for the selector.
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
		case p.isOver():
			return p.finish(""), nil
		case !some && jobstatus.Finished(p.cluster.Job()) != nil: // a pod on a lost node remains
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

// fail ends the simulation with an error. The first error counts.
func (p *play) fail(err error) {
	if p.failure == nil {
		p.failure = err
	}
}

// syncAll syncs as long as the controller is due now.
func (p *play) syncAll() {
	for range mostSyncs {
		if p.failure == nil {
			p.failure = p.Bounds.checkCost(p.now(), p.result.Totals.Pods, p.steps)
		}
		if !p.due || p.failure != nil {
			return
		}
		if p.stopped = p.Continue != nil && !p.Continue(p.now(), p.result.Totals.Pods); p.stopped {
			return
		}
		p.due, p.refused = false, false
		p.steps += 1 + len(p.lives)
		again, err := p.syncOnce()
		if p.refused {
			err = nil // the next sync is due when a pod ends
		}
		p.forgetCounted()
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
			p.scheduleSync(again)
		}
	}
	p.fail(errors.New("the controller syncs endlessly without a wait"))
}

// next returns the time of the next action or sync; false if there is none.
func (p *play) next() (at time.Time, some bool) {
	at, some = p.queue.next()
	if !p.syncAt.IsZero() && (!some || p.syncAt.Before(at)) {
		return p.syncAt, true
	}
	return at, some
}

// scheduleSync schedules a sync, unless an earlier one is scheduled. The queue of a controller also holds a
// Job only once, at the earliest time. Otherwise the number of scheduled syncs would grow without end,
// because each sync requests another one after the batch period. An immediate sync does not change
// the scheduled one, so that a batch period that is almost over does not begin again.
func (p *play) scheduleSync(at time.Time) {
	switch {
	case !at.After(p.cluster.Now):
		p.due = true
	case p.syncAt.IsZero() || at.Before(p.syncAt):
		p.syncAt = at
	}
}

// forgetCounted removes the pods that the Job has counted, as pod garbage collection may do at
// any time. No decision depends on them, but each sync would read all of them.
func (p *play) forgetCounted() {
	if p.KeepCounted {
		return
	}
	for _, uid := range p.counted {
		p.cluster.Vanish(uid)
		delete(p.lives, uid)
	}
	p.counted = p.counted[:0]
}

// isOver reports whether the Job and all its pods have ended.
func (p *play) isOver() bool { return p.running == 0 && jobstatus.Finished(p.cluster.Job()) != nil }

// finish completes the result. If end is empty, the condition of the Job determines it.
func (p *play) finish(end End) *Result {
	r := &p.result
	r.End, r.Took = end, p.now()
	job := p.cluster.Job()
	r.Completions = *cmp.Or(job.Spec.Completions, new(int32))
	r.Status = *job.Status.DeepCopy()
	if c := jobstatus.Finished(job); c != nil {
		r.Reason, r.Message = c.Reason, c.Message
		if end == "" {
			r.End = End(c.Type)
		}
	}
	if end == Stalled {
		r.Took, r.WaitsFor = p.changed, cmp.Or(p.assumedWait(), explain.Of(p.last).Job().Text)
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

// after schedules an action.
func (p *play) after(d time.Duration, do func()) { p.queue.add(p.cluster.Now.Add(d), do) }
