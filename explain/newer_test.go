package explain_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
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
		if diff := cmp.Diff(c.want, explain.NewerFields(&c.spec)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

// A Job with spec.scheduling, which is new in Kubernetes 1.37. Whether the field arrives
// depends on the release of k8s.io/api that this is built with.
func TestNotesOfANewerField(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train", UID: "job-uid"}}
	if err := json.Unmarshal([]byte(`{"scheduling": {"schedulingPolicy": {"basic": {}}}}`), &job.Spec); err != nil {
		t.Fatal(err)
	}
	d, err := decide.Job(decide.Snapshot{Job: job, Now: time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	var want []explain.Reason
	if _, found := reflect.TypeFor[batchv1.JobSpec]().FieldByName("Scheduling"); found {
		want = []explain.Reason{{Code: explain.NoteUnknownField, Text: "spec.scheduling is newer than this version of jobfate and was ignored"}}
	}
	if diff := cmp.Diff(want, explain.Of(d).Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// ignored lists the newer fields that decisions ignore. A field that is neither known nor
// listed here must be handled or added.
var ignored = []string{"Scheduling"}

func TestEveryFieldOfTheSpecIsKnown(t *testing.T) {
	spec := reflect.TypeFor[batchv1.JobSpec]()
	for i := range spec.NumField() {
		name := spec.Field(i).Name
		if explain.Known(name) == slices.Contains(ignored, name) {
			t.Errorf("spec.%s: known: %v, ignored: %v", name, explain.Known(name), slices.Contains(ignored, name))
		}
	}
}
