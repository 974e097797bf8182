// Jobfate explains, validates and simulates Kubernetes Jobs.
//
//	jobfate explain [flags] [file ...]
//	jobfate validate [flags] [file ...]
//	jobfate simulate [flags] [file ...]
//	jobfate indexes count|contains|union|minus|missing|next [flags] SET ...
//	jobfate completion bash|zsh|fish
//
// explain reads a Job and its pods as kubectl prints them, and says what the Job controller
// does next, and why. The first line is the cause. validate says which fields of a Job, an
// update or a status the API server would reject. simulate runs a Job in virtual time
// according to a scenario, and compares it with a second Job if there is one. indexes
// computes with sets of completion indexes. No command changes anything or connects to a
// cluster. Run a command with -h for its flags; docs/command.md has examples.
//
// The backoff record that a controller keeps in memory is not in the input. The command
// computes it from the pods.
//
// This package only runs cmd/internal/cli.
//
// # Exit status
//
//	0    done, accepted
//	1    a part of the input cannot be read, or is invalid
//	2    wrong usage
//	3    negative result: rejected, not contained, no next index
//	130  interrupted, after printing the results so far
//
// With --exit-status, explain returns 3 for a Job that waits, 4 for a Job that is on hold,
// 5 for a Job that cannot succeed, and 6 for a Job that is stuck until a user acts.
//
// # JSON
//
// With -o json or -o yaml the output is one object. Later versions may add fields;
// docs/releases.md says when others may change. Lists are never null. A Job that was never
// stored by an API server has no uid. The object of explain has
//
//	job             namespace, name, uid
//	now             the time of the decision
//	managedBy       the controller that manages the Job, if it is another one
//	pods            the number of pods in the input
//	created         when the Job was created, has started and has ended; started and
//	started         ended are absent while it has not
//	ended
//	succeeded       the number of pods that have succeeded, by the status,
//	completions     of how many (absent if any pod is enough), and how many run at
//	parallelism     the same time
//	reason          code, text, until (if time alone changes it), advice, pods
//	                (names), attention (None, Wait, Held, Lost or Stuck), evidence
//	                (the objects and events that show it)
//	also            further reasons, in the order of their rank
//	totals          done, running, starting, waiting, stuck, terminating, backingOff,
//	                pending, failed, stopped: numbers of indexes, or of pods
//	prospect        code, text, until: whether the Job can still succeed
//	claims          pod, action: adopt, release or free
//	deletions       pod, cause, finalizerFirst
//	creations       namePrefix, index, failures, ignored, replaces
//	status          field, old, new: the status write before finalizers are removed
//	finalizers      names of the pods whose finalizer is removed next
//	settled         field, old, new: the status write after that
//	finished        whether the Job has then ended
//	waits           code, text, until: what the Job then waits for
//	requeueSeconds  the time until the next sync, and
//	requeueAt       when it is; absent if no sync is due until something changes
//	completed       the completed indexes, as in the status
//	indexes         first, last, code, text, until, pod, failures, failedPod,
//	                fault, rule: the others
//	lastFailure     failedPod, fault, rule: of the pod of the Job that failed
//	                last; absent if no failed pod is known
//	proposals       patterns (code, text, remedy, gain, notCounted, later, goesOn), patch,
//	                immutable, advice: what would have helped against the failures
//	events          at, object, warning, reason, message, count, pods: the last events
//	                of the Job, its owners, and the pods of reason and also
//	notes           code, text: what is unexpected in the input
//	unreadable      errors: the parts of the input that cannot be read; absent if
//	                there are none
//
// For a CronJob the object has cronJob, now, created, schedule, timeZone, reason, also,
// events, notes and unreadable, and
//
//	policy          what the concurrency policy does to an active Job
//	nextStart       the next start time, if there is one
//	missed          the number of start times since the last Job, at most 1,000, with
//	                firstMissed and lastMissed
//	lastSuccess     when a Job last succeeded, if that is known
//	runs            job, created, ended, phase, text: its Jobs, the last one first
//
// For several Jobs the object has jobs and cronJobs, lists of these objects, others, the number
// of Jobs that kubectl jobfate omits because they need no attention, unreadable, and shared: names
// that the failures of several jobs have, a list with names and jobs; absent if there are none.
//
// The object of validate has skipped, the number of objects of each other kind, unreadable,
// and jobs, each with
//
//	job             namespace, name, uid
//	file, line      its position; for a Job from a cluster line and column are 0
//	accepted        whether the API server would accept it
//	errors          rule, field, file, line, column, message
//	warnings        rule, field, file, line, column, message
//	notChecked      the parts of the Job that were not checked
//
// The object of simulate has times in seconds from the creation of the Job, or from the
// time at which the simulation of an existing Job starts. Earlier times are negative:
//
//	job             namespace, name, uid
//	file, set       only if two Jobs are compared: the position of the Job, and the
//	                fields that were set
//	immutable       the fields that were set although they are immutable in an
//	                existing Job
//	from            the time at which the simulation of an existing Job starts
//	assumed         what is assumed about an existing Job without a scenario
//	end             Complete, Failed, Stalled, OutOfTime or Interrupted
//	took            the time of the end
//	reason, message of the condition with which the Job ended
//	waitsFor        what a stalled Job waits for
//	totals          pods, succeeded, failed, evicted, deleted, restarts, podSeconds,
//	                syncs
//	lanes           index, pods and waits: one for each index; or, if the Job is
//	                not Indexed, for each pod that runs at a time. A pod has
//	                name, created, started, terminating, lost, ended, outcome,
//	                exitCode, restarts, rule, action, and restarted: at, exitCode, rule of
//	                its first 100 restarts in place; a wait from, until
//	waits           from, until: when the Job as a whole backed off
//	conditions      at, type, status, reason, message
//	events          at, text: the events of the scenario
//	statuses        at, changes: field, old, new
//	status          the last status
//
// and with --runs
//
//	job, file, set  as above
//	assumed         as above
//	seed, runs      the first seed, and the number of runs
//	interrupted     true if not all runs were made
//	complete, failed, stalled, outOfTime  the number of runs that ended in this way
//	seconds, pods, podSeconds  least, p10, median, p90, most
//
// With --against or --against-set it has
//
//	runs            two of the above, in the order of the files
//	indexes         index and two outcomes: the indexes that differ, if both Jobs are
//	                Indexed. Each has outcome (Succeeded, Failed, Unfinished, or
//	                None if there is no such index), ended, pods, podSeconds
//
// and with --runs as well
//
//	spreads         two of the above
//	completed       both, onlyFirst, onlySecond, neither: in how many runs
//
// The codes of reason, prospect, waits, indexes, deletions and notes are those of package
// explain. The command adds the notes UnknownField, OtherKinds and ClockBehind, and kubectl jobfate
// NotPermitted and NotUpToDate. A rule has its position, name, action and text. Old and new
// values are a number, a text, a list of UIDs, an object for a condition, or null if unset.
package main
