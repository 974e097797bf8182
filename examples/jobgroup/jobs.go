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
	// groupLabel has the name of the group.
	groupLabel = "jobfate.dev/job-group"
	// restartAnnotation has the number of the restart that a Job was made by.
	restartAnnotation = "jobfate.dev/restart"
	// namesAnnotation tells the controller of Jobs the names of the rules.
	namesAnnotation = "jobfate.dev/failure-rule-names"
)

// newJob makes a Job of the group, as of now.
func newJob(group *JobGroup, m member) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       group.Namespace,
			Name:            m.name,
			Labels:          map[string]string{groupLabel: group.Name},
			Annotations:     map[string]string{restartAnnotation: strconv.Itoa(group.Status.Restarted[m.name])},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(group, groupVersion.WithKind("JobGroup"))},
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

// ruleNames returns the names of the rules by their indexes, as a JSON object. An
// empty one still asks for reasons that tell which rule it was.
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

// madeAt returns the number of the restart that a Job was made by, 0 for none.
func madeAt(job *batchv1.Job) int {
	n, _ := strconv.Atoi(job.Annotations[restartAnnotation]) // 0 of what is no number
	return n
}
