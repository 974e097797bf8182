// Jobfate tells what becomes of a Kubernetes Job.
//
//	jobfate explain [-o text|json|yaml] [--color auto|always|never] [--job NAME] [--now TIME] [--managed-by NAME] [--all] [--exit-status] [file ...]
//	jobfate validate [-o text|json|yaml|sarif] [--color auto|always|never] [--old FILE] [--status] [--strict] [file ...]
//	jobfate simulate [-o text|json|yaml|svg] [--color auto|always|never] [--scenario FILE] [--set FIELD=VALUE] [--against FILE] [--against-set FIELD=VALUE] [--runs N] [--full] [file ...]
//	jobfate completion bash|zsh|fish
//	jobfate indexes count|contains|union|minus|missing|next [--completions N] [--count N] SET ...
//
// explain reads a Job and its pods as kubectl prints them and says what the Job
// controller does next, and why. The first line answers why there is no pod, or
// no further one. validate says what the API server would refuse about a Job, an
// update or a status. simulate plays a Job in virtual time, by a scenario, and
// tells what became of its pods; with another Job it compares the two. indexes computes with sets of completion
// indexes. None of them changes anything, or talks to a cluster. docs/command.md
// has examples.
//
// What a controller remembers of failures between two decisions is read off the
// pods that are still there. Of pods only the
// fields that matter are kept.
//
// This package itself knows nothing of Jobs: it only runs internal/cli.
//
// # Exit status
//
//	0    done, accepted
//	1    the input cannot be read, or not be decided on
//	2    usage
//	3    no: refused, does not contain, there is none
//	130  interrupted, with what was known by then
//
// With --exit-status, explain says 3 for a Job that waits, 4 for one that is held
// until a user acts, 5 for one that cannot succeed, and 6 for one that is stuck.
//
// # JSON
//
// With -o json or -o yaml the output is one object. Fields may be added to it in
// later versions; none is removed or changes its meaning. Lists are never null. A
// Job that no API server has taken has no uid. The object of explain has
//
//	job             namespace, name, uid
//	now             the time of the decision
//	managedBy       the controller that manages the Job, when it is another
//	pods            the number of pods in the input
//	reason          code, text, until, when time alone changes it, advice, pods
//	                (names), attention (None, Wait, Held, Lost or Stuck)
//	also            further reasons, in the order of their rank
//	totals          done, running, stuck, terminating, backingOff, pending, failed,
//	                stopped: numbers of indexes, or of pods
//	prospect        code, text, until: whether the Job can still succeed
//	claims          pod, action: adopt, release or free
//	deletions       pod, cause, finalizerFirst
//	creations       namePrefix, index, failures, ignored, replaces
//	status          field, old, new: what is stored before any finalizer goes
//	finalizers      names of the pods whose finalizer goes then
//	settled         field, old, new: what is stored once they are gone
//	finished        whether the Job has then ended
//	waits           code, text, until: what the Job then waits for
//	requeueSeconds  after how long to look again, and
//	requeueAt       when; absent when only a change is worth a look
//	completed       the completed indexes, as in the status
//	indexes         first, last, code, text, until, pod, failures, failedPod,
//	                fault, rule: the others
//	lastFailure     failedPod, fault, rule: of the pod of the Job that failed
//	                last; absent when no failed pod is known
//	notes           code, text: what was not as it should be in the input
//
// With several Jobs it has jobs, a list of these objects, and others, the number of Jobs
// that kubectl jobfate leaves out because they need no attention.
//
// That of validate has skipped, the number of objects of each other kind, and
// jobs, each with
//
//	job             namespace, name, uid
//	file, line      where it stands; in a cluster there are no lines, and line and
//	                column are 0
//	accepted        whether the API server would accept it
//	errors          rule, field, file, line, column, message
//	warnings        rule, field, file, line, column, message
//	notChecked      what of the Job was not looked at
//
// That of simulate has times in seconds from the creation of the Job, or from the
// time at which the simulation went on from a Job that exists; what was before that
// has negative times:
//
//	job             namespace, name, uid
//	file, set       only when two Jobs are compared: where the Job stands, and
//	                the fields that were set
//	from            the time from which a Job that exists went on
//	end             Complete, Failed, Stalled, OutOfTime or Interrupted
//	took            when that was
//	reason, message of the condition with which the Job ended
//	waitsFor        what a Job that has stalled waits for
//	totals          pods, succeeded, failed, evicted, deleted, podSeconds, syncs
//	lanes           index, pods and waits: one for each index; or, when the Job
//	                is not Indexed, for each pod that runs at a time. A pod has
//	                name, created, started, terminating, lost, ended, outcome,
//	                exitCode, restarts, rule, action; a wait from, until
//	waits           from, until: when the Job as a whole backed off
//	conditions      at, type, status, reason, message
//	events          at, text: what the scenario made happen
//	statuses        at, changes: field, old, new
//	status          the last status
//
// and with --runs
//
//	job, file, set  as above
//	seed, runs      the first seed, and the number of runs
//	interrupted     true when there were to be more
//	complete, failed, stalled, outOfTime  how many of them ended so
//	seconds, pods, podSeconds  least, p10, median, p90, most
//
// With --against or --against-set it has
//
//	runs            two of the above, in the order of the files
//	indexes         index and fates, two: the indexes that fared otherwise, when
//	                both Jobs are Indexed. A fate has outcome (Succeeded, Failed,
//	                Unfinished, or None when there is no such index), ended,
//	                pods, podSeconds
//
// and with --runs as well
//
//	spreads         two of the above
//	completed       both, onlyFirst, onlySecond, neither: in how many runs
//
// The codes of reason, prospect, waits, indexes, deletions and notes are those of
// package jobfate; explain adds the notes UnknownField and OtherKinds, and kubectl jobfate
// NotPermitted and NotUpToDate. A rule has its position, name, action and text. Old and new values are a number, text, a list of UIDs, an
// object for a condition, or null for what is unset.
package main
