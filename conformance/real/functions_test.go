package real_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/conformance/real"
)

func TestIntervals(t *testing.T) {
	tests := []struct {
		text   string
		want   real.Intervals
		total  int
		format string
	}{
		{"", nil, 0, ""},
		{"1,3-5,7", real.Intervals{{1, 1}, {3, 5}, {7, 7}}, 5, "1,3-5,7"},
		{"0,1", real.Intervals{{0, 1}}, 2, "0,1"},
		{"7-12", real.Intervals{{7, 9}}, 3, "7-9"}, // 10 completions
		{"9-3", real.Intervals{{9, 3}}, -5, "9"},
		{"1-5,3", real.Intervals{{1, 5}, {3, 3}}, 6, "1-5,3"},
		{"1-2-3", real.Intervals{{1, 2}}, 2, "1,2"},
		{"x,2", real.Intervals{{2, 2}}, 1, "2"},
	}
	for _, tt := range tests {
		got := real.ParseIndexes(tt.text, 10)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
		if got.Total() != tt.total || got.String() != tt.format {
			t.Errorf("%q: total %d, %q; want %d, %q", tt.text, got.Total(), got, tt.total, tt.format)
		}
	}
	x := real.ParseIndexes("1,3-5", 10)
	if !x.Has(4) || x.Has(2) {
		t.Error("1,3-5 has 4 and not 2; got otherwise")
	}
	if real.ParseIndexes("5,1", 10).Has(1) {
		t.Error("the search finds 1 in 5,1; it did not")
	}
	if got := x.Merge(real.ParseIndexes("2,7", 10)).String(); got != "1-5,7" {
		t.Errorf("1,3-5 and 2,7: got %s, want 1-5,7", got)
	}
}

func TestBackoffFunctions(t *testing.T) {
	job := newJob(t, size(1, 1), indexed, perIndex(9))
	failed := func(seconds int, change ...func(*corev1.Pod)) *corev1.Pod {
		return newPod(job, "a", corev1.PodFailed, append(change, exit(1, seconds))...)
	}
	if got := real.FinishedTime(failed(7)); !got.Equal(at(7)) {
		t.Errorf("got the finish time %v, want %v", got, at(7))
	}

	last := at(0)
	for _, tt := range []struct {
		failures int32
		at       int
		want     time.Duration
	}{
		{0, 0, 0},
		{1, 0, 10 * time.Second},
		{3, 15, 25 * time.Second},
		{1, 11, 0},
		{math.MaxInt32, 0, 10 * time.Minute},
	} {
		if got := real.Remaining(at(tt.at), 10*time.Second, 10*time.Minute, tt.failures, &last); got != tt.want {
			t.Errorf("%d failures, %d s later: %v remain, want %v", tt.failures, tt.at, got, tt.want)
		}
	}
	if got := real.RemainingPerIndex(at(5), 10*time.Second, 10*time.Minute, failed(0, failures(1))); got != 15*time.Second {
		t.Errorf("per index, after the second failure: %v remain, want 15s", got)
	}

	seven := at(7)
	for _, tt := range []struct {
		name              string
		old               *real.Record
		succeeded, failed []*corev1.Pod
		want              real.Record
	}{
		{"nothing", nil, nil, nil, real.Record{}},
		{"two failures, out of order", &real.Record{Failures: 1}, nil, []*corev1.Pod{failed(7), failed(5)}, real.Record{Failures: 3, LastFailure: &seven}},
		{"a success between", &real.Record{Failures: 1}, []*corev1.Pod{failed(6)}, []*corev1.Pod{failed(7), failed(5)}, real.Record{Failures: 1, LastFailure: &seven}},
	} {
		if diff := cmp.Diff(tt.want, real.NextRecord(tt.old, tt.succeeded, tt.failed)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}

	if got, want := real.NextIndexFailureCounts(job, failed(0, failures(4))), (real.IndexFailureCounts{Counted: 5}); got != want {
		t.Errorf("got counts %+v, want %+v", got, want)
	}
}

func TestPolicyFunctions(t *testing.T) {
	job := newJob(t)
	pod := newPod(job, "a", corev1.PodFailed, exit(42, 0))
	rule := func(action batchv1.PodFailurePolicyAction) *batchv1.PodFailurePolicy {
		return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:      action,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: "In", Values: []int32{42}},
		}}}
	}
	for _, tt := range []struct {
		policy *batchv1.PodFailurePolicy
		want   real.FailureMatch
	}{
		{nil, real.FailureMatch{Counted: true}},
		{rule("Ignore"), real.FailureMatch{Action: "Ignore"}},
		{rule("FailJob"), real.FailureMatch{
			Action: "FailJob", Counted: true,
			Message: "Container main for pod ns/a failed with exit code 42 matching FailJob rule at index 0",
		}},
	} {
		if got := real.MatchFailurePolicy(tt.policy, pod); got != tt.want {
			t.Errorf("got %+v, want %+v", got, tt.want)
		}
	}

	policy := &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("0-2")}}}
	if got := real.MatchSuccessPolicy(policy, 5, real.Intervals{{0, 1}}); got != "" {
		t.Errorf("0,1 of 0-2: got %q, want no match", got)
	}
	if got, want := real.MatchSuccessPolicy(policy, 5, real.Intervals{{0, 3}}), "Matched rules at index 0"; got != want {
		t.Errorf("0-3 of 0-2: got %q, want %q", got, want)
	}
}

func TestPodFunctions(t *testing.T) {
	job := newJob(t, size(3, 6), indexed, func(s *batchv1.JobSpec) {
		s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		s.BackoffLimit = new(int32(2))
	})
	restarted := func(n int32) []*corev1.Pod {
		return []*corev1.Pod{newPod(job, "a", corev1.PodRunning, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}}
		})}
	}
	if real.PastBackoffLimitOnFailure(job, restarted(1)) || !real.PastBackoffLimitOnFailure(job, restarted(2)) {
		t.Error("a limit of 2 is passed by 2 restarts and not by 1; got otherwise")
	}

	active := []*corev1.Pod{
		newPod(job, "c", corev1.PodRunning, index(3)),
		newPod(job, "b", corev1.PodRunning, index(1)),
		newPod(job, "a", corev1.PodPending, index(1)),
	}
	removed := real.ActivePodsForRemoval(job, active, 0)
	if len(removed) != 1 || removed[0].Name != "a" {
		t.Errorf("removed %d pods, want the pending one of the two for index 1", len(removed))
	}
	if active[0].Name != "c" {
		t.Error("ActivePodsForRemoval sorts the caller's slice")
	}

	got := real.FirstPendingIndexes(job, active, real.Intervals{{0, 0}}, &real.Intervals{{4, 4}}, 5)
	if want := []int{2, 5}; !reflect.DeepEqual(got, want) {
		t.Errorf("pending %v, want %v", got, want)
	}
	if got := real.FirstPendingIndexes(job, nil, nil, nil, 2); !reflect.DeepEqual(got, []int{0, 1}) {
		t.Errorf("pending %v, want 0 and 1", got)
	}
}
