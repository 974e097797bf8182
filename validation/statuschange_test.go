package validation

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A condition that comes on a finished Job is told when it comes, whichever of the
// two it is, and not once it is there.
func TestStatusUpdateTellsWhicheverConditionComes(t *testing.T) {
	const both = conditionsWrong + "cannot set Complete=True and FailureTarget=true conditions"
	statusOf := func(kinds ...batchv1.JobConditionType) batchv1.JobStatus {
		return edited(completed(), func(s *batchv1.JobStatus) { s.Conditions = is(kinds...) })
	}
	broken := statusOf(criteria, complete, target)
	for _, c := range []struct {
		name string
		was  batchv1.JobStatus
		told bool
	}{
		{"FailureTarget comes", statusOf(criteria, complete), true},
		{"Complete comes", edited(statusOf(criteria, target), func(s *batchv1.JobStatus) { s.CompletionTime = nil }), true},
		{"nothing comes", broken, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := said(StatusUpdate(withStatus(broken), withStatus(c.was)))
			if slices.Contains(got, both) != c.told {
				t.Errorf("got %q, want among them %q: %v", got, both, c.told)
			}
		})
	}
}

func TestUncountedChanged(t *testing.T) {
	nothing := batchv1.JobStatus{}
	empty := uncounted(nil, nil)
	emptyLists := uncounted([]types.UID{}, []types.UID{})
	some := uncounted(nil, []types.UID{"a"})
	for _, c := range []struct {
		name     string
		was, now batchv1.JobStatus
		want     bool
	}{
		{"none", nothing, nothing, false},
		{"empty lists", empty, emptyLists, false},
		{"appeared", nothing, empty, true},
		{"gone", empty, nothing, true},
		{"failed", empty, some, true},
		{"moved", some, uncounted([]types.UID{"a"}, nil), true},
		{"same", some, uncounted(nil, []types.UID{"a"}), false},
	} {
		got := uncountedChanged(&change{now: view{JobStatus: &c.now}, was: view{JobStatus: &c.was}})
		if got != c.want {
			t.Errorf("%s: changed is %v, want %v", c.name, got, c.want)
		}
	}
}
