package explain_test

import (
	"reflect"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// newerSpec is a JobSpec of a future release.
type newerSpec struct {
	Parallelism *int32 `json:"parallelism,omitempty"`
	Scheduling  *int   `json:"scheduling,omitempty"`
	Colour      string `json:"colour"`
}

func TestNewerFields(t *testing.T) {
	for _, c := range []struct {
		reason string
		spec   newerSpec
		want   []string
	}{
		{"known fields are not newer", newerSpec{Parallelism: new(int32)}, nil},
		{"a newer field that is not set", newerSpec{}, nil},
		{"newer fields that are set", newerSpec{Scheduling: new(int), Colour: "red"}, []string{"scheduling", "colour"}},
	} {
		Same(t, c.reason, explain.NewerFields(&c.spec), c.want)
	}
}

// A Job with spec.scheduling, which is new in Kubernetes 1.37. Whether the field arrives
// depends on the release of k8s.io/api that this is built with.
func TestNotesOfANewerField(t *testing.T) {
	job := NewJob()
	job.Spec = FromJSON[batchv1.JobSpec]([]byte(`{"scheduling": {"schedulingPolicy": {"basic": {}}}}`))
	d := Must(decide.Job(decide.Snapshot{Job: job, Now: Noon()}))
	var want []explain.Reason
	if _, found := reflect.TypeFor[batchv1.JobSpec]().FieldByName("Scheduling"); found {
		want = []explain.Reason{{Code: explain.NoteUnknownField, Text: "spec.scheduling is newer than this version of jobfate and was ignored"}}
	}
	Same(t, "notes", explain.Of(d).Notes(), want)
}

// ignored lists the newer fields that decisions ignore. A field that is neither known nor
// listed here must be handled or added.
var ignored = []string{"Scheduling"}

func TestEveryFieldOfTheSpecIsKnown(t *testing.T) {
	spec := reflect.TypeFor[batchv1.JobSpec]()
	for i := range spec.NumField() {
		name := spec.Field(i).Name
		Same(t, "spec."+name+" is known", explain.Known(name), !slices.Contains(ignored, name))
	}
}
