package explain

import (
	"cmp"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
)

// Cause says why a Job makes no progress, or that it does.
type Cause struct {
	// Reason has the text as one sentence, with the number of pods affected.
	Reason
	// Advice says what to do; empty if there is nothing to do.
	Advice string
	// Pods lists the names of the pods affected, in the order of index and UID.
	Pods []string
	// Attention says what kind of attention the Job needs.
	Attention Attention
}

// Attention is the kind of attention that a Job needs.
type Attention uint8

const (
	// AttentionNone means that the Job runs well, or has succeeded.
	AttentionNone Attention = iota
	// AttentionWait means that the next pod is created after a delay, or when a pod ends.
	AttentionWait
	// AttentionHeld means that the Job is on hold until a user or a controller lets it continue.
	AttentionHeld
	// AttentionLost means that the Job cannot succeed.
	AttentionLost
	// AttentionStuck means that the Job makes no progress until a user acts: pods cannot be
	// created, start or finish, or a step is overdue.
	AttentionStuck
)

var attentions = [...]string{"None", "Wait", "Held", "Lost", "Stuck"}

// String returns the name of the kind of attention.
func (a Attention) String() string { return attentions[min(int(a), len(attentions)-1)] }

// Cause returns the cause with the highest rank, the one to read first. Causes in the pods
// and in the evidence rank before the reason for the decision. The zero Explanation has no
// cause.
//
// Cause is for a snapshot seen from outside. A controller in the middle of its writes
// should use Job.
func (e Explanation) Cause() Cause { return append(e.Causes(), Cause{})[0] }

// Causes returns all causes in the order of their rank. The reason that [Explanation.Job]
// returns is among them.
func (e Explanation) Causes() []Cause {
	if e.facts == nil {
		return nil
	}
	code, deleting := e.Prospect().Code, e.facts.job.DeletionTimestamp != nil
	if code != ProspectOutOfReach || deleting {
		return ranked(either(code == ProspectFailure, AttentionLost, AttentionNone), e.facts.findings()...)
	}
	all := ranked(AttentionLost, e.facts.findings()...)
	all[0].Text += "; the Job can only fail"
	return all
}

// Unmanaged explains a Job that another controller manages, for which
// [jobfate.Decide] returns [jobfate.ErrNotManaged]. A nil Job has no cause.
func Unmanaged(job *batchv1.Job) Cause {
	if job == nil {
		return Cause{}
	}
	builtin := batchv1.JobControllerName
	manager, suspended := *cmp.Or(job.Spec.ManagedBy, &builtin), *cmp.Or(job.Spec.Suspend, new(bool))
	end := finished(job)
	return ranked(AttentionNone, finding{
		mild: hasSucceeded(job) || end.Code == "" && manager == multiKueue && !suspended, Reason: cmp.Or(
			end,
			when(manager == multiKueue && suspended, CauseMultiKueue,
				"MultiKueue manages the Job, which is suspended here, "+
					"and runs it in a worker cluster once it is admitted"),
			when(manager == multiKueue, CauseMultiKueue,
				fmt.Sprintf("MultiKueue runs the Job in a worker cluster; "+
					"by the status %d pods are active, %d succeeded, %d failed",
					job.Status.Active, job.Status.Succeeded, job.Status.Failed)),
			when(true, CauseManagedElsewhere, "the controller "+manager+" manages the Job"),
		)})[0]
}

