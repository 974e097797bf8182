package diagnose

import (
	"slices"

	"github.com/jobfate/jobfate/explain"
)

// Advice that several rows give.
const (
	recreateAdvice   = "delete the Job and create it again"
	rerunAdvice      = "A Job that has failed does not run again: once its cause is mended, " + recreateAdvice + "."
	multiKueueAdvice = "Read the Workload: it shows whether the Job is admitted, and names the worker cluster that " +
		"then has the Job and its pods."
	elsewhereAdvice   = "Look at that controller; the built-in Job controller ignores this Job."
	terminationAdvice = "Look at node NODE: if its machine is surely off, or gone, delete the Node object, so that " +
		"the pod ends. If a finalizer remains, ask its owner to remove it."
	templateAdvice = " The pod template is immutable: RECREATE."
	idleAdvice     = "Ask whether OBJECT may end, or see why its pods do not start, or end: what they take is free " +
		"once they are gone."
	uncordonAdvice    = "uncordon nodes that need not be cordoned,"
	volumeShareAdvice = "Only if both pods may use the volume at once: let the Job's pod run on that node, too " +
		"(podAffinity, and no nodeSelector for another one)." + templateAdvice + " Else scale the other down until " +
		"the Job has ended, if it may be down: its controller replaces a pod that is only deleted."
	describeAdvice = "Read the events: kubectl describe pod -n NAMESPACE POD."
)

