package jobstatus_test

import (
	"fmt"
	"math"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

func TestPodsHeld(t *testing.T) {
	for _, tc := range []struct {
		active      int32
		terminating *int32
		want        int32
	}{
		{3, nil, 3},
		{3, new(int32(2)), 5},
		{0, new(int32(2)), 2},
		{-1, new(int32(-2)), 0},
		{5, new(int32(-2)), 5},
		{math.MaxInt32, new(int32(1)), math.MaxInt32},
		{math.MaxInt32, new(int32(math.MaxInt32)), math.MaxInt32},
	} {
		job := &batchv1.Job{Status: batchv1.JobStatus{Active: tc.active, Terminating: tc.terminating}}
		Same(t, fmt.Sprintf("active %d, terminating %v: PodsHeld", tc.active, tc.terminating), jobstatus.PodsHeld(job), tc.want)
	}
	Same(t, "no Job", jobstatus.PodsHeld(nil), int32(0))
}

func TestIndexesFinished(t *testing.T) {
	plain := func(completions *int32, succeeded int32) *batchv1.Job {
		return &batchv1.Job{Spec: batchv1.JobSpec{Completions: completions}, Status: batchv1.JobStatus{Succeeded: succeeded}}
	}
	for _, tc := range []struct {
		reason string
		job    *batchv1.Job
		want   int
	}{
		{"both kinds", indexedJob(10, "0-2", new("5,6")), 5},
		{"each once", indexedJob(10, "0-2", new("2-4")), 5},
		{"none beyond completions", indexedJob(4, "0-9", new("3-12")), 4},
		{"no failed ones", indexedJob(4, "0", nil), 1},
		{"no completions", &batchv1.Job{Spec: batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion)}, Status: batchv1.JobStatus{CompletedIndexes: "0"}}, 0},
		{"not Indexed", plain(new(int32(4)), 3), 3},
		{"not Indexed, too many", plain(new(int32(4)), 5), 4},
		{"not Indexed, no completions", plain(nil, 5), 5},
		{"negative numbers", plain(new(int32(-4)), -5), 0},
		{"no Job", nil, 0},
	} {
		Same(t, tc.reason+": IndexesFinished", jobstatus.IndexesFinished(tc.job), tc.want)
	}
	Same(t, "sets of a Job that is not Indexed", jobstatus.Indexes(plain(new(int32(4)), 3)), jobstatus.IndexSets{})
	Same(t, "sets of no Job", jobstatus.Indexes(nil), jobstatus.IndexSets{})
}