// The causes beside the codes of [Explanation.Job].
const (
	// CauseMultiKueue: MultiKueue runs the Job in another cluster.
	CauseMultiKueue Code = "MultiKueue"
	// CauseManagedElsewhere: another controller manages the Job.
	CauseManagedElsewhere Code = "ManagedElsewhere"
	// CauseRecreated: the pods belong to an earlier Job of the same name.
	CauseRecreated Code = "JobRecreated"
	// CausePodsMissing: the status counts more pods than were given.
	CausePodsMissing Code = "PodsMissing"
	// CauseDeletionOverdue: finalizers keep the Job from being deleted.
	CauseDeletionOverdue Code = "DeletionOverdue"
	// CauseTerminationOverdue: pods should have terminated.
	CauseTerminationOverdue Code = "TerminationOverdue"
	// CauseDeadlineOverdue: the deadline has passed, but the Job has not been failed.
	CauseDeadlineOverdue Code = "DeadlineOverdue"
	// CauseEndOverdue: the Job should have ended.
	CauseEndOverdue Code = "EndOverdue"
	// CauseQueuedByKueue: Kueue keeps the Job suspended.
	CauseQueuedByKueue Code = "QueuedByKueue"
	// CauseQuota: a quota rejects new pods.
	CauseQuota Code = "QuotaExceeded"
	// CauseWebhook: an admission webhook rejects new pods.
	CauseWebhook Code = "WebhookRefused"
	// CauseCreationRefused: the API server rejects new pods.
	CauseCreationRefused Code = "CreationRefused"
	// CauseNodeLost: the node of active pods is not ready.
	CauseNodeLost Code = "NodeLost"
	// CauseSchedulingGated: pods have scheduling gates.
	CauseSchedulingGated Code = "SchedulingGated"
	// CauseUnschedulable: no node can take the pods.
	CauseUnschedulable Code = "Unschedulable"
	// CauseNotScheduledYet: no node can take the pods yet, but only for a short time, or a
	// node is being added.
	CauseNotScheduledYet Code = "NotScheduledYet"
	// CauseNoScheduler: no scheduler has handled the pods.
	CauseNoScheduler Code = "NoScheduler"
	// CauseImagePull: an image cannot be pulled.
	CauseImagePull Code = "ImagePullFailed"
	// CauseContainerConfig: a container cannot be created.
	CauseContainerConfig Code = "ContainerConfig"
	// CauseCrashLoop: a container is restarted again and again.
	CauseCrashLoop Code = "CrashLoop"
	// CauseContainerStart: a container cannot be started.
	CauseContainerStart Code = "ContainerStart"
	// CausePodStartFailing: the last event of the pods is a warning.
	CausePodStartFailing Code = "PodStartFailing"
	// CausePodStartOverdue: pods should have started.
	CausePodStartOverdue Code = "PodStartOverdue"
	// CauseSidecarRunning: a sidecar did not stop.
	CauseSidecarRunning Code = "SidecarRunning"
	// CauseContainerRunning: a container runs long after others have finished.
	CauseContainerRunning Code = "ContainerRunning"
	// CauseBackoffUnknown: the status counts failures, but no pod shows when they happened.
	CauseBackoffUnknown Code = "BackoffUnknown"
	// CauseCreationOverdue: pods should have been created.
	CauseCreationOverdue Code = "CreationOverdue"
)

// row is what holds for a cause whenever it is found.
type row struct {
	code      Code
	attention Attention
	cannot    string // completes "3 of 5 active pods …", for a cause in active pods
	advice    string
}

