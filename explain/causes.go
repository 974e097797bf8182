package explain

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
	{code: JobFinished, attention: AttentionLost, find: (*facts).failed,
		advice: "Read the condition and the last failure; a Job that has failed does not run again."},
	{code: JobFinished, find: (*facts).finished},
	{code: CauseMultiKueue, find: (*facts).multiKueue,
		advice: "Look at the Job and its pods in the worker cluster that the Workload names."},
	{code: CauseManagedElsewhere, find: (*facts).managedElsewhere,
		advice: "Look at that controller; the built-in Job controller ignores this Job."},
	{code: JobStale, attention: AttentionWait, find: decided(JobStale)},
	{code: CauseRecreated, attention: AttentionStuck, find: (*facts).recreated,
		advice: "Get the Job and its pods again, with one command. Delete the old pods if garbage collection does not."},
	{code: CausePodsMissing, attention: AttentionStuck, find: (*facts).podsMissing,
		advice: "Add the pods to the input: kubectl get pods -l job-name=NAME -o yaml. If there are none, the controller is not running."},
	{code: CauseTerminationOverdue, attention: AttentionStuck, find: (*facts).terminationBlocks,
		advice: "Look at the node: if it is gone, delete the pod with --force. If a finalizer remains, ask its owner to remove it."},
	{code: CauseDeadlineOverdue, attention: AttentionStuck, find: (*facts).deadlineOverdue,
		advice: "Check that the controller that manages the Job is running."},
	{code: CauseEndOverdue, attention: AttentionStuck, find: (*facts).endOverdue,
		advice: "Check that the controller that manages the Job is running, and that it may update the status and the pods."},
	{code: JobEnding, find: decided(JobEnding)},
	{code: JobDeleting, attention: AttentionHeld, find: decided(JobDeleting)},
	{code: CauseQueuedByKueue, attention: AttentionHeld, find: (*facts).queuedByKueue,
		advice: "Read the conditions of the Job's Workload and the quota of its ClusterQueue. If you resume the Job by hand, Kueue suspends it again."},
	{code: JobSuspended, attention: AttentionHeld, find: decided(JobSuspended),
		advice: "Set spec.suspend to false to resume the Job."},
	{code: CauseQuota, attention: AttentionStuck, find: refused(CauseQuota),
		advice: "Raise the quota, lower the requests or the parallelism, or wait until other pods of the namespace end."},
	{code: CauseWebhook, attention: AttentionStuck, find: refused(CauseWebhook),
		advice: "Fix the pod template or the admission webhook."},
	{code: CauseCreationRefused, attention: AttentionStuck, find: refused(CauseCreationRefused),
		advice: "Fix what the API server names: often a ServiceAccount, a PriorityClass or a field of the pod template."},
	{code: CauseNodeLost, attention: AttentionStuck, pod: (*facts).nodeLost, cannot: "cannot be reached",
		advice: "Look at the node; if it is gone, delete the Node object, so that its pods are replaced."},
	{code: CauseSchedulingGated, attention: AttentionStuck, pod: (*facts).schedulingGated, cannot: "must wait for a scheduling gate",
		advice: "Look at the controller that set the gate; it removes the gate when the pod may be scheduled."},
	{code: CauseUnschedulable, attention: AttentionStuck, pod: (*facts).unschedulable, cannot: "cannot be scheduled",
		advice: "Add nodes, lower the requests, or fix the affinity, the tolerations or the volumes that the message names."},
	{code: CauseNoScheduler, attention: AttentionStuck, pod: (*facts).noScheduler, cannot: "got no response from a scheduler",
		advice: "Check spec.template.spec.schedulerName, and that this scheduler is running."},
	{code: CauseImagePull, attention: AttentionStuck, pod: waitsFor(imagePull...), cannot: "cannot pull an image",
		advice: "Check the name and the tag of the image, imagePullSecrets, and that the node reaches the registry. The pod template is immutable: delete the Job and create it again."},
	{code: CauseContainerConfig, attention: AttentionStuck, pod: waitsFor(containerConfig...), cannot: "cannot create a container",
		advice: "Create the Secret, the ConfigMap or the key that the message names; the kubelet tries again."},
	{code: CauseCrashLoop, attention: AttentionStuck, pod: (*facts).crashLoop, cannot: "cannot keep a container running",
		advice: "Read the log of the last run: kubectl logs POD --previous."},
	{code: CauseContainerStart, attention: AttentionStuck, pod: waitsFor(), cannot: "cannot start a container",
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
	{code: CauseTerminationOverdue, attention: AttentionStuck, find: (*facts).terminationLingers,
		advice: "Look at the node: if it is gone, delete the pod with --force. If a finalizer remains, ask its owner to remove it."},
	{code: JobInFlight, attention: AttentionWait, find: decided(JobInFlight)},
	{code: JobRemoving, find: decided(JobRemoving)},
	{code: JobCreating, find: decided(JobCreating)},
	{code: JobBackingOff, attention: AttentionWait, find: decided(JobBackingOff),
		advice: "Read why the last pod failed; the delay ends by itself."},
	{code: JobAwaitingTermination, attention: AttentionWait, find: decided(JobAwaitingTermination)},
	{code: JobNoParallelism, attention: AttentionHeld, find: decided(JobNoParallelism),
		advice: "Set spec.parallelism above 0."},
	{code: JobRunning, find: decided(JobRunning)},
}

// decided finds the cause if it is the reason for the decision.
func decided(code Code) func(*facts) finding {
	return func(f *facts) finding {
		if f.reason.Code != code {
			return finding{}
		}
		return finding{text: f.reason.Text, until: f.reason.Until}
	}
}
