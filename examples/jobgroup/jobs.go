package main

import (
	"encoding/json"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobfate/jobfate/failurepolicy"
)

const (
	// managedBy is the name in spec.managedBy of the Jobs.
	managedBy = "jobfate.dev/jobgroup"
	// groupLabel is the name of the group.
	groupLabel = "jobfate.dev/job-group"
	// restartAnnotation is the number of the restart that created a Job.
	restartAnnotation = "jobfate.dev/restart"
	// namesAnnotation passes the names of the rules to the Job controller.
	namesAnnotation = "jobfate.dev/failure-rule-names"
)

// newJob returns a Job of the group for its current restart.
func newJob(group *JobGroup, m member) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   group.Namespace,
			Name:        m.name,
			Labels:      map[string]string{groupLabel: group.Name},
			Annotations: map[string]string{restartAnnotation: strconv.Itoa(group.Status.Restarted[m.name])},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(group,
				groupVersion.WithKind("JobGroup"))},
		},
		Spec: *m.template.Spec.JobSpec.DeepCopy(),
	}
	job.Spec.ManagedBy = ptr.To(managedBy)
	if policy := m.template.Spec.PodFailurePolicy; policy != nil {
		job.Spec.PodFailurePolicy = policy.ToAPI()
		job.Annotations[namesAnnotation] = ruleNames(policy)
	}
	return job
}

// ruleNames returns the names of the rules by their indexes, as a JSON object. An empty object
// still requests reasons that name the rule.
func ruleNames(policy *failurepolicy.Spec) string {
	names := map[int]string{}
	for i, rule := range policy.Rules {
		if rule.Name != "" {
			names[i] = rule.Name
		}
	}
	text, _ := json.Marshal(names) // strings and numbers can always be written
	return string(text)
}

// madeAt returns the number of the restart that created a Job; 0 for none.
func madeAt(job *batchv1.Job) int {
	n, _ := strconv.Atoi(job.Annotations[restartAnnotation]) // 0 if it is not a number
	return n
}
