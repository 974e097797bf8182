package main

import "strconv"

const simulateUsage = `Usage: jobfate simulate [flags] [file]

Plays a Job in virtual time, on a simulated cluster, until it has ended, and tells
what became of its pods. A scenario says what the pods do, and what happens to
them and to the Job. Without one every pod succeeds, after 10s.

  jobfate simulate -f job.yaml --scenario scenario.yaml

A scenario is YAML or JSON:

  startDelay: 1s             # from the creation of a pod until it runs
  stopDelay: 1s              # until a pod that is deleted has stopped
  batchPeriod: 1s            # from a change of a pod until the controller looks
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

With --against another Job is played in the same scenario, and the two are
compared. The n-th pod of an index then has the same luck in both.

  jobfate simulate -f job.yaml --against other.yaml --scenario scenario.yaml

A long run shows on a terminal how far it is. Ctrl-C ends it, and what is known so
far is told.

Exit status: 0 played, however it ended, 1 the input cannot be read or played,
2 usage, 130 interrupted.

Flags:
`

// mostRuns is the most that --runs takes.
const mostRuns = 100_000

func simulate(env environment, args []string) error {
	t := &theatre{}
	fs := newFlags("simulate")
	t.flags(fs, "svg")
	fs.StringVar(&t.file, "f", "", "the `file` with the Job")
	fs.StringVar(&t.against, "against", "", "the `file` with a Job to compare with, in the same scenario")
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
