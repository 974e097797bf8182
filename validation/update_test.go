package validation

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/validation/defaulting"
)

// The Job of a custom resource has no selector, so Update needs the generated one of both versions.
func TestUpdate_customResource(t *testing.T) {
	old := written()
	old.ResourceVersion = "1"
	job := old.DeepCopy()
	job.Spec.BackoffLimit = new(int32(2))
	asStored := func(job *batchv1.Job) *batchv1.Job { return defaulting.WithGeneratedSelector(defaulting.Job(job)) }
	wantErrors(t, Update(asStored(job), asStored(old)))
	job.Spec.ManagedBy = new("example.com/other")
	wantErrors(t, Update(asStored(job), asStored(old)), "spec.managedBy: Invalid value: field is immutable")
}

// Each rule has a unique name.
func TestRuleTablesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	note := func(name string) {
		t.Helper()
		if name == "" || seen[name] {
			t.Errorf("rule name %q is empty or used twice", name)
		}
		seen[name] = true
	}
	for _, rule := range specRules {
		note("spec: " + rule.name)
	}
	for _, rule := range creationRules {
		note("creation: " + rule.name)
	}
	for _, rule := range updateRules {
		note("update: " + rule.name)
	}
	for _, rule := range statusRules {
		note("status: " + rule.name)
		if (rule.state == nil) == (rule.step == nil) {
			t.Errorf("status rule %s has both or none of state and step", rule.name)
		}
	}
}
