package main

import (
	"fmt"
	"io"
	"strconv"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/kubefile"
	"github.com/jobfate/jobfate/internal/simulation"
)

const simulateUsage = `Usage: jobfate simulate [flags] [file]

Plays a Job in virtual time, on a simulated cluster, until it has ended, and tells
what became of its pods. A scenario says what the pods do, and what happens to
them and to the Job. Without one every pod succeeds, after 10s.

  jobfate simulate -f job.yaml --scenario scenario.yaml

A scenario is YAML or JSON:

  startDelay: 1s             # from the creation of a pod until it runs
  stopDelay: 1s              # until a pod that is deleted has stopped
  limit: 168h                # when to give up
  seed: 1                    # of all chances
  pods:                      # the first that holds for a pod decides
  - indexes: 0-3,7           # without it: all; NonIndexed: pods, counted from 0
    chance: 0.1              # drawn for each pod
    exits: [42, 0]           # exit codes in turn; the last is repeated
    durations: [30s, 10s]    # likewise
    spread: 5s               # up to so much longer, drawn for each
    startDelay: 5s
    evict: true              # instead of an exit, with DisruptionTarget
  events:
  - {at: 20s, suspend: true} # and parallelism, completions
  - {at: 25s, evict: "2"}    # or all: a node is drained
  - {at: 30s, lose: "0-1"}   # or all: a node is lost

With -o svg it draws the run: a lane for each index, a bar for each pod.

With --runs the Job is played several times, with one seed after the other, and
the result says how the runs are spread.

Exit status: 0 played, however it ended, 1 the input cannot be read or played,
2 usage.

Flags:
`

// mostRuns is the most that --runs takes.
const mostRuns = 100_000

// theatre is what the arguments of simulate ask for.
type theatre struct {
	output
	file     string // empty: the argument, or the standard input
	scenario string // empty: every pod succeeds
	seed     *uint64
	runs     int
}

func simulate(env environment, args []string) error {
	t := theatre{}
	fs := newFlags("simulate")
	t.flags(fs, "svg")
	fs.StringVar(&t.file, "f", "", "the `file` with the Job")
	fs.StringVar(&t.scenario, "scenario", "", "the `file` with the scenario")
	fs.Func("seed", "the `number` that all chances depend on, instead of that of the scenario", func(text string) error {
		seed, err := strconv.ParseUint(text, 10, 64)
		t.seed = &seed
		return err
	})
	fs.IntVar(&t.runs, "runs", 0, "the `number` of runs to spread (default: tell of one run)")
	files, err := parse(env, fs, simulateUsage, args)
	if err != nil {
		return err
	}
	if t.file == "" && len(files) == 0 {
		files = []string{"-"}
	}
	if t.file != "" {
		files = append(files, t.file)
	}
	switch {
	case len(files) > 1:
		return misused("want one file with a Job; got %d", len(files))
	case t.runs < 0 || t.runs > mostRuns:
		return misused("--runs is %d; want 1 to %d", t.runs, mostRuns)
	case t.runs > 0 && t.format == "svg":
		return misused("-o svg draws one run; want no --runs")
	}
	t.file = files[0]
	return t.play(env)
}

// play reads the Job and the scenario, and plays them.
func (t theatre) play(env environment) error {
	m, scenario, err := t.read(env)
	if err != nil {
		return err
	}
	if t.seed != nil {
		scenario.Seed = *t.seed
	}
	one := func(s simulation.Scenario) (*simulation.Result, error) {
		r, err := simulation.Play(m.Job, s, simulation.Settings{
			RuleNames: m.RuleNames,
			Options:   []jobfate.Option{jobfate.ManagedBy(managerOf(m.Job))},
		})
		switch err.(type) {
		case nil:
			return r, nil
		case utilerrors.Aggregate: // the Job is not valid
			return nil, locate(err, &kubefile.Input{Job: m.Job, JobAt: m.At})
		}
		return nil, fmt.Errorf("%s: %w", t.scenario, err)
	}
	if t.runs == 0 {
		r, err := one(scenario)
		if err != nil {
			return err
		}
		out := newTimeline(m.Job, r)
		if t.format == "svg" {
			return env.print(out.svg())
		}
		return t.print(env, out, out.text)
	}
	out := spread{Job: refOf(m.Job), Seed: scenario.Seed}
	for range t.runs {
		r, err := one(scenario)
		if err != nil {
			return err
		}
		out.add(r)
		scenario.Seed++
	}
	out.sort()
	return t.print(env, out, out.text)
}

func (t theatre) read(env environment) (*kubefile.Manifest, simulation.Scenario, error) {
	var m *kubefile.Manifest
	var scenario simulation.Scenario
	names := []string{t.file}
	if t.scenario != "" {
		names = append(names, t.scenario)
	}
	err := withSources(env, names, func(sources []kubefile.Source) error {
		jobs, err := kubefile.ReadJobs(sources[0])
		if err != nil {
			return err
		}
		if len(jobs) > 1 {
			return fmt.Errorf("%s is a second Job; want one", jobs[1].At)
		}
		m = jobs[0]
		if t.scenario == "" {
			return nil
		}
		text, err := io.ReadAll(sources[1])
		if err == nil {
			scenario, err = simulation.ReadScenario(text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", sources[1].Name, err)
		}
		return nil
	})
	return m, scenario, err
}