// causes are in the order of their rank. Causes that make the rest meaningless come first,
// then causes that end or hold the Job, then causes that keep pods from being created or
// from running, then the reasons for the decision. The second row of a code is for its mild
// form: the Job has succeeded, or goes on in spite of the cause.
var causes = [...]row{
	{CauseDeletionOverdue, AttentionStuck, "",
		"Ask the owner of the finalizer to remove it. With foregroundDeletion the Job waits for its pods: " +
			"look at those that are left."},
	{JobFinished, AttentionLost, "", "Read the condition and the last failure; a Job that has failed does " +
		"not run again."},
	{JobFinished, AttentionNone, "", ""},
	{CauseMultiKueue, AttentionHeld, "", "Read the Workload: it shows whether the Job is admitted, and names " +
		"the worker cluster that then has the Job and its pods."},
	{CauseMultiKueue, AttentionNone, "", "Read the Workload: it shows whether the Job is admitted, and names " +
		"the worker cluster that then has the Job and its pods."},
	{CauseManagedElsewhere, AttentionNone, "",
		"Look at that controller; the built-in Job controller ignores this Job."},
	{JobStale, AttentionWait, "", ""},
	{CauseRecreated, AttentionStuck, "", "Get the Job and its pods again, with one command. Delete the old " +
		"pods if garbage collection does not."},
	{CausePodsMissing, AttentionStuck, "", "Add the pods to the input: kubectl get pods -l job-name=NAME -o " +
		"yaml. If there are none, the controller is not running."},
	{CauseTerminationOverdue, AttentionStuck, "",
		"Look at the node: if it is gone, delete the pod with --force. If a finalizer remains, ask its owner " +
			"to remove it."},
	{CauseDeadlineOverdue, AttentionStuck, "", "Check that the controller that manages the Job is running."},
	{CauseEndOverdue, AttentionStuck, "", "Check that the controller that manages the Job is running, and " +
		"that it may update the status and the pods."},
	{JobEnding, AttentionNone, "", ""},
	{JobDeleting, AttentionHeld, "", ""},
	{CauseQueuedByKueue, AttentionHeld, "", "Read the conditions of the Job's Workload and the quota of its " +
		"ClusterQueue. If you resume the Job by hand, Kueue suspends it again."},
	{JobSuspended, AttentionHeld, "", "Set spec.suspend to false to resume the Job."},
	{CauseQuota, AttentionStuck, "", "Raise the quota, lower the requests or the parallelism, or wait until " +
		"other pods of the namespace end."},
	{CauseWebhook, AttentionStuck, "", "Fix the pod template or the admission webhook."},
	{CauseCreationRefused, AttentionStuck, "",
		"Fix what the API server names: often a ServiceAccount, a PriorityClass or a field of the pod template."},
	{CauseNodeLost, AttentionStuck, "cannot be reached",
		"Look at the node; if it is gone, delete the Node object, so that its pods are replaced."},
	{CauseSchedulingGated, AttentionStuck, "must wait for a scheduling gate",
		"Look at the controller that set the gate; it removes the gate when the pod may be scheduled."},
	{CauseUnschedulable, AttentionStuck, "cannot be scheduled",
		"Add nodes, lower the requests, or fix the affinity, the tolerations or the volumes that the message names."},
	{CauseNoScheduler, AttentionStuck, "got no response from a scheduler",
		"Check spec.template.spec.schedulerName, and that this scheduler is running."},
	{CauseImagePull, AttentionStuck, "cannot pull an image",
		"Check the name and the tag of the image, imagePullSecrets, and that the node reaches the registry. " +
			"The pod template is immutable: delete the Job and create it again."},
	{CauseContainerConfig, AttentionStuck, "cannot create a container",
		"Create the Secret, the ConfigMap or the key that the message names; the kubelet tries again."},
	{CauseCrashLoop, AttentionStuck, "cannot keep a container running",
		"Read the log of the last run: kubectl logs POD -c CONTAINER --previous. If it was OOMKilled, raise " +
			"its memory limit."},
	{CauseContainerStart, AttentionStuck, "cannot start a container",
		"Check the command, the security context and the mounts of the container that the message names."},
	{CausePodStartFailing, AttentionStuck, "cannot start",
		"Create the Secret, the ConfigMap or the volume that the event names, or look at the network plugin " +
			"of the node."},
	{CausePodStartOverdue, AttentionStuck, "should have started",
		"Read the events: kubectl describe pod POD. A large image, a volume or the network of the node may " +
			"be the cause."},
	{CauseSidecarRunning, AttentionStuck, "cannot finish",
		"Make the sidecar end on SIGTERM, and look at the kubelet of the node."},
	{CauseContainerRunning, AttentionWait, "cannot finish",
		"If that container only serves the others, make it a sidecar: an init container with restartPolicy " +
			"Always, which the kubelet stops when they have finished."},
	{CausePodsMissing, AttentionStuck, "", "Add all pods to the input: kubectl get pods -l job-name=NAME -o " +
		"yaml. If these are all, the controller is not running."},
	{CauseBackoffUnknown, AttentionWait, "", "Add the pods that have failed to the input, if they still exist."},
	{CauseCreationOverdue, AttentionStuck, "",
		"Look for FailedCreate events (kubectl describe job NAME), an exhausted quota, an admission webhook, " +
			"or a controller that is not running."},
	{CauseTerminationOverdue, AttentionStuck, "",
		"Look at the node: if it is gone, delete the pod with --force. If a finalizer remains, ask its owner " +
			"to remove it."},
	{CauseNotScheduledYet, AttentionWait, "cannot be scheduled yet",
		"Wait: the scheduler tries again when a node or its pods change."},
	{JobInFlight, AttentionWait, "", ""},
	{JobRemoving, AttentionNone, "", ""},
	{JobCreating, AttentionNone, "", ""},
	{JobBackingOff, AttentionWait, "", "Read why the last pod failed; the delay ends by itself."},
	{JobAwaitingTermination, AttentionWait, "", ""},
	{JobNoParallelism, AttentionHeld, "", "Set spec.parallelism above 0."},
	{JobRunning, AttentionNone, "", ""},
}

// rowOf returns the first row of a code; a zero row for none.
func rowOf(code Code) row {
	for _, r := range causes {
		if r.code == code {
			return r
		}
	}
	return row{}
}

// finding is a cause that was found, with the names of the pods affected.
type finding struct {
	Reason
	pods []string
	mild bool
}

// ranked returns the findings in the order of the table, without those that are zero. Each
// needs at least the given attention.
func ranked(least Attention, found ...finding) (all []Cause) {
	seen := map[Code]bool{}
	for _, r := range causes {
		for _, f := range found {
			if f.Code == r.code && f.mild == seen[r.code] {
				all = append(all, Cause{f.Reason, r.advice, f.pods, max(r.attention, least)})
			}
		}
		seen[r.code] = true
	}
	return all
}
