package cli

import (
	"errors"
	"slices"
	"strings"
)

const explainUsage = `Usage: jobfate explain [flags] [file ...]

Reads a Job and its pods and says what the Job controller does next, and why; what
the Job waits for, and until when; the state of each index that is not done; and
whether the Job can still succeed. The first line says why there is no pod, no further
pod, or no pod that makes progress.

The files are what kubectl prints with -o yaml or -o json, in any order:

  (kubectl get job/NAME -o yaml; echo ---; kubectl get pods -l job-name=NAME -o yaml) | jobfate explain
  kubectl get job,pods,events -o yaml | jobfate explain --job NAME

Of a CronJob it says what keeps it from starting Jobs, how the last ones ended, and
which start times come and were missed. If the input has several Jobs or CronJobs, it
prints one line for each; those that need most attention come first. --job selects one.
Events, Nodes, the owners of the Job (JobSet, TrainJob, Workload, PodGroup) and what
its pods need (PersistentVolumeClaim, ResourceClaim, ConfigMap, Secret, Namespace,
ResourceQuota) help to find the cause. Objects of other kinds are skipped, with a
note. What cannot be read is left out, with an error; the rest is explained.

Without a file, and for the file -, it reads the standard input.

Exit status: 0 success, 1 a part of the input cannot be read or is invalid, 2 wrong usage. With
--exit-status also
  3  the Job waits: the next pod is created after a delay, or when a pod ends
  4  the Job is on hold: suspended, queued by Kueue, with parallelism 0, or being deleted
  5  the Job cannot succeed: it has failed, is failing, or can only fail
  6  the Job is stuck: pods cannot be created, start or finish, or a step is overdue; the
     second line says what to do
and 0 if the Job runs well, or has succeeded.

Flags:
`

// explainFiles is the command explain, which reads the Jobs from files.
func explainFiles(env Environment, args []string) error {
	var x Explain
	var name string
	fs := newFlags("explain")
	x.Flags(fs, env.Clock)
	fs.StringVar(&name, "job", "", "explain the Job of this `name`, or namespace/name, in an input with several;\n"+
		"cronjob/NAME explains a CronJob")
	files, err := env.parseFiles(fs, explainUsage, args)
	if err != nil {
		return err
	}
	x.saved = slices.ContainsFunc(files, func(name string) bool { return name != "-" })
	in, err := readFiles(env, files)
	if err != nil {
		return err
	}
	if err := choose(in.Input, name); err != nil {
		return errors.Join(in.Err(), err)
	}
	look := x.One
	switch {
	case strings.HasPrefix(name, cronPrefix) || len(in.Jobs) == 0 && len(in.CronJobs) == 1:
		look = x.CronJob
	case name == "" && (len(in.Jobs) != 1 || !ownedByAll(in.Jobs[0].Job, in.CronJobs)),
		name == "" && len(in.CronJobs) > 0 && in.Jobs[0].Job.Status.CompletionTime != nil:
		look = x.List
	}
	view, err := look(env, in)
	if err != nil {
		return err
	}
	return x.Print(env, view)
}
