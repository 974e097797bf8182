package jobstatus_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

// versionOf returns a version of a Job: its generation, "suspended", and "True" for the condition.
func versionOf(text string) *batchv1.Job {
	job := NewJob()
	job.Generation = int64(text[0] - '0')
	if strings.Contains(text, "suspended") {
		job.Spec.Suspend = new(true)
	}
	if strings.Contains(text, "True") {
		job.Status.Conditions = []batchv1.JobCondition{Yes(batchv1.JobSuspended)}
	}
	if strings.Contains(text, "another") {
		job.UID = "another"
	}
	return job
}

// TestSuspension_Observed: the versions that a queue sees, and whether it knows that the controller has
// observed the suspension in the last one.
func TestSuspension_Observed(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		versions string
		want     bool
	}{
		{"nothing was seen", "", false},
		{"it runs", "1", false},
		{"created suspended, and never resumed", "1 suspended", true},
		{"one edit, which has suspended it, or it was suspended before too", "2 suspended True", true},
		{"one edit, and no condition", "2 suspended", false},
		{"two edits: it may have been resumed and suspended", "3 suspended True", false},
		{"no generation", "0 suspended True", false},
		{"no generation, and no condition before", "0, 0 suspended, 0 suspended True", false},

		{"the condition appears", "3 suspended, 3 suspended True", true},
		{"the condition appears with the edit", "3, 4 suspended True", true},
		{"the resumption was seen to be observed", "2 True, 2, 3 suspended, 3 suspended True", true},
		{"another edit in the same moment", "3 suspended, 4 suspended True", true},
		{"suspended as before, with another edit", "3 suspended, 3 suspended True, 4 suspended True, 5 suspended True", true},
		{"edited before it ever ran", "1 suspended, 2 suspended True, 3 suspended True, 4 suspended True", true},
		{"the condition is still there", "3, 3 suspended True, 4 suspended True", true},

		{"resumed and suspended before the controller wrote a status", "1 suspended True, 2 True, 3 suspended True", false},
		{"in a version that was not seen", "1 suspended True, 3 suspended True", false},
		{"in versions that were not seen, after a run", "3, 6 suspended True", false},
		{"suspended once more", "3 suspended, 3 suspended True, 4 True, 5 suspended True", false},
		{"suspended once more, and the controller wrote a status in between", "3 suspended True, 4 True, 4, 5 suspended, 5 suspended True", true},
		{"another client has removed the condition", "5 suspended True, 5 suspended, 5 suspended True", true},
		{"resumed", "3 suspended, 3 suspended True, 4 True", false},
		{"a late version", "3 suspended, 3 suspended True, 2 True", true},
		{"a late version of the same generation", "3 suspended, 3 suspended True, 3 suspended", false},
		{"another Job of the name", "3 suspended, 3 suspended True another", false},
		{"another Job of the name, with an earlier generation", "3 suspended, 1 another", false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			var s jobstatus.Suspension
			for _, text := range strings.Split(tc.versions, ", ") {
				if text != "" {
					s = s.After(versionOf(text))
				}
			}
			Same(t, "observed", s.Observed(), tc.want)
		})
	}
}
