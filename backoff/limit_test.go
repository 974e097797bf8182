package backoff_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

func TestLimitOf(t *testing.T) {
	for name, tc := range map[string]struct {
		spec *batchv1.JobSpec
		want backoff.Limit
	}{
		"nil":           {nil, backoff.Limit{Target: backoff.TargetJob, PerJob: 6}},
		"not defaulted": {&batchv1.JobSpec{}, backoff.Limit{Target: backoff.TargetJob, PerJob: 6}},
		"zero":          {&batchv1.JobSpec{BackoffLimit: new(int32(0))}, backoff.Limit{Target: backoff.TargetJob}},
		// KEP-3850: "when .spec.backoffLimitPerIndex is specified, then we default
		// .spec.backoffLimit to max int32 value".
		"per index": {&batchv1.JobSpec{BackoffLimitPerIndex: new(int32(1))},
			backoff.Limit{Target: backoff.TargetIndex, PerJob: math.MaxInt32, PerIndex: 1}},
		// KEP-3850: "We allow to specify custom .spec.backoffLimit and
		// .spec.backoffLimitPerIndex."
		"both": {&batchv1.JobSpec{BackoffLimit: new(int32(9)), BackoffLimitPerIndex: new(int32(0))},
			backoff.Limit{Target: backoff.TargetIndex, PerJob: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			Same(t, "LimitOf", backoff.LimitOf(tc.spec), tc.want)
		})
	}
}

// KEP-3850: "the value of the annotation batch.kubernetes.io/job-index-failure-count
// is greater or equal to the configured backoff limit per index then the index
// is marked as failed".
func TestIndexExhausted(t *testing.T) {
	index := backoff.Limit{Target: backoff.TargetIndex, PerIndex: 2}
	for failures, want := range map[int32]bool{0: false, 1: false, 2: true, 3: true, math.MaxInt32: true} {
		Same(t, fmt.Sprintf("limit 2: IndexExhausted(%d)", failures), index.IndexExhausted(failures), want)
	}
	if (backoff.Limit{Target: backoff.TargetJob}).IndexExhausted(math.MaxInt32) {
		t.Error("a limit per Job exhausts an index")
	}
	if (backoff.Limit{}).IndexExhausted(0) {
		t.Error("the zero Limit exhausts an index")
	}
}

// Blog, Kubernetes 1.28: "indexes 1 and 2 were both retried once. After the
// second failure, in each of them, the specified .spec.backoffLimitPerIndex was
// exceeded, so the retries were stopped."
func TestBackoffLimitPerIndexOfOneRetriesOnce(t *testing.T) {
	limit := backoff.LimitOf(&batchv1.JobSpec{BackoffLimitPerIndex: new(int32(1))})
	pod := tracking.Counts{}
	pods := 1
	for !limit.IndexExhausted(pod.Failures) {
		pod = pod.Next(true)
		pods++
	}
	Same(t, "pods", pods, 2)
}

func TestRestarts(t *testing.T) {
	pod := func(phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{
			Phase:                 phase,
			InitContainerStatuses: []corev1.ContainerStatus{{RestartCount: 1}, {RestartCount: math.MaxInt32}},
			ContainerStatuses:     []corev1.ContainerStatus{{RestartCount: 20}, {RestartCount: 300}},
		}}
	}
	for phase, want := range map[corev1.PodPhase]int64{
		corev1.PodRunning:   321 + math.MaxInt32,
		corev1.PodPending:   321 + math.MaxInt32,
		corev1.PodFailed:    0,
		corev1.PodSucceeded: 0,
		corev1.PodUnknown:   0,
		"":                  0,
	} {
		Same(t, fmt.Sprintf("Restarts of a pod %q", phase), backoff.Restarts(pod(phase)), want)
	}
	Same(t, "Restarts(nil)", backoff.Restarts(nil), 0)
	running := pod(corev1.PodRunning)
	Same(t, "allocations of Restarts", testing.AllocsPerRun(100, func() { backoff.Restarts(running) }), 0)
}

// KEP-3850, early draft: "a new enum field in PodFailurePolicy called
// backoffLimitTarget, that accepts the values Job and Index. Job (the default
// value) would have the same behavior as the current implementation".
func TestConvert(t *testing.T) {
	for name, tc := range map[string]struct {
		draft backoff.Draft
		want  backoff.Fields
		back  backoff.Draft
	}{
		"nothing":        {backoff.Draft{}, backoff.Fields{}, backoff.Draft{BackoffLimitTarget: "Job"}},
		"job":            {backoff.Draft{BackoffLimit: new(int32(3)), BackoffLimitTarget: "Job"}, backoff.Fields{BackoffLimit: new(int32(3))}, backoff.Draft{BackoffLimit: new(int32(3)), BackoffLimitTarget: "Job"}},
		"job by default": {backoff.Draft{BackoffLimit: new(int32(3))}, backoff.Fields{BackoffLimit: new(int32(3))}, backoff.Draft{BackoffLimit: new(int32(3)), BackoffLimitTarget: "Job"}},
		"index":          {backoff.Draft{BackoffLimit: new(int32(3)), BackoffLimitTarget: "Index"}, backoff.Fields{BackoffLimitPerIndex: new(int32(3))}, backoff.Draft{BackoffLimit: new(int32(3)), BackoffLimitTarget: "Index"}},
		"index, default limit": {backoff.Draft{BackoffLimitTarget: "Index"}, backoff.Fields{BackoffLimitPerIndex: new(int32(6))},
			backoff.Draft{BackoffLimit: new(int32(6)), BackoffLimitTarget: "Index"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := backoff.Convert(tc.draft)
			if err != nil {
				t.Fatalf("Convert: %v", err)
			}
			Same(t, "Convert", got, tc.want)
			back, err := got.Draft()
			if err != nil {
				t.Fatalf("Draft: %v", err)
			}
			Same(t, "Draft", back, tc.back)
		})
	}
}

