package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	engine "github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// Creator says how to test a controller that creates Jobs for the objects of another kind.
// The Jobs run without pods: they end as Outcome says.
type Creator struct {
	// Schedules is the number of schedules; by default 1,000. The flag -chaos.schedules
	// overrides it.
	Schedules int
	// Scheme has the Go types that the controller uses. Kinds are those of them that are
	// custom resources.
	Scheme *runtime.Scheme
	Kinds  []kube.Kind
	// Objects returns what users have created before the controller starts. Reconcile is
	// called for the objects that have the kind of the first one.
	Objects func(seed uint64) []client.Object
	// Purpose names what a Job is for, among the Jobs of its owner: for example an index and
	// the number of the attempt. A second Job for the same purpose violates a property, unless
	// another client has deleted the first.
	Purpose func(*batchv1.Job) string
	// Outcome returns the reason with which a Job fails; empty: it completes. It should depend
	// on the seed and the purpose only, so that every run ends in the same way.
	Outcome func(seed uint64, job *batchv1.Job) string
	// Judge describes how everything has ended; empty: not yet. Every run must end as a run
	// without faults does. An error is a violated property of the test's own. Judge is called
	// after each change, with a reader of what is stored.
	Judge func(now client.Reader) (end string, violation error)
}

// Test runs schedules of faults like [Config.Test].
func (c Creator) Test(t *testing.T, factory func(*Env) reconcile.Reconciler) {
	t.Helper()
	if *schedules > 0 {
		c.Schedules = *schedules
	}
	report(t, cmp.Or(c.Schedules, defaultSchedules), func() engine.Report { return c.Search(t, factory) })
}

// Search runs the schedules and returns what Test reports.
func (c Creator) Search(t *testing.T, factory func(*Env) reconcile.Reconciler) engine.Report {
	t.Helper()
	return search(cmp.Or(c.Schedules, defaultSchedules), func(seed uint64, retries int) engine.Report {
		return c.run(t, seed, retries, factory)
	})
}

// run runs one schedule. A violation is told if retries are left to shorten the schedule.
func (c Creator) run(t *testing.T, seed uint64, retries int, factory func(*Env) reconcile.Reconciler) engine.Report {
	var total engine.Report
	run := func(p plan) *schedule {
		s := &schedule{Creator: c, plan: p, factory: factory, seed: seed}
		synctest.Test(t, func(*testing.T) { s.live() })
		total.Syncs, total.Writes = total.Syncs+s.syncs, total.Writes+s.writes
		return s
	}
	found := run(plan{})
	if found.broken == nil {
		found = run(plan{want: found.end, steps: drawSteps(seed)})
	}
	if total.Violation = found.broken; found.broken == nil || retries < 0 {
		return total
	}
	told := shorten(found, run)
	again := fmt.Sprintf("go test -run '^%s$' -chaos.seed=%d", t.Name(), seed)
	return engine.Report{Violation: told.broken, Story: told.story(again), Syncs: total.Syncs, Writes: total.Writes}
}

// plan is what happens in a schedule.
type plan struct {
	steps []int           // in order; without steps there are no faults
	want  string          // the end of a run without faults
	off   map[string]bool // actions and faults that do not happen
	told  bool            // for a report
}

// drawSteps draws when the faults stop: in some schedules early.
func drawSteps(seed uint64) []int {
	steps := make([]int, 1+rand.New(rand.NewPCG(seed, 3)).IntN(200))
	for i := range steps {
		steps[i] = i + 1
	}
	return steps
}

// shorten looks for a shorter schedule with the same violation.
func shorten(found *schedule, run func(plan) *schedule) *schedule {
	best := found.plan
	left := 600
	try := func(p plan) {
		if left--; left < 0 {
			return
		}
		if s := run(p); s.broken != nil && s.broken.Same(found.broken) {
			best = p
		}
	}
	for _, name := range found.happened {
		p := best
		p.off = map[string]bool{name: true}
		for other := range best.off {
			p.off[other] = true
		}
		try(p)
	}
	for size := (len(best.steps) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(best.steps); {
			before := len(best.steps)
			p := best
			p.steps = append(append([]int(nil), best.steps[:at]...), best.steps[min(at+size, before):]...)
			try(p)
			if len(best.steps) == before {
				at += size
			}
		}
	}
	best.told = true
	if s := run(best); s.broken != nil && s.broken.Same(found.broken) {
		return s
	}
	found.fickle = true
	return found
}
