package simulation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// epoch is when the Job is created. Nothing depends on it.
var epoch = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

// Settings are how the controller decides.
type Settings struct {
	// RuleNames are the names of the rules of the pod failure policy.
	RuleNames []string
	// Options are handed to each decision.
	Options []jobfate.Option
	// GoOn is asked before each sync, with the time that has come and the pods so
	// far: the simulation is interrupted when it says no. It may be nil.
	GoOn func(now Time, pods int) bool
}

// Most of a simulation that comes to no end: syncs without a change of time, and
// failed ones one after the other.
const (
	mostSyncs  = 1000
	mostErrors = 100
)

// play is a simulation under way.
type play struct {
	scenario Scenario
	indexes  []indexset.Set // of the courses

	cluster *cluster.Cluster
	caller  *cluster.Caller
	cache   *cluster.Cache
	queue   queue
	due     bool                // the controller is to look now
	look    time.Time           // when it is going to; zero: when something changes
	errors  int                 // one after the other
	waiting map[int32]time.Time // until when indexes wait
	changed Time                // the last time at which anything changed

	indexed bool
	policy  *failurepolicy.Policy
	lives   map[types.UID]*life
	spent   []types.UID   // the pods that have ended and that nothing holds any more
	keep    bool          // spent pods, for a test
	taken   map[int32]int // how many pods each index has had
	lanes   map[int32]*Lane
	busy    int32 // all lanes before this one have a pod that runs, in a Job that is not Indexed
	result  Result
	goOn    func(now Time, pods int) bool
	stopped bool // it said no
}

// Play plays a Job to its end. It fails when the Job is not valid, or refuses
// what an event does to it.
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
	c, err := cluster.New(anew(job), epoch)
	if err != nil {
		return nil, err
	}
	spec := &c.Job().Spec
	p := &play{
		scenario: scenario,
		cluster:  c,
		cache:    c.NewCache(true),
		due:      true,
		indexed:  spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion,
		policy:   failurepolicy.Compile(failurepolicy.FromAPI(spec.PodFailurePolicy, settings.RuleNames...)),
		lives:    map[types.UID]*life{},
		taken:    map[int32]int{},
		lanes:    map[int32]*Lane{},
		goOn:     settings.GoOn,
		result:   Result{Waits: []Wait{}, Conditions: []Condition{}, Happened: []Happening{}},
	}
	for _, course := range scenario.Pods {
		set, _ := indexset.Parse(course.Indexes) // it has been checked
		p.indexes = append(p.indexes, set)
	}
	options := settings.Options
	if settings.RuleNames != nil {
		options = append(slices.Clone(options), jobfate.RuleNames(settings.RuleNames...))
	}
	p.caller = cluster.NewCaller(options...)
	p.caller.Decided = p.decided
	c.Watch = p.watch
	return p, nil
}

// anew returns a Job as it was before an API server took it.
func anew(job *batchv1.Job) *batchv1.Job {
	job = job.DeepCopy()
	if m := job.Spec.ManualSelector; m != nil && *m {
		return job
	}
	job.Spec.Selector = nil
	for _, labels := range []map[string]string{job.Labels, job.Spec.Template.Labels} {
		for _, key := range []string{batchv1.ControllerUidLabel, batchv1.JobNameLabel, "controller-uid", "job-name"} {
			delete(labels, key)
		}
	}
	return job
}

func (p *play) run() (*Result, error) {
	var failure error
	for i, e := range p.scenario.Events {
		p.after(e.At.Duration, func() {
			if err := p.happen(e); err != nil && failure == nil {
				failure = fmt.Errorf("events[%d]: %w", i, err)
			}
		})
	}
	limit := epoch.Add(or(p.scenario.Limit, defaultLimit))
	for {
		if err := p.settle(); err != nil {
			return nil, err
		}
		next, some := p.next()
		switch {
		case p.stopped:
			return p.finish(Interrupted), nil
		case p.over():
			return p.finish(""), nil
		case !some:
			return p.finish(Stalled), nil
		case next.After(limit):
			p.cluster.Now = limit
			return p.finish(OutOfTime), nil
		}
		p.cluster.Now = next
		if !p.look.IsZero() && !p.look.After(next) {
			p.due, p.look = true, time.Time{}
		}
		p.queue.do(next)
		if failure != nil {
			return nil, failure
		}
	}
}

// settle lets the controller look, and look again for as long as it is to at once.
func (p *play) settle() error {
	for range mostSyncs {
		if !p.due {
			return nil
		}
		if p.stopped = p.goOn != nil && !p.goOn(p.now(), p.result.Totals.Pods); p.stopped {
			return nil
		}
		p.due = false
		out := p.cluster.Run(p.caller, p.cache)
		p.forgetSpent()
		p.result.Totals.Syncs++
		switch p.errors++; {
		case out.Err == nil:
			p.errors = 0
		case p.errors > mostErrors:
			return out.Err
		default:
			out.At = p.cluster.Now.Add(time.Second)
		}
		if !out.At.IsZero() {
			p.lookAt(out.At)
		}
	}
	return errors.New("the controller never comes to rest")
}

// next returns the time at which something is going to happen, if anything is.
func (p *play) next() (at time.Time, some bool) {
	at, some = p.queue.next()
	if !p.look.IsZero() && (!some || p.look.Before(at)) {
		return p.look, true
	}
	return at, some
}

// lookAt lets the controller look at a time, unless it is going to earlier; then
// it says anew when. So does the queue of a controller, which holds a Job once and
// at the earliest time. If each look asked for another one, a batch period later,
// there would be ever more of them. A look at once leaves the next one as it is:
// a wait that was almost over would else begin a batch period anew.
func (p *play) lookAt(at time.Time) {
	switch {
	case !at.After(p.cluster.Now):
		p.due = true
	case p.look.IsZero() || at.Before(p.look):
		p.look = at
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
func (p *play) over() bool {
	return jobstatus.Finished(p.cluster.Job()) != nil &&
		!slices.ContainsFunc(p.cluster.Pods(), func(pod *corev1.Pod) bool { return !cluster.HasEnded(pod) })
}

// finish completes the result. No end is that of the Job.
func (p *play) finish(end End) *Result {
	r := &p.result
	r.End, r.Took = end, p.now()
	if end == Stalled {
		r.Took = p.changed
	}
	if n := p.cluster.Job().Spec.Completions; n != nil {
		r.Completions = *n
	}
	r.Status = *p.cluster.Job().Status.DeepCopy()
	if c := jobstatus.Finished(p.cluster.Job()); c != nil {
		r.Reason, r.Message = c.Reason, c.Message
		if end == "" {
			r.End = End(c.Type)
		}
	}
	for _, l := range p.lives {
		if pod := l.pod(); pod.Ended == nil && pod.Started != nil {
			r.Totals.Running += r.Took - *pod.Started
		}
	}
	r.Lanes = make([]Lane, 0, len(p.lanes))
	for _, lane := range p.lanes {
		r.Lanes = append(r.Lanes, *lane)
	}
	slices.SortFunc(r.Lanes, func(a, b Lane) int { return int(a.Index) - int(b.Index) })
	return r
}

// now returns the time since the creation of the Job.
func (p *play) now() Time { return Time(p.cluster.Now.Sub(epoch)) }

// after does something after a while.
func (p *play) after(d time.Duration, do func()) { p.queue.add(p.cluster.Now.Add(d), do) }
