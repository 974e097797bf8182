package kubefile

import batchv1 "k8s.io/api/batch/v1"

// A keep says which fields of an object are read; nil reads all.
type keep map[string]keep

// keepOfPod are the fields of a pod that anything is decided on, or that is
// told. Of a large file only these are read: the rest of a pod is most of it.
var keepOfPod = keep{
	"apiVersion": nil,
	"kind":       nil,
	"metadata": {
		"name": nil, "namespace": nil, "uid": nil, "resourceVersion": nil,
		"labels": nil, "annotations": keepOfAnnotations, "ownerReferences": nil, "finalizers": nil,
		"creationTimestamp": nil, "deletionTimestamp": nil, "deletionGracePeriodSeconds": nil,
	},
	"spec": {
		"nodeName":       nil,
		"initContainers": {"name": nil, "restartPolicy": nil},
	},
	"status": {
		"phase": nil, "reason": nil,
		"conditions":            {"type": nil, "status": nil, "reason": nil, "lastTransitionTime": nil},
		"containerStatuses":     keepOfStatus,
		"initContainerStatuses": keepOfStatus,
	},
}

// keepOfAnnotations are those of a Job. Networks and others write long ones.
var keepOfAnnotations = keep{
	batchv1.JobCompletionIndexAnnotation:          nil,
	batchv1.JobIndexFailureCountAnnotation:        nil,
	batchv1.JobIndexIgnoredFailureCountAnnotation: nil,
}

var keepOfStatus = keep{
	"name": nil, "restartCount": nil,
	"state": {"terminated": {"exitCode": nil, "reason": nil, "finishedAt": nil}},
}

// within returns what is kept of a field, and whether anything is.
func (k keep) within(name []byte) (keep, bool) {
	if k == nil {
		return nil, true
	}
	sub, ok := k[string(name)]
	return sub, ok
}
