package explain

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Cause says why a Job makes no progress, or that it does.
type Cause struct {
	// Reason has the text as one sentence, with the number of pods affected.
	Reason
	// Advice says what to do; empty if there is nothing to do.
	Advice string
	// Pods are the names of the pods affected, in the order of index and UID.
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
	// AttentionStuck means that an overdue step has not happened, and will not happen unless a user
	// acts.
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
func (e Explanation) Cause() Cause {
	for _, c := range e.Causes() {
		return c
	}
	return Cause{}
}

// Causes returns all causes in the order of their rank. The reason that [Explanation.Job]
// returns is among them.
func (e Explanation) Causes() []Cause {
	if e.about.Outcome == nil {
		return nil
	}
	var all []Cause
	f := newFacts(e)
	f.symptoms = f.examine()
	least := AttentionNone
	if code := e.Prospect().Code; code == ProspectFailure || code == ProspectOutOfReach {
		least = AttentionLost
	}
	for _, r := range causes {
		if c := r.of(f); c.Text != "" {
			c.Attention = max(c.Attention, least)
			all = append(all, c)
		}
	}
	return all
}

// Unmanaged explains a Job that another controller manages, for which
// [jobfate.Decide] returns [jobfate.ErrNotManaged]. A nil Job has no cause.
func Unmanaged(job *batchv1.Job) Cause {
	var c Cause
	for i := 0; job != nil && c.Text == ""; i++ { // CauseManagedElsewhere applies at the latest
		c = causes[i].of(&facts{job: job})
	}
	return c
}

// The causes beside the codes of [Explanation.Job].
const (
	// CauseMultiKueue: MultiKueue runs the Job in another cluster.
	CauseMultiKueue Code = "MultiKueue"
	// CauseManagedElsewhere: another controller manages the Job.
	CauseManagedElsewhere Code = "ManagedElsewhere"
	// CauseRecreated: the pods belong to an earlier Job of the same name.
	CauseRecreated Code = "JobRecreated"
	// CausePodsMissing: the status counts active pods, but no pods were given.
	CausePodsMissing Code = "PodsMissing"
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
	// CauseCreationOverdue: pods should have been created.
	CauseCreationOverdue Code = "CreationOverdue"
)

// causes are in the order of their rank. Causes that make the rest meaningless come first,
// then causes that end or hold the Job, then causes that keep pods from being created or
// from running, then the reasons for the decision.
var causes = [...]row{
	{code: JobFinished, attention: AttentionLost, find: (*facts).finished,
		advice: "Read the condition and the last failure; a Job that has failed does not run again."},
	{code: CauseMultiKueue, find: (*facts).managedElsewhere,
		advice: "Look at the Job and its pods in the worker cluster that the Workload names."},
	{code: CauseManagedElsewhere, find: (*facts).managedElsewhere,
		advice: "Look at that controller; the built-in Job controller ignores this Job."},
	{code: JobStale, attention: AttentionWait},
	{code: CauseRecreated, attention: AttentionStuck, find: (*facts).recreated,
		advice: "Get the Job and its pods again, with one command. Delete the old pods if garbage collection does not."},
	{code: CausePodsMissing, attention: AttentionStuck, find: (*facts).podsMissing,
		advice: "Add the pods to the input: kubectl get pods -l job-name=NAME -o yaml. If there are none, the controller is not running."},
	{code: CauseTerminationOverdue, attention: AttentionStuck, find: termination(true),
		advice: "Look at the node: if it is gone, delete the pod with --force. If a finalizer remains, ask its owner to remove it."},
	{code: CauseDeadlineOverdue, attention: AttentionStuck, find: (*facts).deadlineOverdue,
		advice: "Check that the controller that manages the Job is running."},
	{code: CauseEndOverdue, attention: AttentionStuck, find: (*facts).endOverdue,
		advice: "Check that the controller that manages the Job is running, and that it may update the status and the pods."},
	{code: JobEnding},
	{code: JobDeleting, attention: AttentionHeld},
	{code: CauseQueuedByKueue, attention: AttentionHeld, find: (*facts).queuedByKueue,
		advice: "Read the conditions of the Job's Workload and the quota of its ClusterQueue. If you resume the Job by hand, Kueue suspends it again."},
	{code: JobSuspended, attention: AttentionHeld,
		advice: "Set spec.suspend to false to resume the Job."},
	{code: CauseQuota, attention: AttentionStuck, find: (*facts).refused,
		advice: "Raise the quota, lower the requests or the parallelism, or wait until other pods of the namespace end."},
	{code: CauseWebhook, attention: AttentionStuck, find: (*facts).refused,
		advice: "Fix the pod template or the admission webhook."},
	{code: CauseCreationRefused, attention: AttentionStuck, find: (*facts).refused,
		advice: "Fix what the API server names: often a ServiceAccount, a PriorityClass or a field of the pod template."},
	{code: CauseNodeLost, attention: AttentionStuck, pod: (*facts).nodeLost, cannot: "cannot be reached",
		advice: "Look at the node; if it is gone, delete the Node object, so that its pods are replaced."},
	{code: CauseSchedulingGated, attention: AttentionStuck, pod: (*facts).schedulingGated, cannot: "must wait for a scheduling gate",
		advice: "Look at the controller that set the gate; it removes the gate when the pod may be scheduled."},
	{code: CauseUnschedulable, attention: AttentionStuck, pod: (*facts).unschedulable, cannot: "cannot be scheduled",
		advice: "Add nodes, lower the requests, or fix the affinity, the tolerations or the volumes that the message names."},
	{code: CauseNoScheduler, attention: AttentionStuck, pod: (*facts).noScheduler, cannot: "got no response from a scheduler",
		advice: "Check spec.template.spec.schedulerName, and that this scheduler is running."},
	{code: CauseImagePull, attention: AttentionStuck, pod: waits(CauseImagePull), cannot: "cannot pull an image",
		advice: "Check the name and the tag of the image, imagePullSecrets, and that the node reaches the registry. The pod template is immutable: delete the Job and create it again."},
	{code: CauseContainerConfig, attention: AttentionStuck, pod: waits(CauseContainerConfig), cannot: "cannot create a container",
		advice: "Create the Secret, the ConfigMap or the key that the message names; the kubelet tries again."},
	{code: CauseCrashLoop, attention: AttentionStuck, pod: waits(CauseCrashLoop), cannot: "cannot keep a container running",
		advice: "Read the log of the last run: kubectl logs POD --previous."},
	{code: CauseContainerStart, attention: AttentionStuck, pod: waits(CauseContainerStart), cannot: "cannot start a container",
		advice: "Check the command, the security context and the mounts of the container that the message names."},
	{code: CausePodStartFailing, attention: AttentionStuck, pod: (*facts).startFailing, cannot: "cannot start",
		advice: "Create the Secret, the ConfigMap or the volume that the event names, or look at the network plugin of the node."},
	{code: CausePodStartOverdue, attention: AttentionStuck, pod: (*facts).startOverdue, cannot: "should have started",
		advice: "Read the events: kubectl describe pod POD. A large image, a volume or the network of the node may be the cause."},
	{code: CauseSidecarRunning, attention: AttentionStuck, pod: (*facts).sidecarRunning, cannot: "cannot finish",
		advice: "Make the sidecar end on SIGTERM, and look at the kubelet of the node."},
	{code: CauseContainerRunning, attention: AttentionWait, pod: (*facts).containerRunning, cannot: "cannot finish",
		advice: "If that container only serves the others, make it a sidecar: an init container with restartPolicy Always, which the kubelet stops when they have finished."},
	{code: CauseCreationOverdue, attention: AttentionStuck, find: (*facts).creationOverdue,
		advice: "Look for FailedCreate events (kubectl describe job NAME), an exhausted quota, an admission webhook, or a controller that is not running."},
	{code: CauseTerminationOverdue, attention: AttentionStuck, find: termination(false),
		advice: "Look at the node: if it is gone, delete the pod with --force. If a finalizer remains, ask its owner to remove it."},
	{code: JobInFlight, attention: AttentionWait},
	{code: JobRemoving},
	{code: JobCreating},
	{code: JobBackingOff, attention: AttentionWait,
		advice: "Read why the last pod failed; the delay ends by itself."},
	{code: JobAwaitingTermination, attention: AttentionWait},
	{code: JobNoParallelism, attention: AttentionHeld,
		advice: "Set spec.parallelism above 0."},
	{code: JobRunning},
}

// row is a cause to look for: with find, with pod or, if it has neither, in the reason for
// the decision.
type row struct {
	code      Code
	attention Attention
	// advice is what to do.
	advice string
	// find looks for a cause that concerns the whole Job. It gets the cause without a text,
	// and adds the text if the Job has the cause.
	find func(*facts, *Cause)
	// pod looks for a cause that concerns single pods. It returns the message of an active
	// pod that has the cause, and "" for others. cannot completes the sentence
	// "3 of 5 active pods …".
	pod    func(*facts, *corev1.Pod) (message string)
	cannot string
}

// of returns the cause of the row; without a text if the Job does not have it.
func (r row) of(f *facts) Cause {
	c := Cause{Reason: Reason{Code: r.code}, Advice: r.advice, Attention: r.attention}
	switch {
	case r.find != nil:
		r.find(f, &c)
	case r.pod != nil:
		f.stuck(r, &c)
	case r.code == f.reason.Code:
		c.Reason = f.reason
	}
	return c
}
