// Jobfate tells what becomes of a Kubernetes Job.
//
//	jobfate explain [-o text|json] [--now TIME] [--managed-by NAME] [file ...]
//
// explain reads a Job and its pods as kubectl prints them and says what the Job
// controller does next, and why. The first line answers why there is no pod, or
// no further one. It changes nothing, and talks to no cluster.
//
// What a controller remembers of failures between two decisions is read off the
// pods that are still there.
//
// # Exit status
//
//	0  decided
//	1  the input cannot be read, or not be decided on
//	2  usage
//
// # JSON
//
// With -o json the output is one object. Fields may be added to it in later
// versions; none is removed or changes its meaning. Lists are never null.
//
//	job             namespace, name, uid
//	now             the time of the decision
//	managedBy       the controller that manages the Job, when it is another
//	pods            the number of pods in the input
//	reason          code, text, and until, when time alone changes it
//	claims          pod, action: adopt, release or free
//	deletions       pod, cause, finalizerFirst
//	creations       namePrefix, index, failures, ignored, replaces
//	status          field, old, new: what is stored before any finalizer goes
//	finalizers      names of the pods whose finalizer goes then
//	settled         field, old, new: what is stored once they are gone
//	finished        whether the Job has then ended
//	requeueSeconds  after how long to look again, and
//	requeueAt       when; absent when only a change is worth a look
//	completed       the completed indexes, as in the status
//	indexes         first, last, code, text, until, pod, failures, rule: the others
//	notes           code, text: what was not as it should be in the input
//
// The codes of reason, indexes, deletions and notes are those of package jobfate;
// explain adds the notes UnknownField and NoPods. A rule has its position, name,
// action and text. Old and new values are a number, text, a list of UIDs, an
// object for a condition, or null for what is unset.
package main
