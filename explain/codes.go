package explain

// The causes in addition to the codes of [Explanation.Job].
const (
	// CauseFailed: the Job has failed.
	CauseFailed Code = "Failed"
	// CauseMultiKueue: MultiKueue runs the Job in another cluster.
	CauseMultiKueue Code = "MultiKueue"
	// CauseManagedElsewhere: another controller manages the Job.
	CauseManagedElsewhere Code = "ManagedElsewhere"
	// CauseManagerSilent: another controller manages the Job and has written nothing.
	CauseManagerSilent Code = "ManagerSilent"
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
	// CauseTTLOverdue: the Job has ended and should have been deleted.
	CauseTTLOverdue Code = "TTLOverdue"
	// CauseNamespaceTerminating: the namespace is being deleted.
	CauseNamespaceTerminating Code = "NamespaceTerminating"
	// CauseInadmissible: Kueue can never admit the Job.
	CauseInadmissible Code = "WorkloadInadmissible"
	// CauseDeactivated: Kueue's Workload of the Job is not active.
	CauseDeactivated Code = "WorkloadDeactivated"
	// CauseQueueStopped: Kueue's queue is stopped, or does not exist.
	CauseQueueStopped Code = "QueueStopped"
	// CauseAdmissionCheck: an admission check of Kueue is not ready.
	CauseAdmissionCheck Code = "AdmissionCheck"
	// CauseEvicted: Kueue has evicted the Job.
	CauseEvicted Code = "EvictedByKueue"
	// CauseQueuedByKueue: Kueue keeps the Job suspended.
	CauseQueuedByKueue Code = "QueuedByKueue"
	// CauseOwnerDeletes: the owner of the Job deletes it.
	CauseOwnerDeletes Code = "DeletedByOwner"
	// CauseOwnerSuspended: the owner of the Job keeps it suspended.
	CauseOwnerSuspended Code = "SuspendedByOwner"
	// CauseQuota: a quota rejects new pods.
	CauseQuota Code = "QuotaExceeded"
	// CauseQuotaUnset: a quota rejects pods that do not say what they need.
	CauseQuotaUnset Code = "QuotaNeedsRequests"
	// CauseLimitRange: a LimitRange rejects new pods.
	CauseLimitRange Code = "LimitRange"
	// CausePodSecurity: the namespace's Pod Security level rejects new pods.
	CausePodSecurity Code = "PodSecurity"
	// CauseWebhookDown: an admission webhook does not answer.
	CauseWebhookDown Code = "WebhookUnavailable"
	// CauseWebhook: an admission webhook rejects new pods.
	CauseWebhook Code = "WebhookRefused"
	// CausePolicy: a ValidatingAdmissionPolicy rejects new pods.
	CausePolicy Code = "PolicyRefused"
	// CauseServiceAccount: the service account of the pods does not exist.
	CauseServiceAccount Code = "ServiceAccountMissing"
	// CausePriorityClass: the priority class of the pods does not exist.
	CausePriorityClass Code = "PriorityClassMissing"
	// CauseRuntimeClass: the runtime class of the pods does not exist.
	CauseRuntimeClass Code = "RuntimeClassMissing"
	// CauseNotPermitted: the controller may not create pods.
	CauseNotPermitted Code = "NotPermitted"
	// CausePodInvalid: the API server rejects the pod template.
	CausePodInvalid Code = "PodInvalid"
	// CauseServerFailing: the API server could not create pods.
	CauseServerFailing Code = "APIServerFailing"
	// CauseCreationRefused: the API server rejects new pods.
	CauseCreationRefused Code = "CreationRefused"
	// CauseNodeLost: the node of active pods is not ready.
	CauseNodeLost Code = "NodeLost"
	// CauseNodeMissing: the node of active pods is not among those of the cluster.
	CauseNodeMissing Code = "NodeMissing"
	// CauseSchedulingGated: pods have scheduling gates.
	CauseSchedulingGated Code = "SchedulingGated"
	// CauseClaim: a ResourceClaim of the pods is missing.
	CauseClaim Code = "ResourceClaimMissing"
	// CauseGang: pods wait for the other pods of their group.
	CauseGang Code = "GangIncomplete"
	// CauseVolumeUnbound: a PersistentVolumeClaim of the pods is missing or not bound.
	CauseVolumeUnbound Code = "VolumeUnbound"
	// CauseScaleUpRefused: no node can take the pods, and the autoscaler adds none.
	CauseScaleUpRefused Code = "ScaleUpRefused"
	// CauseUnschedulable: no node can take the pods.
	CauseUnschedulable Code = "Unschedulable"
	// CauseNotScheduledYet: no node has taken the pods for a short time, or a node is being added.
	CauseNotScheduledYet Code = "NotScheduledYet"
	// CauseNoScheduler: no scheduler has handled the pods.
	CauseNoScheduler Code = "NoScheduler"
	// CauseImagePull: an image cannot be pulled.
	CauseImagePull Code = "ImagePullFailed"
	// CauseContainerConfig: a container cannot be created.
	CauseContainerConfig Code = "ContainerConfig"
	// CauseRestartRule: a restart rule restarts a container forever.
	CauseRestartRule Code = "RestartRuleLoop"
	// CauseProbe: a startup or liveness probe fails.
	CauseProbe Code = "ProbeFailing"
	// CauseCrashLoop: a container is restarted again and again.
	CauseCrashLoop Code = "CrashLoop"
	// CauseContainerStart: a container cannot be started.
	CauseContainerStart Code = "ContainerStart"
	// CauseVolumeInUse: a volume is attached to another node.
	CauseVolumeInUse Code = "VolumeInUse"
	// CausePodStartFailing: a warning says why the pods cannot start.
	CausePodStartFailing Code = "PodStartFailing"
	// CausePodStartOverdue: pods should have started.
	CausePodStartOverdue Code = "PodStartOverdue"
	// CauseSidecarRunning: a sidecar did not stop.
	CauseSidecarRunning Code = "SidecarRunning"
	// CauseContainerRunning: a container runs long after others have finished.
	CauseContainerRunning Code = "ContainerRunning"
	// CauseUnexplained: pods do not run, and no other cause explains why.
	CauseUnexplained Code = "Unexplained"
	// CauseBackoffUnknown: the status counts failures, but no pod shows when they happened.
	CauseBackoffUnknown Code = "BackoffUnknown"
	// CauseCreationOverdue: pods should have been created.
	CauseCreationOverdue Code = "CreationOverdue"
	// CauseInitializing: an init container has been running for long.
	CauseInitializing Code = "Initializing"
	// CauseImagePulling: pulling an image takes long.
	CauseImagePulling Code = "ImagePulling"
	// CauseRestarting: a container was restarted recently.
	CauseRestarting Code = "Restarting"
	// CauseFailuresIgnored: pods fail again and again, and a rule ignores it.
	CauseFailuresIgnored Code = "FailuresIgnored"
	// CauseResize: a resize of the pods is not done.
	CauseResize Code = "ResizePending"
	// CausePodsStarting: pods have yet to run.
	CausePodsStarting Code = "PodsStarting"
)
