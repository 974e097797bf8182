package validation

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// Of two conditions that exclude each other, the update that adds either one is rejected. A
// later update that keeps both is not.
func TestStatusUpdateRejectsEitherAddedCondition(t *testing.T) {
	const both = conditionsWrong + "cannot set Complete=True and FailureTarget=true conditions"
	statusOf := func(kinds ...batchv1.JobConditionType) batchv1.JobStatus {
		return edited(completed(), func(s *batchv1.JobStatus) { s.Conditions = is(kinds...) })
	}
	broken := statusOf(criteria, complete, target)
	for _, c := range []struct {
		name     string
		was      batchv1.JobStatus
		rejected bool
	}{
		{"FailureTarget is added", statusOf(criteria, complete), true},
		{"Complete is added", edited(statusOf(criteria, target), func(s *batchv1.JobStatus) { s.CompletionTime = nil }), true},
		{"nothing is added", broken, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := said(StatusUpdate(withStatus(broken), withStatus(c.was)))
			if slices.Contains(got, both) != c.rejected {
				t.Errorf("got %q, want %q among them: %v", got, both, c.rejected)
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
		Same(t, c.name+": changed", got, c.want)
	}
}