// The API server sets backoffLimit to MaxInt32 by default if backoffLimitPerIndex is set.
// Draft treats it like nil.
func TestDraftOfDefaultedFields(t *testing.T) {
	got, err := backoff.Fields{BackoffLimit: new(int32(math.MaxInt32)), BackoffLimitPerIndex: new(int32(2))}.Draft()
	if err != nil {
		t.Fatalf("Draft: %v", err)
	}
	Same(t, "Draft", got, backoff.Draft{BackoffLimit: new(int32(2)), BackoffLimitTarget: "Index"})
}

// "We propose the addition of a new enum field in PodFailurePolicy called
// backoffLimitTarget" (the early draft of KEP-3850, Proposal).
func TestConvert_targetInPodFailurePolicy(t *testing.T) {
	for _, tc := range []struct {
		spec string
		want backoff.Fields
		err  string // the beginning of the error
	}{
		{spec: `{"backoffLimit": 3, "podFailurePolicy": {"rules": [{"action": "FailIndex"}], "backoffLimitTarget": "Index"}}`,
			want: backoff.Fields{BackoffLimitPerIndex: new(int32(3))}},
		{spec: `{"backoffLimit": 3, "podFailurePolicy": {"backoffLimitTarget": "Job"}}`, want: backoff.Fields{BackoffLimit: new(int32(3))}},
		{spec: `{"backoffLimit": 3, "podFailurePolicy": {}}`, want: backoff.Fields{BackoffLimit: new(int32(3))}},
		{spec: `{"podFailurePolicy": {"backoffLimitTarget": "Index"}}`, want: backoff.Fields{BackoffLimitPerIndex: new(int32(6))}},
		{spec: `{"backoffLimitTarget": "Index", "podFailurePolicy": {"rules": []}}`, want: backoff.Fields{BackoffLimitPerIndex: new(int32(6))}},
		{spec: `{"backoffLimitTarget": "Index", "podFailurePolicy": {"backoffLimitTarget": "Index"}}`, want: backoff.Fields{BackoffLimitPerIndex: new(int32(6))}},
		{spec: `{"backoffLimitTarget": "Job", "podFailurePolicy": {"backoffLimitTarget": "Index"}}`, err: "podFailurePolicy.backoffLimitTarget: "},
		{spec: `{"podFailurePolicy": {"backoffLimitTarget": "index"}}`, err: "podFailurePolicy.backoffLimitTarget: "},
		{spec: `{"backoffLimit": -3, "backoffLimitTarget": "Index"}`, err: "backoffLimit: "},
		{spec: `{"backoffLimit": -1}`, err: "backoffLimit: "},
		{spec: `{"backoffLimitTarget": "Pod"}`, err: `backoffLimitTarget: unknown target "Pod"`},
	} {
		var draft backoff.Draft
		if err := json.Unmarshal([]byte(tc.spec), &draft); err != nil {
			t.Fatal(err)
		}
		got, err := backoff.Convert(draft)
		if tc.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tc.err) {
				t.Errorf("%s: error %v, want one that begins with %q", tc.spec, err, tc.err)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", tc.spec, err, diff)
		}
	}
}

// A limit that the API server rejects is an error in both directions. KEP-3850, Use enum field: "it does not allow to
// set both .spec.backoffLimit and .spec.backoffLimitPerIndex to control the downgrade".
func TestDraft_errorsNameTheField(t *testing.T) {
	for _, tc := range []struct {
		fields backoff.Fields
		field  string
	}{
		{backoff.Fields{BackoffLimit: new(int32(-1))}, "backoffLimit"},
		{backoff.Fields{BackoffLimitPerIndex: new(int32(-3))}, "backoffLimitPerIndex"},
		{backoff.Fields{BackoffLimit: new(int32(4)), BackoffLimitPerIndex: new(int32(2))}, "backoffLimit"},
	} {
		if _, err := tc.fields.Draft(); err == nil || !strings.HasPrefix(err.Error(), tc.field+": ") {
			t.Errorf("error %v, want one that names %s", err, tc.field)
		}
	}
}

func TestConvertSharesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draft := backoff.Draft{
			BackoffLimit:       new(rapid.Int32Range(0, math.MaxInt32-1).Draw(t, "limit")),
			BackoffLimitTarget: rapid.SampledFrom([]backoff.Target{"", "Job", "Index"}).Draw(t, "target"),
		}
		limit := *draft.BackoffLimit
		fields, err := backoff.Convert(draft)
		if err != nil {
			t.Fatalf("Convert: %v", err)
		}
		back, err := fields.Draft()
		if err != nil {
			t.Fatalf("Draft: %v", err)
		}
		*back.BackoffLimit++
		for _, p := range []*int32{fields.BackoffLimit, fields.BackoffLimitPerIndex} {
			if p != nil {
				if *p != limit {
					t.Fatalf("changing the draft changed the fields: %d, want %d", *p, limit)
				}
				*p++
			}
		}
		if *draft.BackoffLimit != limit {
			t.Fatalf("changing the fields changed the draft: %d, want %d", *draft.BackoffLimit, limit)
		}
	})
}
