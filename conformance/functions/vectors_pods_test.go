package functions

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/internal/vectors"
)

var aboutPods = []subject{{
	name: "orphan", oracle: "handleSingleOrphanPod",
	draw: func(d draw) any {
		job, p := d.job(false), &corev1.Pod{}
		own(job, p, 0)
		job.Spec = batchv1.JobSpec{Selector: job.Spec.Selector}
		p.Namespace = "ns"
		switch d.IntN(8) {
		case 0:
			p.OwnerReferences = nil
		case 1:
			p.OwnerReferences[0].Kind = "ReplicaSet"
		case 2:
			p.OwnerReferences[0].APIVersion = pick(d, "batch/v2", "example.com/v1")
		case 3:
			p.OwnerReferences[0].Controller = nil
		case 4:
			p.OwnerReferences[0].UID = "other"
		}
		if d.percent(15) {
			p.Finalizers = pick(d, nil, []string{"example.com/other"})
		}
		if d.percent(25) {
			job.Spec.ManagedBy = ptr(pick(d, batchv1.JobControllerName, "example.com/other"))
		}
		for range d.IntN(3) {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
				Type:   pick(d, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget),
				Status: pick(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse),
			})
		}
		if d.percent(25) {
			job = nil
		}
		return vectors.Orphan{Pod: p, Job: job}
	},
	kubernetes: asks(func(in vectors.Orphan, out *vectors.Frees) { out.Frees = real.StripsOrphan(in.Pod, in.Job) }),
}}
