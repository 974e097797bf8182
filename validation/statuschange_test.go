package validation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
)

func uncounted(succeeded, failed []types.UID) batchv1.JobStatus {
	return batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: succeeded, Failed: failed}}
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
		{"another failure", some, uncounted(nil, []types.UID{"b"}), true},
		{"another success", uncounted([]types.UID{"a"}, nil), uncounted([]types.UID{"b"}, nil), true},
	} {
		got := uncountedChanged(&change{now: view{JobStatus: &c.now}, was: view{JobStatus: &c.was}})
		Same(t, c.name+": changed", got, c.want)
	}
}

// A rule about a status applies to an update that changes any one of the facts that it is about, and to no other.
func TestStatusRules_whenOneFactChanges(t *testing.T) {
	add := func(kind batchv1.JobConditionType) func(*batchv1.JobStatus) {
		return func(s *batchv1.JobStatus) { s.Conditions = is(kind) }
	}
	facts := map[string]func(*batchv1.JobStatus){
		"complete": add(complete), "failed": add(failed), "failureTarget": add(target), "successCriteriaMet": add(criteria),
		"completionTime":   func(s *batchv1.JobStatus) { s.CompletionTime = new(After(9)) },
		"startTime":        func(s *batchv1.JobStatus) { s.StartTime = new(After(9)) },
		"active":           func(s *batchv1.JobStatus) { s.Active = 1 },
		"ready":            func(s *batchv1.JobStatus) { s.Ready = new(int32(0)) },
		"terminating":      func(s *batchv1.JobStatus) { s.Terminating = new(int32(0)) },
		"uncounted":        func(s *batchv1.JobStatus) { *s = uncounted(nil, nil) },
		"completedIndexes": func(s *batchv1.JobStatus) { s.CompletedIndexes = "1" },
		"failedIndexes":    func(s *batchv1.JobStatus) { s.FailedIndexes = new("") },
		"succeeded":        func(s *batchv1.JobStatus) { s.Succeeded = 1 },
	}
	const finished = "complete failed "
	about := map[string]string{
		"CompleteJobWithFailedCondition":         "complete failed",
		"CompleteJobWithFailureTargetCondition":  "complete failureTarget",
		"NotCompleteJobWithCompletionTime":       "complete completionTime",
		"CompleteJobWithoutCompletionTime":       "complete completionTime",
		"CompletionTimeBeforeStartTime":          "startTime completionTime",
		"FailedJobWithoutFailureTarget":          "failed failedIndexes",
		"CompleteJobWithoutSuccessCriteriaMet":   "complete successCriteriaMet",
		"FinishedJobWithActivePods":              finished + "active",
		"FinishedJobWithoutStartTime":            finished + "startTime",
		"FinishedJobWithUncountedTerminatedPods": finished + "uncounted",
		"InvalidCompletedIndexes":                "completedIndexes",
		"InvalidFailedIndexes":                   "failedIndexes",
		"CompletedIndexesForNonIndexedJob":       "completedIndexes",
		"FailedIndexesForNoBackoffLimitPerIndex": "failedIndexes",
		"FailedIndexesOverlappingCompleted":      "failedIndexes completedIndexes",
		"FinishedJobWithTerminatingPods":         finished + "terminating",
		"MoreReadyThanActivePods":                "ready active",
		"StartTimeUpdateForUnsuspendedJob":       "startTime",
	}
	spec := &batchv1.JobSpec{}
	for _, rule := range statusRules {
		if rule.when == nil || rule.name == "DecreasingSucceededCounter" { // that one depends on the spec
			continue
		}
		for fact, edit := range facts {
			var with, without batchv1.JobStatus
			edit(&with)
			want := slices.Contains(strings.Fields(about[rule.name]), fact)
			for _, c := range []*change{{now: viewOf(&with, spec), was: viewOf(&without, spec)}, {now: viewOf(&without, spec), was: viewOf(&with, spec)}} {
				Same(t, fmt.Sprintf("%s applies when %s changes", rule.name, fact), rule.when(c), want)
			}
		}
	}
}

// Times are compared as the API server stores them, in seconds and without a zone.
func TestSameTime(t *testing.T) {
	noon := After(0)
	elsewhere, later := metav1.NewTime(noon.In(time.FixedZone("CET", 3600))), metav1.NewTime(noon.Add(time.Millisecond))
	for _, c := range []struct {
		a, b *metav1.Time
		want bool
	}{
		{nil, nil, true}, {nil, &metav1.Time{}, true}, {&noon, nil, false}, {&noon, &noon, true}, {&noon, &elsewhere, true},
		{&noon, &later, true}, {&noon, new(After(1)), false},
	} {
		Same(t, fmt.Sprint(c.a, " and ", c.b), []bool{sameTime(c.a, c.b), sameTime(c.b, c.a)}, []bool{c.want, c.want})
	}
}
