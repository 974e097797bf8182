package chaos

import (
	"cmp"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	engine "github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/jobtest/referee"
)

var (
	number = flag.Int("chaos.schedules", 0, "number of schedules of each chaos test; 0 means the default of the test")
	first  = flag.Int("chaos.first", 0, "seed of the first schedule of each chaos test")
	seed   = flag.Int64("chaos.seed", -1, "the only schedule to run")
)

// Config configures a test. The zero Config is ready to use.
type Config struct {
	// Schedules is the number of schedules; by default 1,000. The flag -chaos.schedules
	// overrides it.
	Schedules int
	// Steps is the length of a schedule; by default 200.
	Steps int
	// ManagedBy is the spec.managedBy of the Jobs.
	ManagedBy string
	// Jobs returns the Jobs of a schedule, which run in one cluster. By default they are
	// drawn and together use all features of Jobs. Every fourth schedule has two Jobs, the
	// others one.
	Jobs func(seed uint64) []*batchv1.Job
	// Requests are additional requests with which Reconcile is called before it is called for a
	// Job, in the form namespace/name. By default Jobs are in the namespaces default and other. To
	// test what queues them, ignore those that are not queued, as examples/adopting/clientgo does.
	Requests []string
	// Rules holds the settings of the controller that the referee needs.
	Rules referee.Rules
	// Without has the names of faults and other events that must not happen. The names are
	// those in reports.
	Without []string
}

// Test runs a Reconciler under faults: [Config.Test] with the zero Config.
func Test(t *testing.T, factory func(*Env) reconcile.Reconciler) {
	t.Helper()
	Config{}.Test(t, factory)
}

// Test runs schedules of faults. The factory makes a Reconciler for each start of the
// controller. Test fails with a report of the first schedule that violates a property.
func (c Config) Test(t *testing.T, factory func(*Env) reconcile.Reconciler) {
	t.Helper()
	test(t, c.Schedules, c.run(t, factory))
}

// Search runs the schedules and returns what Test reports.
func (c Config) Search(t *testing.T, factory func(*Env) reconcile.Reconciler) engine.Report {
	t.Helper()
	return search(c.Schedules, c.run(t, factory))
}

// test fails the test if a schedule violates a property.
func test(t *testing.T, schedules int, run func(seed uint64, retries int) engine.Report) {
	t.Helper()
	schedules = cmp.Or(max(0, *number), schedules, defaultSchedules)
	if *seed >= 0 {
		schedules = 1
	}
	began := time.Now()
	r := search(schedules, run)
	if r.Violation != nil {
		t.Fatal(r.Story)
	}
	t.Logf("%d schedules, %d reconciles and %d writes in %v: no violation", schedules, r.Syncs, r.Writes,
		time.Since(began).Round(time.Millisecond))
}

const defaultSchedules = 1000

// search runs schedules on all processors. It runs the first schedule that violates a
// property once more, with retries, to report it.
func search(schedules int, run func(seed uint64, retries int) engine.Report) (total engine.Report) {
	if *seed >= 0 {
		return run(uint64(*seed), 0)
	}
	last := *first + cmp.Or(schedules, defaultSchedules)
	var mu sync.Mutex
	next, found := *first, -1
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= last && found < 0
	}
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for n, ok := take(); ok; n, ok = take() {
				r := run(uint64(n), -1)
				mu.Lock()
				total.Syncs, total.Writes = total.Syncs+r.Syncs, total.Writes+r.Writes
				if r.Violation != nil && (found < 0 || n < found) {
					found = n
				}
				mu.Unlock()
			}
		})
	}
	if wait.Wait(); found < 0 {
		return total
	}
	return run(uint64(found), 0)
}

// run returns a function that runs one schedule in a bubble whose time is that of the
// cluster.
func (c Config) run(t *testing.T,
	factory func(*Env) reconcile.Reconciler) func(seed uint64, retries int) engine.Report {
	return func(seed uint64, retries int) engine.Report {
		jobs := c.jobs(seed)
		var server *kube.Server // of the run in progress
		return engine.Run(engine.Config{
			Seed:   seed,
			Mode:   engine.Mode(seed % 2),
			Job:    jobs[0],
			Beside: jobs[1:],
			Rules:  c.Rules,
			Steps:  c.Steps,
			Start:  time.Now,
			Isolate: func(run func()) {
				synctest.Test(t, func(*testing.T) {
					server = kube.New(kube.Options{Seed: seed})
					run()
				})
			},
			// The time of a bubble never goes back.
			Without:    append([]string{"clock jumps an hour back"}, c.Without...),
			Again:      fmt.Sprintf(rerunCommand, t.Name(), seed),
			Retries:    retries,
			Controller: func() cluster.Controller { return newForJobs(c, server, factory) },
		})
	}
}

// rerunCommand is the command that runs a schedule again.
const rerunCommand = "go test -run '^%s$' -chaos.seed=%d"

// jobs returns the Jobs of a schedule, at least one.
func (c Config) jobs(seed uint64) []*batchv1.Job {
	var jobs []*batchv1.Job
	switch {
	case c.Jobs != nil:
		jobs = c.Jobs(seed)
	case seed%8 >= 6: // of both modes
		jobs = engine.Jobs(seed)
	}
	if len(jobs) == 0 {
		jobs = []*batchv1.Job{engine.Job(seed)}
	}
	for _, job := range jobs {
		if c.ManagedBy != "" {
			job.Spec.ManagedBy = &c.ManagedBy
		}
	}
	return jobs
}
