package repository

import (
	"strings"
	"testing"
)

// A kind has the types of the library that are meant for a CRD: group.Policy and State, failurepolicy.Spec,
// and backoff.Policy and Record. Their schemas have all fields: none is an object whose content would be pruned. That controller-gen makes this file, and code that compiles, is a stage of .ci/run.
func TestTypesFitIntoACRD(t *testing.T) {
	schema := readPage(t, "examples/jobgroup/deploy/crd.yaml")
	for _, field := range []string{"budgets", "charges", "onMessagePatterns", "notBefore", "used",
		"onPodConditions", "base", "factor", "lastFailure"} {
		if !strings.Contains(schema, " "+field+":\n") {
			t.Errorf("the schema has no field %s", field)
		}
	}
	// The only one is the spec of a Job, which the kind declares so.
	if n := strings.Count(schema, "preserve-unknown-fields"); n != 1 {
		t.Errorf("%d parts of the schema accept unknown fields, want 1", n)
	}
	// controller-gen does not know omitzero.
	for _, field := range []string{"group", "lastFailure"} {
		if strings.Contains(schema, "- "+field+"\n") {
			t.Errorf("the field %s is required", field)
		}
	}
	_, last, _ := strings.Cut(schema, "lastFailure:\n")
	last, _, _ = strings.Cut(last, "version:\n")
	if !strings.Contains(last, "format: date-time\n") || !strings.Contains(last, "type: string\n") {
		t.Errorf("lastFailure is no time:\n%s", last)
	}
}
