package replace

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobstatus"
)

// FailedFor reports whether a Job has failed for one of the reasons; any will do if there are none.
// PodFailurePolicy stands for all reasons that name a rule, such as PodFailurePolicy_ExitCode42.
func FailedFor(job *batchv1.Job, reasons ...string) bool {
	o := jobstatus.OutcomeOf(job)
	_, byRule := failurepolicy.RuleOf(o.Reason, o.Message)
	return o.Phase == jobstatus.Failed && (len(reasons) == 0 || slices.Contains(reasons, o.Reason) ||
		byRule && slices.Contains(reasons, batchv1.JobReasonPodFailurePolicy))
}
