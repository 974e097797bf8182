package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/internal/shrink"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// Mode says what a run checks.
type Mode uint8

const (
	// Safety checks what must hold at each step, whatever fails.
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
	// Beside are further Jobs to run in the same cluster, under other names.
	Beside []*batchv1.Job
	// Controller makes a controller without memory, which syncs the Job that Client.Name
	// names. The default makes the reference caller.
	Controller func() cluster.Controller
	// Rules are what the referee must know about the controller.
	Rules referee.Rules
	// Start is when a run begins. By default all begin at the same noon.
	Start func() time.Time
	// Isolate runs each run, and each of those that make a story short: in a bubble of
	// testing/synctest, for one. By default it only calls it.
	Isolate func(run func())
	// Again is the command that runs this seed again, for the report.
	Again string
	// Steps is the length of the run. The default is 200; a negative value means none.
	Steps int
	// Mode says what to check.
	Mode Mode
	// Without names actions and faults that must not happen: Events of [Reach.Pairs].
	// Other names are ignored.
	Without []string
	// Retries is how many further runs may be spent on making the story of a
	// violation short; by default 500. Below zero there is no story.
	Retries int
}

func (c Config) orDefault() Config {
	if c.Job == nil {
		c.Job = Job(c.Seed)
	}
	if c.Controller == nil {
		dice := rand.New(rand.NewPCG(c.Seed, 5))
		caller := func() *cluster.Caller {
			caller := cluster.NewCaller()
			caller.Order, caller.Feeding = dice.Perm, c.Seed%2 == 1
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
		c.Again = fmt.Sprintf("chaos.Run(chaos.Config{Seed: %d%s, ...}), with the Job and the controller of this run", c.Seed, mode)
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

// plan returns what happens unless a report is made short.
func (c Config) plan() shrink.Plan {
	p := shrink.Until(c.Steps)
	p.Off = c.Without
	return p
}

// Report is the result of a run.
type Report struct {
	// Violation is the first property that did not hold; nil when all did. It is that of the
	// run that the story tells.
	Violation *referee.Violation
	// Story tells how it came to the violation; empty without one. It has 60 lines at most.
	Story string
	// Reach counts what happened.
	Reach Reach
	// Syncs and Writes are how often controllers looked, and how much they asked
	// for.
	Syncs, Writes int
}

// Run runs a controller through the random lifetime of a Job.
func Run(cfg Config) Report {
	cfg = cfg.orDefault()
	r := newRun(cfg, cfg.plan())
	r.live()
	report := Report{Violation: r.broken, Reach: r.reach, Syncs: r.syncs, Writes: r.writes}
	if r.broken != nil && cfg.Retries >= 0 {
		told := r.shrink()
		report.Violation, report.Story = told.broken, told.story()
	}
	return report
}
