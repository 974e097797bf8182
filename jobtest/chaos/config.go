package chaos

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/tracking"
)

// Mode says what a run checks.
type Mode uint8

const (
	// Safety checks the properties that must hold at each step, under all faults.
	Safety Mode = iota
	// Liveness also checks that the Job ends once the faults have stopped.
	Liveness
)

// Config configures a run. The zero Config runs the reference caller.
type Config struct {
	// Seed determines all random choices.
	Seed uint64
	// Job is the Job to run. By default it is Job(Seed).
	Job *batchv1.Job
	// Beside lists further Jobs in the same cluster, under other names.
	Beside []*batchv1.Job
	// Controller returns a new controller with an empty memory, which syncs the Job with
	// the name Client.Name. The default is the reference caller. If the controller has a
	// method Stop(), it is called when the process ends.
	Controller func() cluster.Controller
	// Rules holds the settings of the controller that the referee needs.
	Rules referee.Rules
	// Start returns the time at which a run begins. By default all runs begin at the same
	// time.
	Start func() time.Time
	// Isolate calls the function of each run, including the runs that shorten a story. It
	// can, for example, call it in a bubble of testing/synctest. By default it just calls
	// it.
	Isolate func(run func())
	// Again is the command that runs this seed again, for the report.
	Again string
	// Steps is the length of the run. The default is 200; a negative value means none.
	Steps int
	// Mode says what to check.
	Mode Mode
	// Without has the names of actions and faults that must not happen. The names are the
	// Events of [Reach.Pairs]; others are ignored.
	Without []string
	// Except, if set, reports whether a run goes on after a violation that the referee has found.
	Except func(*referee.Violation) bool
	// Observe, if set, is called for every event that concerns the first Job.
	Observe func(*cluster.Event)
	// Retries is the maximum number of further runs that shorten the story of a violation.
	// The default is 500; with a negative value there is no story.
	Retries int
}

func (c Config) orDefault() Config {
	if c.Job == nil {
		c.Job = Job(c.Seed)
	}
	if c.Controller == nil {
		dice := dice(c.Seed, 5)
		caller := func() *cluster.Caller {
			caller := jobtest.NewCaller()
			caller.Order, caller.Feeding, caller.StatusElsewhere = dice.Perm, c.Seed%2 == 1, c.Seed%5 == 0
			return caller
		}
		several := len(c.Beside) > 0
		c.Controller = func() cluster.Controller {
			if several {
				return &cluster.Callers{New: caller}
			}
			return caller()
		}
	}
	if c.Start == nil {
		c.Start = jobtest.Noon
	}
	if c.Isolate == nil {
		c.Isolate = func(run func()) { run() }
	}
	if c.Again == "" {
		mode := ""
		if c.Mode == Liveness {
			mode = ", Mode: chaos.Liveness"
		}
		c.Again = fmt.Sprintf(
			"chaos.Run(chaos.Config{Seed: %d%s, ...}), with the Job and the controller of this run", c.Seed, mode)
	}
	if c.Steps == 0 {
		c.Steps = 200
	}
	c.Steps = max(c.Steps, 0)
	if c.Retries == 0 {
		c.Retries = 500
	}
	return c
}

// keys returns the names that the controller uses on pods.
func (c *Config) keys() tracking.Keys { return c.Rules.Keys.WithDefaults() }

// Report is the result of a run.
type Report struct {
	// Violation is the first violation, or nil. It is that of the shortened run, as in the
	// story.
	Violation *referee.Violation
	// Story lists the steps that led to the violation, in at most 60 lines. It is empty
	// without a violation.
	Story string
	// Reach counts what happened.
	Reach Reach
	// Syncs and Writes are the numbers of syncs of the controllers and of their requests.
	Syncs, Writes int
}

// Run runs a controller through the random lifetime of a Job.
func Run(cfg Config) Report {
	cfg = cfg.orDefault()
	r := newRun(cfg, driver.Until(cfg.Steps, cfg.Without...))
	r.live()
	report := Report{Violation: r.Violation(), Reach: r.reach, Syncs: r.Syncs, Writes: r.Writes}
	if r.Broken() && cfg.Retries >= 0 {
		logged := r.shrink()
		report.Violation, report.Story = logged.Violation(), logged.story()
	}
	return report
}

// shrink returns a run of a shorter schedule with the same violation, and with its log.
func (r *run) shrink() *run {
	return driver.Search(r, r.Retries, func(p driver.Plan, logged bool) *run {
		next := newRun(r.Config, p)
		next.Log.On = logged
		next.live()
		return next
	})
}