// causes is the table of causes, in the order of their rank. Causes that make the rest meaningless
// come first, then causes that end or hold the Job, then causes that keep pods from being created or
// from running, then the reasons for the decision. If several rows apply to a pod, the first counts.
var causes = slices.Concat(each(row{code: "DeletionOverdue", attention: AttentionStuck}, []row{
	{means: "the Job was deleted in the foreground two minutes ago or more, and finalizers of its pods keep it",
		advice: "Ask the owner of the pods' finalizer to remove it.", job: deletionOverdue(true, true)},
	{means: "the Job was deleted in the foreground two minutes ago or more, and the garbage collector keeps it",
		advice: "It waits for what the Job owns: kubectl get pods -n NAMESPACE -l job-name=JOB. If nothing is left, " +
			"look at the garbage collector (kube-controller-manager).", job: deletionOverdue(true, false)},
	{means: "the Job was deleted two minutes ago or more, and finalizers keep it",
		advice: "Ask the owner of the finalizer to remove it.", job: deletionOverdue(false, false)},
}), failedRows(), []row{
	{code: "TTLOverdue", attention: AttentionWait, group: groupEnd,
		means:  "the Job has ended, and spec.ttlSecondsAfterFinished passed two minutes ago or more",
		advice: "Check that the controller for finished Jobs is running, and may delete Jobs.",
		job:    says((*facts).ttlOverdue)},
	{code: "TerminationOverdue", attention: AttentionStuck,
		means:  "the Job has ended, and pods that should be gone still have the tracking finalizer",
		advice: "Check that the controller that manages the Job is running, and may patch pods.", job: finalizersLeft},
	{code: explain.JobFinished, group: groupEnd,
		means: "the Job has succeeded, after pods that did not fail by themselves, or are gone",
		advice: "Its work has begun more than once: if that does harm, see what was done before. To keep it from " +
			"beginning again: spec.backoffLimit 0, or a rule that fails the Job on condition DisruptionTarget.",
		job: succeededAgain},
	{code: explain.JobFinished, group: groupEnd, means: "the Job has succeeded", job: succeeded},
	{code: "MultiKueue", attention: AttentionHeld,
		means:  "MultiKueue runs the Job in another cluster; nothing is decided here",
		advice: multiKueueAdvice},
	{code: "ManagerSilent", attention: AttentionStuck,
		means: "spec.managedBy names another controller, which has written no status in ten minutes",
		advice: "Check that this controller is installed and running: if it is not, create the Job again without " +
			"spec.managedBy.", job: says((*facts).managerSilent)},
	{code: "ManagedElsewhere",
		means: "spec.managedBy names another controller; the rest is what it would do if it decided like the Job " +
			"controller",
		advice: elsewhereAdvice},
	{code: explain.JobStale, attention: AttentionWait,
		means: "the last status write is not observed yet (for callers of the library)",
		job:   decided(explain.JobStale)},
	{code: "JobRecreated", attention: AttentionStuck,
		means: "the Job is two minutes old or more, and all pods given are controlled by a Job of the same name with " +
			"another UID",
		advice: "Get the Job and its pods again, with one command. Delete the old pods if garbage collection does not.",
		job:    (*facts).recreated},
	{code: "PodsMissing", attention: AttentionStuck, group: groupCreation,
		means: "the status counts active or terminating pods, and none of them was given",
		advice: "Get its pods, too: kubectl get pods -n NAMESPACE -l job-name=JOB -o yaml. If there are none, the " +
			"controller is not running.", job: podsMissing(true)},
	{code: "TerminationOverdue", attention: AttentionStuck,
		means:  "pods have not terminated two minutes or more after their grace period",
		advice: terminationAdvice, job: overdueTermination(false)},
	{code: "DeadlineOverdue", attention: AttentionStuck,
		means:  "activeDeadlineSeconds passed two minutes ago or more, and the Job was not failed",
		advice: "Check that the controller that manages the Job is running.", job: says((*facts).deadlineOverdue)},
	{code: "EndOverdue", attention: AttentionStuck,
		means: "the Job should have succeeded or failed two minutes ago or more",
		advice: "Check that the controller that manages the Job is running, and that it may update the status and " +
			"the pods.", job: says((*facts).endOverdue)},
	{code: explain.JobEnding, attention: AttentionLost,
		means:  "it is decided that the Job fails; pods must still terminate or be counted",
		advice: "HOW RERUN", job: ending},
	{code: explain.JobEnding, means: "it is decided that the Job succeeds; pods must still terminate or be counted",
		job: succeeding},
	{code: explain.JobDeleting, attention: AttentionHeld, means: "the Job is being deleted",
		job: decided(explain.JobDeleting)},
	{code: "DeletedByOwner", attention: AttentionHeld,
		means:  "the JobSet of the Job deletes it, because the set has ended, or has restarted",
		advice: "Look at OBJECT. If the Job stays, check that its controller is running.", job: deletedByOwner},
	{code: "NamespaceTerminating", attention: AttentionStuck,
		means: "the namespace of the Job is being deleted, so no pod can be created",
		advice: "Create the Job in another namespace. If the namespace should be gone, see what keeps it: kubectl " +
			"get namespace NAMESPACE -o yaml.", job: says((*facts).namespaceTerminating)},
}, each(row{attention: AttentionHeld, group: groupSuspended}, []row{
	{code: "WorkloadDeactivated", means: "spec.active of Kueue's Workload is false",
		advice: "Set spec.active of the Workload to true once the reason is gone.", job: held(workloadOff)},
	{code: "WorkloadInadmissible", attention: AttentionStuck,
		means: "Kueue's Workload needs more than its ClusterQueue can ever have",
		advice: "Waiting does not help: raise the quota of the ClusterQueue, or let a new Job ask for less (with the " +
			"parallelism go the completions and what else depends on them).",
		job: held(workloadNever)},
	{code: "QueueStopped", means: "the LocalQueue or ClusterQueue of Kueue's Workload is stopped or inactive",
		advice: "Start the queue that the message names, or give the Job another one. The condition Active of a " +
			"queue says why it is inactive.", job: held(workloadStopped)},
	{code: "QueueMissing", attention: AttentionStuck,
		means: "the LocalQueue or ClusterQueue of Kueue's Workload does not exist",
		advice: "Give the Job the name of a queue that exists (label kueue.x-k8s.io/queue-name), or create the queue " +
			"that the message names.", job: held(workloadMissing)},
	{code: "AdmissionCheck", means: "Kueue has reserved quota, and an admission check is not ready",
		advice: "Look at the controller of the admission check; Kueue resumes the Job when all checks are Ready.",
		job:    held(workloadCheck)},
	{code: "EvictedByKueue", means: "Kueue has evicted the Job, because its pods were not ready in time",
		advice: "See why the pods were not ready: kubectl get events -n NAMESPACE. Kueue admits the Job again; if it " +
			"is resumed by hand, Kueue suspends it again.", job: heldUnready},
	{code: "EvictedByKueue", means: "Kueue has evicted or preempted the Job, and admits it again when there is quota",
		advice: "Wait, or raise its priority or the quota. If you resume the Job by hand, Kueue suspends it again.",
		job:    held(workloadEvicted)},
	{code: "QueuedByKueue", attention: AttentionStuck,
		means: "Kueue has not looked at the Job's Workload, because one before it in the queue can never be admitted",
		advice: "Let that Workload ask for less, or set its spec.active to false; Kueue then goes on. Or let the " +
			"ClusterQueue have queueingStrategy BestEffortFIFO.", job: held(workloadBehind)},
	{code: "QueuedByKueue", attention: AttentionStuck,
		means: "Kueue admitted the Job's Workload two minutes ago or more, and has not resumed the Job",
		advice: "Look at Kueue's controller, and at the events of the Job: kubectl describe job -n NAMESPACE JOB. " +
			"The API server may reject its change of the Job.", job: held(workloadLate)},
	{code: "QueuedByKueue",
		means:  "Kueue has suspended the Job until it is admitted, and a Workload whose pods do no work has quota",
		advice: idleAdvice, job: queuedBehind},
	{code: "QueuedByKueue", means: "Kueue has suspended the Job until it is admitted, and lacks quota",
		advice: "Wait until what has the quota ends, give the Job a higher priority (if its ClusterQueue preempts: " +
			"it then ends others), or raise the quota. If you resume the Job by hand, Kueue suspends it again.",
		job: queuedForQuota},
	{code: "QueuedByKueue", means: "Kueue has suspended the Job until it is admitted",
		advice: "Read the conditions of the Job's Workload and the quota of its ClusterQueue. If you resume the Job " +
			"by hand, Kueue suspends it again.", job: says((*facts).queued)},
	{code: "SuspendedByOwner", means: "the owner of the Job keeps it suspended",
		advice: "Set spec.suspend of OBJECT to false, or wait until its controller does. If you resume only the Job, " +
			"that controller suspends it again.", job: ownerSuspended(true)},
	{code: "SuspendedByOwner",
		means:  "the owner of the Job is not suspended itself, or is not given, and has not resumed the Job",
		advice: "See what OBJECT waits for, and whether its controller is running.", job: ownerSuspended(false)},
	{code: explain.JobSuspended, means: "spec.suspend is true, and a label is almost that of Kueue",
		advice: "Give the Job the label that the message names: Kueue then queues it.", job: unqueued},
	{code: explain.JobSuspended, means: "spec.suspend is true, and an annotation seems to say why",
		advice: "Resume the Job once that is over: kubectl patch job -n NAMESPACE JOB --type=merge -p " +
			"'{\"spec\":{\"suspend\":false}}'.", job: heldBack},
	{code: explain.JobSuspended, means: "spec.suspend is true",
		advice: "If it should run now: kubectl patch job -n NAMESPACE JOB --type=merge -p " +
			"'{\"spec\":{\"suspend\":false}}'.", job: suspendedSince},
}), each(row{attention: AttentionStuck, group: groupCreation}, quotaRows, []row{
	{code: "NamespaceTerminating", means: "the API server rejects new pods, because the namespace is being deleted",
		advice: "Create the Job in another namespace; nothing can be created in this one.",
		job:    refused("because it is being terminated")},
	{code: "PodSecurity", means: "the Pod Security level of the namespace rejects new pods",
		advice: "Set each securityContext field that the message names in the pod template." + templateAdvice,
		job:    refused("violates PodSecurity")},
	{code: "SecurityContextConstraints", means: "OpenShift finds no SecurityContextConstraints that admit the pods",
		advice: "Change the fields of the pod template that the message names, or have an administrator grant a " +
			"constraint that allows them to a service account that only such pods use (serviceAccountName): oc adm " +
			"policy add-scc-to-user." + templateAdvice,
		job: refused("security context constraint", "SecurityContextConstraints")},
	{code: "ServiceAccountMissing", means: "the service account of the pods does not exist",
		advice: "Create the ServiceAccount that the message names; the controller tries again. If it has another " +
			"name by now, change serviceAccountName." + templateAdvice,
		job: refused("error looking up service account")},
	{code: "PriorityClassMissing", means: "the priority class of the pods does not exist",
		advice: "Create the PriorityClass that the message names; the controller tries again.",
		job:    refused("no PriorityClass with name")},
	{code: "RuntimeClassMissing", means: "the runtime class of the pods does not exist",
		advice: "Create the RuntimeClass that the message names; the controller tries again.",
		job:    refused("pod rejected: RuntimeClass")},
	{code: "LimitRange", means: "a LimitRange rejects new pods",
		advice: "Change the requests and limits of the pod template, or the LimitRange of the namespace." +
			templateAdvice, job: refused(" usage per Container is", " usage per Pod is", "limit to request ratio per")},
	{code: "WebhookUnavailable", means: "the service of an admission webhook does not exist",
		advice: "Install what serves the webhook again or, if it is gone for good, delete the webhook's " +
			"configuration; the pod template is not at fault.", job: webhookGone},
	{code: "WebhookUnavailable", means: "the API server does not trust the certificate of an admission webhook",
		advice: "Renew the certificate of the webhook's service, or caBundle in the webhook's configuration, so that " +
			"they match: whatever installs the webhook does both. The pod template is not at fault.",
		job: refused("x509: ")},
	{code: "WebhookUnavailable", means: "an admission webhook does not answer",
		advice: "Look at the pods behind the webhook's service; the pod template is not at fault. Once they answer, " +
			"the controller creates the pods by itself.",
		job: refused("failed calling webhook", "failed to call webhook")},
	{code: "WebhookRefused", means: "an event says that an admission webhook rejects new pods",
		advice: "Fix what the webhook names in the pod template, or the webhook." + templateAdvice,
		job:    refused("admission webhook", "calling webhook")},
	{code: "PolicyRefused", means: "a ValidatingAdmissionPolicy rejects new pods",
		advice: "Fix what the policy names in the pod template, or its binding." + templateAdvice,
		job:    refused("ValidatingAdmissionPolicy")},
	{code: "NotPermitted", means: "the controller may not create pods",
		advice: "Give the controller that the message names a role that lets it create pods.",
		job:    refused(" cannot create resource ")},
	{code: "PodInvalid", means: "the API server rejects a field of the pod template",
		advice: "Fix the field that the message names." + templateAdvice, job: refused(" is invalid: ")},
	{code: "APIServerFailing", attention: AttentionWait,
		means:  "the API server could not create pods, for reasons of its own",
		advice: "Nothing in the Job is at fault: look at the API server and etcd; the controller tries again.",
		job: refused("etcdserver: ", "status unknown for quota", "request timed out", "did not complete within",
			"context deadline exceeded", "in the time allotted", "Internal error occurred", "connection refused",
			"Too many requests", "too many requests", "the server is currently unable", "server rejected our request")},
	{code: "CreationRefused", means: "an event says that the API server rejects new pods",
		advice: "Fix what the API server names.", job: refused()},
}), each(row{attention: AttentionStuck}, []row{
	{code: "NodeLost", cannot: "may not run well",
		means: "the kubelet has said for two minutes that its node is not ready, and why",
		advice: "Repair what the kubelet of node NODE names. It answers, so the containers may still run: leave the " +
			"Node object in place.", pod: nodeUnwell},
	{code: "NodeLost", cannot: "cannot be reached",
		means: "the Node, an event or active pods say that their node has not been ready for two minutes, or the " +
			"phase of the pods is Unknown",
		advice: "Look at node NODE; if its machine is surely off, or gone, delete the Node object, so that its pods " +
			"are replaced.",
		pod: nodeLost},
	{code: "NodeMissing", cannot: "may be on a node that is gone",
		means: "the node of active pods is not among those of the cluster (found only if all nodes were read)",
		advice: "The pods are deleted within minutes and replaced. Delete a pod that stays, once its machine is off: " +
			"kubectl delete pod -n NAMESPACE POD --force.", pod: nodeMissing},
	{code: "SchedulingGated", cannot: "must wait for a scheduling gate", means: "pods have scheduling gates",
		advice: "Look at the controller that set the gate; it removes the gate when the pod may be scheduled.",
		pod:    gated},
	{code: "ResourceClaimMissing", cannot: "cannot be scheduled without a ResourceClaim",
		means:  "a ResourceClaim of the pods, or its template, does not exist",
		advice: "Create the ResourceClaim or ResourceClaimTemplate that the message names.", pod: claimMissing},
	{code: "GangIncomplete", cannot: "must wait for the rest of the pod group",
		means: "pods wait until their PodGroup has enough pods, or capacity for all of them",
		advice: "Let the PodGroup need no more pods than the Job runs at once (spec.parallelism), and see whether " +
			"all of them fit.", pod: gangIncomplete},
}, each(row{code: "VolumeUnbound", cannot: "cannot be scheduled without a volume"}, []row{
	{means: "the PersistentVolume of a PersistentVolumeClaim of the pods is gone",
		advice: "Restore the PersistentVolume, or delete the claim and create it again: its data is lost then.",
		pod:    volumeLost},
	{means: "a PersistentVolumeClaim of the pods does not exist",
		advice: "Correct the name of the claim in the pod template, or bring the claim back with its data: a new one " +
			"is empty." + templateAdvice, pod: claimNotFound},
	{means: "the storage class of a PersistentVolumeClaim of the pods does not exist",
		advice: "Create the StorageClass that the message names, or the claim anew with another one: the class of a " +
			"claim cannot change.", pod: classMissing},
	{means: "a PersistentVolumeClaim of the pods is not there yet, or is not bound",
		advice: "Fix what the events of the claim name, such as its size or a quota: kubectl describe pvc -n " +
			"NAMESPACE.", pod: volumeUnbound},
}), each(row{code: "Unschedulable", cannot: "cannot be scheduled"}, []row{
	{means: "no node given has the labels of the node selector",
		advice: "Label nodes as the nodeSelector of the pod template says, or change it." + templateAdvice,
		pod:    noNodeSelected},
	{means: "each node given that the pod is meant for, by its node selector or a toleration, has a taint",
		advice: "Add a toleration for this taint, with its value or the operator Exists, to the pod template." +
			templateAdvice, pod: nodesTainted},
	{means: "the other nodes are in another place than a volume of the pods, and nodes are cordoned",
		advice: "See who has cordoned the node, and whether it may have pods again (kubectl uncordon). Else add a " +
			"node where the volume is.",
		pod: cordoned},
	{means: "a volume of the pods can only be on nodes of another place, by its PersistentVolume",
		advice: "Add a node where the volume is, or let the nodeSelector match one there. Or copy the data to a new " +
			"volume elsewhere, and keep the old claim: with it the data may go." + templateAdvice,
		pod: volumeElsewhere},
	{means: "the only nodes given that offer a device which the pods request have a taint",
		advice: "If the pods may use these nodes, add a toleration for the taint to the pod template; else see why " +
			"the others offer none." + templateAdvice, pod: devicesTainted},
	{means: "the pods request more of a resource than any node of the cluster has",
		advice: "Lower the request, or add a node that is large enough: the pods would not fit on an empty node, " +
			"either." + templateAdvice, pod: tooLarge},
}), []row{
	{code: "VolumeInUse", cannot: "cannot have a volume of a pod that does not terminate",
		means: "a volume of the pods is on the node of a pod that should have terminated two minutes ago or more",
		advice: "Look at node NODE. If its machine is surely off, delete the Node object, or give it the taint " +
			"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute: the pod then ends, and the volume is free.",
		pod: volumeKept},
	{code: "VolumeInUse", cannot: "cannot have a volume that another pod of the Job has",
		means: "a volume of the pods can be on one node at a time, and another pod of the same Job has it there",
		advice: "Set spec.parallelism to 1, or give the pods a volume that several nodes can mount (ReadWriteMany), " +
			"or one each: a volume claim template (volumes[].ephemeral)." + templateAdvice, pod: volumeShared},
	{code: "ScaleUpRefused", cannot: "cannot be scheduled, and the cloud has no machine",
		means:  "an event says that the cloud has none of the machines that the autoscaler asks for",
		advice: "Wait: the autoscaler tries again. Pods that may use another zone or type of machine start sooner.",
		pod:    soldOut},
	{code: "ScaleUpRefused", cannot: "cannot be scheduled, and no node is added",
		means: "nodes run as many pods as they may, and an event says that the autoscaler adds none",
		advice: "Raise the maximum size of a node group that fits, or how many pods a node may run, or wait until " +
			"other pods end. Requests do not matter.", pod: noPodsLeft},
	{code: "ScaleUpRefused", cannot: "cannot be scheduled, and no node is added",
		means: "nodes lack a resource, and an event says that the autoscaler adds none",
		advice: "Raise the maximum size of a node group that fits, lower the requests, UNCORDON or wait until other " +
			"pods end.", pod: scaleUpRefused},
}, each(row{code: "Unschedulable", cannot: "cannot be scheduled"}, []row{
	{means: "the Job and another one each have some of a device, and wait for more",
		advice: "Let one of the two go first: suspend the other (spec.suspend), which ends its pods, and resume it " +
			"later. A queue such as Kueue, or a PodGroup, starts all pods of a Job or none.", pod: deadlocked},
	{means: "nodes that could take the pods lack a device, or another resource that a plugin offers",
		advice: "Add such nodes, UNCORDON or wait until other pods end. If a node should have it, look at its device " +
			"plugin.", pod: deviceMissing},
	{means: "nodes that could take the pods lack a resource",
		advice: "Add nodes, lower the requests, UNCORDON or wait until other pods end. A request above what any node " +
			"has never fits.", pod: lacking},
	{means: "nodes that could take the pods run as many pods as they may",
		advice: "Add nodes, or wait until other pods end.", pod: unschedulable("Too many pods")},
	{means: "nodes have a taint, and it says that they are not ready or short of something",
		advice: "Repair the nodes: the taint goes when they are well. A toleration would not help.", pod: nodesBroken},
	{means: "nodes have a taint",
		advice: "Add a toleration for the taint to the pod template, or add nodes without it." + templateAdvice,
		pod:    unschedulable("taint")},
	{means: "nodes do not match the node selector or affinity",
		advice: "Label nodes as the nodeSelector or nodeAffinity of the pod template says, or change it." +
			templateAdvice, pod: unschedulable("node affinity/selector", "requested node name")},
	{means: "nodes that could take the pods have pods of the same Job, which keep others away",
		advice: "They get a node when other pods of the Job end. For more at once, add nodes.", pod: ownAffinity},
	{means: "nodes violate a pod affinity, anti-affinity or spread constraint",
		advice: "Change the podAffinity or topologySpreadConstraints of the pod template, or add nodes." +
			templateAdvice, pod: unschedulable("affinity rules", "anti-affinity", "topology spread constraints")},
	{means: "another pod has a claim that one pod alone may use",
		advice: "Wait until that pod has ended, or give the pods claims of their own (ReadWriteOncePod).",
		pod:    claimTaken},
	{means: "a volume of the pods is a part of a node that is not ready",
		advice: "Bring node NODE back: the volume and its data are there. Only if the data may go, delete the claim, " +
			"and create it again.", pod: volumeDown},
	{means: "nodes cannot have a volume of the pods",
		advice: "See where the volume of each claim is (kubectl get pv -o yaml, nodeAffinity), how many volumes a " +
			"node may have, and the access mode: a node that can have the volume must be added, or let run this pod.",
		pod: withClaims("volume", "CSI driver", "PersistentVolume", "available disk", "free storage", "pv(s)",
			"ReadWriteOncePod")},
	{means: "nodes are cordoned",
		advice: "Uncordon a node: kubectl uncordon, or add nodes.", pod: unschedulable("were unschedulable")},
	{means: "nodes have a host port in use",
		advice: "Remove hostPort from the pod template (or hostNetwork, with which its ports are those of the node), " +
			"wait until the pod that has it ends, or add nodes." + templateAdvice, pod: portTaken},
	{means: "nodes lack a device that a ResourceClaim asks for",
		advice: "Add nodes with such devices, wait until other pods end, or change the requests of the ResourceClaim.",
		pod:    claimUnallocated},
	{means: "the scheduler has found no node for two minutes",
		advice: "Add nodes, lower the requests, or fix the affinity, the tolerations or the volumes that the message " +
			"names.", pod: unschedulable()},
}), []row{
	{code: "NoScheduler", cannot: "got no response from a scheduler",
		means: "no scheduler has looked at a pod two minutes after its creation",
		advice: "Check spec.template.spec.schedulerName, and that this scheduler is running. It says nothing about a " +
			"pod that waits for a ResourceClaim or for its PodGroup.", pod: noScheduler},
}, each(row{code: "ImagePullFailed", cannot: "cannot pull an image"}, []row{
	{means: "the registry refuses to give an image, and the kubelet could not read a Secret with credentials for it",
		advice: "Create the Secret that the message names in namespace NAMESPACE, with the credentials; the kubelet " +
			"tries again. Or correct its name in imagePullSecrets of the pod template or of its ServiceAccount." +
			templateAdvice, pod: secretless},
	{means: "the registry refuses to give an image without other credentials",
		advice: "The credentials may be missing, have expired, or lack the right to pull this image: check the " +
			"Secret in imagePullSecrets or, without one, what node NODE uses. The kubelet tries again, with new " +
			"ones. If the name of the image or of the Secret is wrong, change it." + templateAdvice,
		pod: refusedImage},
	{means: "the registry limits how often images are pulled",
		advice: "Wait, or use credentials or a mirror with a higher limit.",
		pod:    waiting(imageReasons, "toomanyrequests", "429 Too Many")},
	{means: "the registry answers with an error of its own",
		advice: "Nothing in the Job is at fault: look at the registry. The kubelet tries again.",
		pod: waiting(imageReasons, "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable",
			"504 Gateway Time")},
	{means: "a node has no space for the image",
		advice: "Free space on node NODE if something else fills its disk. Else use nodes with a larger disk.",
		pod:    waiting(imageReasons, "no space left on device")},
	{means: "pulling an image was interrupted",
		advice: "Wait: the kubelet tries again. If it repeats, look at the network and the disk of node NODE.",
		pod:    waiting(imageReasons, "context canceled", "unexpected EOF")},
	{means: "an image does not exist for the platform of the node",
		advice: "Build the image for this platform, too, and push it under the same name: the kubelet tries again. " +
			"Or select other nodes (nodeSelector kubernetes.io/arch)." + templateAdvice, pod: wrongPlatform},
	{means: "the host of an image does not exist, and images of the namespace are from one of almost that name",
		advice: "Check the name of the registry in the image." + templateAdvice, pod: registryUnknown},
	{means: "a node cannot reach the registry",
		advice: "If pods on other nodes say the same, look at the registry; else check the DNS, the proxy, the " +
			"firewall and the certificates of node NODE.",
		pod: waiting(imageReasons, "dial tcp", "no such host", "i/o timeout", "connection refused", "TLS handshake",
			"x509:", "deadline exceeded", "the registry is unavailable")},
	{means: "imagePullPolicy is Never, and the image is not on the node",
		advice: "Load the image on node NODE, or set imagePullPolicy to IfNotPresent." + templateAdvice,
		pod:    waiting([]string{"ErrImageNeverPull"})},
	{means: "the registry does not have an image",
		advice: "Push the image, and the pod goes on by itself, if it still should; or change its name or tag." +
			templateAdvice,
		pod: noSuchImage},
	{means: "the name of an image is not valid",
		advice: "Correct the name of the image: what makes the Job may not have replaced a variable." + templateAdvice,
		pod:    waiting([]string{"InvalidImageName"})},
	{means: "a container waits for its image (ImagePullBackOff and the like)",
		advice: "Check the name and the tag of the image, imagePullSecrets, and that the node reaches the registry." +
			templateAdvice, pod: waiting(imageReasons)},
}), each(row{code: "ContainerConfig", cannot: "cannot create a container"}, []row{
	{means: "a container would run as root, which its security context forbids",
		advice: "Set runAsUser in the securityContext of the pod template to a number above 0, or build the image " +
			"with such a USER." + templateAdvice, pod: waiting(configReasons, "runAsNonRoot", "non-root policy")},
	{means: "a Secret lacks a key that a container needs, and a controller makes the Secret",
		advice: "Correct the name of the key in the pod template, or add the key where the owner of the Secret has " +
			"it from: what is written into the Secret by hand does not last." + templateAdvice, pod: keyOfOwner},
	{means: "a Secret or a ConfigMap lacks a key that a container needs",
		advice: "Add the key to the object that the message names: the kubelet tries again. Or correct the name of " +
			"the key in the pod template." + templateAdvice, pod: waiting(configReasons, "couldn't find key")},
	{means: "a Secret or a ConfigMap is missing, and the CronJob of the Job names a newer one by now",
		advice: "The Job was made before the CronJob was changed." + templateAdvice, pod: renamed},
	{means: "a Secret that a container needs is missing, and what makes it is given",
		advice: "See why the object that makes the Secret has not (kubectl describe): the kubelet tries again.",
		pod:    ofMaker},
	{means: "a Secret or a ConfigMap that a container needs is missing",
		advice: "Create the Secret or the ConfigMap that the message names; the kubelet tries again.",
		pod:    waiting(configReasons, "not found")},
	{means: "the container runtime does not create a container in time",
		advice: "Look at the container runtime and the disk of node NODE. A pod that is deleted counts as failed.",
		pod:    waiting(configReasons, "context deadline exceeded", "is reserved for")},
	{means: "a container cannot be created (CreateContainerConfigError and the like)",
		advice: "Fix what the message names; the kubelet tries again. " + describeAdvice, pod: waiting(configReasons)},
}), []row{
	{code: "RestartRuleLoop", cannot: "cannot finish, because a rule restarts a container forever",
		means: "restartPolicyRules restart a container again and again, and it makes no progress",
		advice: "Read the log of the last run: kubectl logs -n NAMESPACE POD -c CONTAINER --previous. Change the " +
			"rule, or let the container end with another code." + templateAdvice, pod: ruleLoop},
	{code: "RestartRuleLoop", cannot: "cannot finish, because all containers are restarted",
		means: "the condition AllContainersRestarting has been True for two minutes",
		advice: "Read the log of the last run: kubectl logs -n NAMESPACE POD -c CONTAINER --previous. Look at the " +
			"kubelet of node NODE.", pod: allRestarting},
	{code: "ProbeFailing", cannot: "cannot run, because a probe fails",
		means:  "the startup or liveness probe of a container fails, and the last run of the container left a message",
		advice: "Fix what the last run says: kubectl logs -n NAMESPACE POD -c CONTAINER --previous.", pod: probeTold},
	{code: "ProbeFailing", cannot: "cannot run, because a probe fails",
		means: "the startup or liveness probe of a container fails, so that it does not start or is restarted",
		advice: "Give the probe more time (failureThreshold, periodSeconds), or fix what it checks: kubectl logs -n " +
			"NAMESPACE POD -c CONTAINER." + templateAdvice, pod: probeFailing},
	{code: "ProbeFailing", cannot: "must be ready before the owner creates its next Jobs",
		means:  "containers have not been ready for ten minutes, and startupPolicy or dependsOn of a JobSet waits",
		advice: "See what the readiness probe checks: kubectl logs -n NAMESPACE POD -c CONTAINER.", pod: unready},
}, each(row{code: "CrashLoop", cannot: "cannot keep a container running"}, []row{
	{means: "a container without a memory limit is restarted again and again, because it is out of memory",
		advice: "The pod template gives container CONTAINER no memory limit: unless a LimitRange does, node NODE was " +
			"out of memory. Set a memory request and limit for what it uses." + templateAdvice,
		pod: crashing(withoutLimit)},
	{means: "a container is restarted again and again, because it uses too much memory",
		advice: "Raise MEMORY, or make it use less. Its log goes with the pod: kubectl logs -n NAMESPACE POD -c " +
			"CONTAINER --previous." + templateAdvice, pod: crashing(wasOutOfMemory)},
	{cannot: "cannot keep an init container running", means: "an init container is restarted again and again",
		advice: "HOW The log of the last run: kubectl logs -n NAMESPACE POD -c CONTAINER --previous. The containers " +
			"start when it has succeeded.", pod: crashing(onInit)},
	{means: "a container is restarted again and again, and its last run has left a message",
		advice: "HOW The log of the last run: kubectl logs -n NAMESPACE POD -c CONTAINER --previous.",
		pod:    crashing(withMessage)},
	{means: "a container is restarted again and again; if it is a sidecar, no container of the pod runs",
		advice: "Read the log of the last run: kubectl logs -n NAMESPACE POD -c CONTAINER --previous.",
		pod:    crashing(anyContainer)},
}), []row{
	{code: "ContainerStart", cannot: "cannot start a container",
		means:  "a container waits for another unusual reason (RunContainerError and the like)",
		advice: "Check the command, the security context and the mounts of container CONTAINER.", pod: containerStart},
}, each(row{code: "VolumeInUse", cannot: "cannot start, because a volume is in use elsewhere"}, []row{
	{means: "a volume of the pods is attached to the node of a pod that does not end by itself",
		advice: volumeShareAdvice, pod: volumeHeld(replaced)},
	{means: "a volume of the pods is attached to the node of a pod that has no controller, and does not end by itself",
		advice: "That pod has no controller, and does not end by itself: find out whose it is, and delete it if it " +
			"is no longer needed. The volume is then attached here.", pod: volumeHeld(alone)},
	{means: "a volume of the pods is attached to the node of another pod, which ends",
		advice: "Wait until that pod has ended, or end what it belongs to if that is no longer needed. If both may " +
			"use the volume at once, a pod on the same node can (podAffinity).", pod: volumeHeld(ends)},
	{means: "a volume of the pods is attached to another node, and only one can have it",
		advice: "Wait until the other pod has ended, or delete it if it is no longer needed. If its node is gone, " +
			"the volume is detached after six minutes.",
		pod: startFailing([]string{"FailedAttachVolume"}, volumeInUse...)},
}), []row{
	{code: "VolumePreparing", attention: AttentionWait, cannot: "must wait for a volume",
		means: "the kubelet gives the files of a volume another owner, which takes long if they are many",
		advice: "Wait: it goes on. With fsGroupChangePolicy OnRootMismatch in the securityContext of the pod " +
			"template, later pods start at once.", pod: startFailing([]string{"VolumePermissionChangeInProgress"})},
}, each(row{code: "PodStartFailing", cannot: "cannot start"}, startWarnings), []row{
	{code: "PodStartOverdue", cannot: "should have started",
		means:  "no container of a pod has started ten minutes after its scheduling",
		advice: describeAdvice + " A large image, a volume or the network of node NODE may be the cause.",
		pod:    startOverdue},
	{code: "SidecarRunning", cannot: "cannot finish",
		means:  "all containers have finished, but a sidecar still runs after the grace period",
		advice: "Make the sidecar end on SIGTERM, and look at the kubelet of node NODE.", pod: sidecarRunning},
	{code: "ContainerRunning", cannot: "cannot finish",
		means: "a container still runs ten minutes after the main container of its pod has succeeded",
		advice: "The other containers have succeeded, and a new pod would repeat what they did. Once container " +
			"CONTAINER ends with exit code 0, too, the pod has succeeded. Do not kill it: another code counts as a " +
			"failure. ENDING", pod: containerRunning(true)},
	{code: "ContainerRunning", cannot: "cannot finish",
		means: "a container still runs ten minutes after the main container of its pod has failed",
		advice: "The failure counts only once container CONTAINER has ended, too. If it only serves the others, make " +
			"it a sidecar: an init container with restartPolicy Always, which the kubelet stops when they have " +
			"finished." + templateAdvice, pod: containerRunning(false)},
	{code: "Unexplained", cannot: "should run, and nothing given says why not",
		means:  "pods do not run ten minutes after their creation, and no other row explains why",
		advice: describeAdvice, pod: unexplained, last: true},
}), each(row{attention: AttentionWait}, []row{
	{code: "PodsMissing", attention: AttentionStuck, group: groupCreation,
		means: "the status counts active or terminating pods, and some of them were not given",
		advice: "Get all its pods: kubectl get pods -n NAMESPACE -l job-name=JOB -o yaml. If these are all, the " +
			"controller is not running.", job: podsMissing(false)},
	{code: "BackoffUnknown", group: groupCreation,
		means: "the status counts failures, and none of the failed pods was given: they would show how long the Job " +
			"backs off",
		advice: "Get the pods that have failed, if they still exist.", job: says((*facts).backoffUnknown)},
	{code: "CreationOverdue", attention: AttentionStuck, group: groupCreation,
		means: "pods should have been created two minutes ago or more",
		advice: "Check that the controller that manages the Job is running. If it is, a quota or an admission " +
			"webhook may reject the pods: look for FailedCreate events (kubectl describe job -n NAMESPACE JOB).",
		job: says((*facts).creationOverdue)},
	{code: "TerminationOverdue", means: "pods have not terminated in time, and the Job goes on without them",
		advice: terminationAdvice, job: overdueTermination(true)},
	{code: "NotScheduledYet", cannot: "cannot be scheduled yet",
		means: "the scheduler has found no node for less than two minutes, pods are preempted for it, or an event of " +
			"the last ten minutes says that an autoscaler adds one",
		advice: "Wait: the scheduler tries again when a node or its pods change.", pod: notScheduledYet},
	{code: "Initializing", cannot: "must still initialize",
		means: "an init container has been waiting for ten minutes or more, for a server or a Job that is not up",
		advice: "Look at OBJECT (kubectl describe; without replicas, kubectl scale; if it restarts, kubectl logs " +
			"--previous): the init container ends once that is up.", pod: initWaits},
	{code: "Initializing", cannot: "must still initialize",
		means:  "an init container has been running for ten minutes or more",
		advice: "See what it does: kubectl logs -n NAMESPACE POD -c CONTAINER.", pod: initializing},
	{code: "ImagePulling", cannot: "must wait for an image",
		means:  "a node has been pulling an image for two minutes or more",
		advice: "Wait, if the image is large; else look at the network of node NODE.", pod: pulling},
	{code: "Restarting", cannot: "had to restart a container again and again",
		means: "a container has been restarted three times or more, each counts, and it has not run for longer since " +
			"than before",
		advice: "Read the log of the last run: kubectl logs -n NAMESPACE POD -c CONTAINER --previous. If it was out " +
			"of memory, a new Job needs a higher limit.", pod: restartsOn},
	{code: "Restarting", cannot: "had to restart a container",
		means:  "a container was restarted in the last ten minutes",
		advice: "Read the log of the last run: kubectl logs -n NAMESPACE POD -c CONTAINER --previous.", pod: restarted},
	{code: "ResizePending", cannot: "must wait to be resized",
		means:  "the kubelet has not carried out a resize of the pods",
		advice: "The pod runs on with its old resources. Change the resize to what node NODE has left.", pod: resizing},
	{code: explain.JobInFlight, means: "creations or deletions are not observed yet (for callers of the library)",
		job: decided(explain.JobInFlight)},
}), []row{
	{code: explain.JobRemoving, means: "active pods are deleted: they are too many, or have no index of their own",
		job: decided(explain.JobRemoving)},
	{code: explain.JobCreating, means: "pods are created now", job: decided(explain.JobCreating)},
	{code: "ClockBehind", attention: AttentionWait,
		means: "pods have failed alike on a node whose clock is behind: containers ended before pods were created",
		advice: "Correct the clock of node NODE: until then certificates seem not to be valid yet, and the delay " +
			"after a failure is over too early.", job: wrongClock},
	{code: "FailuresIgnored", attention: AttentionWait,
		means: "three or more pods in a row have failed or were evicted, and a rule of spec.podFailurePolicy ignores " +
			"it; the last did so less than twenty minutes ago, or as long as it ran and ten minutes",
		advice: "HOW Such failures count towards no limit, so that they never fail the Job.", job: ignored},
	{code: "FailuresIgnored", attention: AttentionWait,
		means: "pods that are gone were evicted in the last hour (two, of a Job of a day one), " +
			"none has succeeded since, and no limit counts it",
		advice: "Use nodes that stay for as long as a pod runs (annotations karpenter.sh/do-not-disrupt: \"true\" " +
			"and cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\", also of a pod that runs, keep an " +
			"autoscaler from removing its node), or let the program save how far it is: a new pod starts from the " +
			"beginning, so that the Job may never finish.", job: evictedAgain},
	{code: explain.JobBackingOff, attention: AttentionWait, means: "failed pods are replaced after a delay",
		advice: "HOW The delay ends by itself.", job: backingOff},
	{code: explain.JobAwaitingTermination, attention: AttentionWait,
		means: "pods that are being deleted are replaced once they have terminated", job: awaitingTermination},
	{code: explain.JobNoParallelism, attention: AttentionHeld, means: "spec.parallelism is 0",
		advice: "Set spec.parallelism above 0.", job: decided(explain.JobNoParallelism)},
	{code: "PodsStarting", cannot: "must still start",
		means: "pods were created or scheduled less than ten minutes ago, and their containers do not run yet",
		pod:   starting, last: true},
	{code: explain.JobRunning, attention: AttentionWait, group: groupRunning,
		means: "the wanted number of pods is active, all of them run, none has succeeded, and one more failure makes " +
			"the Job fail",
		advice: "HOW", job: func(f *facts) found {
			return either(f.Progress.Succeeded == 0, f.running(true), found{})
		}},
	{code: explain.JobRunning, attention: AttentionWait, group: groupRunning,
		means:  "the wanted number of pods is active, all of them run, and one more failure makes the Job fail",
		advice: "HOW To keep what it has done so far, raise spec.backoffLimit while it runs.",
		job:    func(f *facts) found { return f.running(true) }},
}, each(row{code: explain.JobRunning, attention: AttentionWait, group: groupRunning}, []row{
	{means: "the wanted number of pods is active, three or more failed in the same way before, or several that " +
		"are gone, and none succeeded",
		advice: "HOW The pod that runs now may fail in the same way.", job: again},
	{means: "the wanted number of pods is active, and at the pace of those that succeeded the Job reaches its deadline",
		advice: "Raise spec.activeDeadlineSeconds while it runs, or spec.parallelism: both can change in an existing " +
			"Job.", job: tooLate},
	{means: "the wanted number of pods is active, and one has run for more than an hour, and three times as long as " +
		"those that have succeeded",
		advice: "See what it does: kubectl logs -n NAMESPACE POD --all-containers. It may have more to do than the " +
			"others. If it hangs, delete it (cordon node NODE before, if that is damaged): it then counts as failed, " +
			"and is replaced while the limit allows.", job: straggles},
}), []row{
	{code: explain.JobRunning, group: groupRunning, means: "the wanted number of pods is active, and all of them run",
		job: running},
})
