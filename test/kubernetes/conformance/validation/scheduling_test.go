package validation_test

import (
	"encoding/json"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
	"github.com/jobfate/jobfate/validation"
)

const workloadName, groupTemplateName = "scheduling.k8s.io/workload-name", "scheduling.k8s.io/group-template-name"

// scheduled is a Job with a part of a spec in JSON. The API types of 1.36 drop spec.scheduling.
func scheduled(spec string, annotations ...string) *batchv1.Job {
	j := plainJob()
	j.Annotations = map[string]string{}
	for _, key := range annotations {
		j.Annotations[key] = "x"
	}
	if err := json.Unmarshal([]byte(spec), &j.Spec); err != nil {
		panic(err)
	}
	return j
}

const (
	basic = `{"scheduling":{"schedulingPolicy":{"basic":{}}}}`
	gang  = `{"scheduling":{"schedulingPolicy":{"gang":{"minCount":1}}}}`
)

// While the gates WorkloadWithJob and GenericWorkload are off, as by default, the API server drops spec.scheduling and
// template.spec.schedulingGroup from a new Job before it validates it. jobfate ignores them.
func TestDivergence_newJobWithScheduling(t *testing.T) {
	const group = `"template":{"spec":{"schedulingGroup":{"podGroupName":"g"}}}}`
	for _, spec := range []string{basic, gang, basic[:len(basic)-1] + "," + group} {
		j := scheduled(spec, workloadName, groupTemplateName)
		if verdict := compareCreation(t, j); verdict != accepted {
			t.Errorf("the API server %s the Job with %s", verdict, spec)
		}
	}
}

// Only a server on which the gate was on has Jobs with spec.scheduling. jobfate ignores the rules for their updates.
func TestDivergence_storedScheduling(t *testing.T) {
	const forbidden, cleared = "spec.scheduling Forbidden", "spec.scheduling Invalid value: null: field cannot be cleared once set"
	const both = "spec.scheduling Invalid value: must not be set together with the " + workloadName + " annotation"
	for _, c := range []struct {
		name     string
		was, now *batchv1.Job
		from     int    // the first release that rejects the update; 0: none
		want     string // the last error
	}{
		{"set", scheduled("{}"), scheduled(basic), 0, ""}, // it is dropped
		{"kept", scheduled(basic), scheduled(basic), 0, ""},
		{"kept with annotations", scheduled(basic, workloadName, groupTemplateName), scheduled(basic, workloadName, groupTemplateName), 0, ""},
		{"annotations added", scheduled(basic), scheduled(basic, workloadName, groupTemplateName), 38, both},
		{"changed", scheduled(gang), scheduled(basic), 37, forbidden},
		{"removed", scheduled(gang), scheduled("{}"), 37, cleared},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, was := validation.Prepared(c.now), validation.Prepared(c.was)
			reasons, err := realUpdate(now, was)
			got, want := "", ""
			if len(reasons) > 0 {
				last := reasons[len(reasons)-1]
				got = last.Field + " " + last.Message
			}
			if c.from != 0 && kubernetes.Minor() >= c.from {
				want = c.want
			}
			if err != nil || got != want {
				t.Errorf("the API server says %q, %v, want %q", got, err, want)
			}
			if errs := validation.Update(now, was, asReleased()); len(errs) > 0 {
				t.Errorf("jobfate says %v, want nothing", errs)
			}
		})
	}
}
