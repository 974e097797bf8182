package cli

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"strconv"
	"time"
)

const simulateUsage = `Usage: jobfate simulate [flags] [file ...]

Runs a Job in virtual time on a simulated cluster until the Job has ended, and prints
what happens to its pods. A scenario describes what the pods do, and what happens to
them and to the Job. Without a scenario every pod succeeds after 10s. The template of a
CronJob is run as a Job. --job selects one of several Jobs; of the Jobs of one CronJob it
is the last one that has not ended or, of several that have, the template.

  jobfate simulate -f job.yaml --scenario scenario.yaml

A scenario is YAML or JSON. Every field is optional:

  startDelay: 1s             # from the creation of a pod until it runs
  stopDelay: 1s              # from the deletion of a pod until it has stopped
  batchPeriod: 1s            # from a change of a pod until the controller syncs
  limit: 168h                # the virtual time at which to give up
  seed: 1                    # the seed of all random values
  capacity: 4                # pods that can run at once; the others stay Pending
  lostNodes:
    unreachableAfter: 50s    # from the loss of a node until it is unreachable
    toleration: 5m           # from then until its pods are evicted and terminating;
                             # default: the toleration of the pod template, or 5m
    removedAfter: 30m        # from the loss until the node is removed; default: never
    collectedAfter: 40s      # from then until its pods are failed and deleted
  pods:                      # the first entry that matches a pod applies
  - indexes: 0-3,7           # default: all; NonIndexed: pods, counted from 0
    chance: 0.1              # probability that the entry matches a pod
    exits: [42, 0]           # exit codes of the first, second, ... pod; the last is repeated
    durations: [30s, 10s]    # run times of the first, second, ... pod; the last is repeated
    spread: 5s               # random extra duration of each pod, up to this
    startDelay: 5s
  - indexes: "4"
    chance: 0.5
    evict: true              # instead of an exit, with DisruptionTarget
  events:
  - {at: 20s, suspend: true} # or parallelism, completions, capacity
  - {at: 22s, suspend: false}
  - {at: 25s, evict: "2"}    # or all: their nodes are drained
  - {at: 30s, lose: "3-4"}   # or all: the nodes of running pods are lost
  - {at: 20m, removeNodes: "3"} # or all: the nodes of lost pods are removed
  - {at: 25m, forceDelete: "4"} # or all: as kubectl delete pod --force

With an existing Job and its pods, the simulation continues from their current state:

  (kubectl get job/NAME -o yaml; echo ---; kubectl get pods -l job-name=NAME -o yaml) | jobfate simulate

Without a scenario, the first line then says what is assumed: pods run as long as earlier
ones did, and pods that explain calls stuck stay so.

-o svg draws the run: a lane for each index, a bar for each pod.

--runs repeats the simulation, each time with the next seed, and prints the
distribution of the results.

--against compares the Job with another one in the same scenario. --against-set compares it
with a copy that has other fields. The n-th pod of an index gets the same random values in
both.

  jobfate simulate -f job.yaml --against other.yaml --scenario scenario.yaml
  jobfate simulate -f job.yaml --against-set spec.parallelism=50

--with and --against-with change the fields in a file, as explain --advise prints it.

A long run shows its progress on the standard error. Ctrl-C stops it and prints the results so
far.

Exit status: 0 simulated, whatever the result, 1 the input cannot be read or simulated,
or a bound is exceeded, 2 wrong usage, 130 interrupted.

Flags:
`

// simulateFiles is the command simulate, which reads the Job from files.
func simulateFiles(env Environment, args []string) error {
	s := NewSimulate(env)
	fs := newFlags("simulate")
	s.Flags(fs, env.Clock, "svg")
	fs.StringVar(&s.job, "job", "", "simulate the Job of this `name`, or namespace/name, in an input with several;\n"+
		"cronjob/NAME: the template of a CronJob")
	files, err := env.parseFiles(fs, simulateUsage, args)
	if err != nil {
		return err
	}
	return s.Play(env, nil, files...)
}

// Flags adds the flags. more are formats in addition to text, JSON and YAML.
func (s *Simulate) Flags(fs *flag.FlagSet, clock func() time.Time, more ...string) {
	s.output.flags(fs, more...)
	fs.StringVar(&s.scenarioFile, "scenario", "", "the `file` with the scenario")
	fs.Func("set", "change a field of the Job, or of both if two are compared, as in spec.parallelism=50 "+
		"or\nspec.podFailurePolicy.rules[0].action=Count; null unsets it", s.sets.adder("--set"))
	patch := func(flag, usage string, to *overrides) {
		fs.Func(flag, usage, func(name string) error {
			s.patches = append(s.patches, patchFile{"--" + flag, name, to})
			return nil
		})
	}
	patch("with", "a `file` with fields to change, like --set", &s.sets)
	patch("against-with", "a `file` with fields to change, like --against-set", &s.againstSets)
	fs.StringVar(&s.against, "against", "", "the `file` with a Job to compare with, in the same scenario")
	fs.Func("against-set",
		"change a field of the Job to compare with: a copy of the Job,\nor the one of --against",
		s.againstSets.adder("--against-set"))
	fs.Func("seed", "the `number` that determines all random values, instead of the seed of the scenario",
		func(text string) error {
			seed, err := strconv.ParseUint(text, 10, 64)
			if s.seed = &seed; err != nil {
				return errors.New("want a number from 0 to 18446744073709551615")
			}
			return nil
		})
	fs.BoolVar(&s.full, "full", false, "print every line; by default output of more than 50 lines is folded")
	fs.BoolVar(&s.fromCreation, "from-creation", false,
		"run an existing Job from its creation: ignore its status and pods")
	nowFlag(fs, clock, "the status and the pods of an existing Job", func(at time.Time) { s.now = at })
	fs.Func("limit",
		"the virtual `time` at which to give up, instead of the limit of the scenario (default 168h)",
		func(text string) (err error) {
			d, err := time.ParseDuration(text)
			if s.limit = &d; err == nil && d <= 0 {
				err = errors.New("want more than 0")
			}
			return err
		})
	number := func(name, usage string, most int, value *int) {
		fs.Func(name, usage, func(text string) error {
			n, err := strconv.Atoi(text)
			if err == nil && (n < 1 || n > most) {
				err = fmt.Errorf("want 1 to %d", most)
			}
			*value = n
			return err
		})
	}
	number("runs", "the `number` of runs whose distribution to print (default: print one run)", 100_000, &s.runs)
	bound := func(name, usage string, value *int) {
		number(name, usage+" (default "+strconv.Itoa(*value)+")", math.MaxInt32, value)
	}
	bound("max-pods", "give up at this `number` of pods in all", &s.bounds.Pods)
	bound("max-active", "reject a Job that needs more than this `number` of pods at once", &s.bounds.AtOnce)
	bound("max-events", "reject a scenario with more than this `number` of events", &s.bounds.Events)
	bound("max-steps", "give up at this `number` of steps: one for each change, and for each pod in each sync",
		&s.bounds.Steps)
}

// boundFlags lists the flags that raise the bounds of a simulation.
var boundFlags = map[string]string{"Pods": "--max-pods", "AtOnce": "--max-active", "Events": "--max-events",
	"Steps": "--max-steps"}
