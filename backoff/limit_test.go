package backoff_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

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
	Same(t, "FinishTime(nil)", backoff.FinishTime(nil), time.Time{})
	running := pod(corev1.PodRunning)
	Same(t, "allocations of Restarts", testing.AllocsPerRun(100, func() { backoff.Restarts(running) }), 0)
}

// KEP-3850, early draft: "We propose the addition of a new enum field in PodFailurePolicy called backoffLimitTarget, that
// accepts the values Job and Index. Job (the default value) would have the same behavior as the current implementation".
// The fields are those of a JobSpec, and back in the form of the draft.
func TestConvert(t *testing.T) {
	for _, tc := range []struct {
		spec, want, back string
		err              string // the beginning of the error
	}{
		{`{}`, `{}`, `{"backoffLimitTarget":"Job"}`, ""},
		{`{"backoffLimit":3,"backoffLimitTarget":"Job"}`, `{"backoffLimit":3}`, `{"backoffLimit":3,"backoffLimitTarget":"Job"}`, ""},
		{`{"backoffLimit":0}`, `{"backoffLimit":0}`, `{"backoffLimit":0,"backoffLimitTarget":"Job"}`, ""},
		{`{"backoffLimit":3}`, `{"backoffLimit":3}`, `{"backoffLimit":3,"backoffLimitTarget":"Job"}`, ""},
		{`{"backoffLimit":3,"backoffLimitTarget":"Index"}`, `{"backoffLimitPerIndex":3}`, `{"backoffLimit":3,"backoffLimitTarget":"Index"}`, ""},
		{`{"backoffLimitTarget":"Index"}`, `{"backoffLimitPerIndex":6}`, `{"backoffLimit":6,"backoffLimitTarget":"Index"}`, ""},
		{`{"backoffLimit":3,"podFailurePolicy":{"rules":[{"action":"FailIndex"}],"backoffLimitTarget":"Index"}}`,
			`{"backoffLimitPerIndex":3}`, `{"backoffLimit":3,"backoffLimitTarget":"Index"}`, ""},
		{`{"backoffLimit":3,"podFailurePolicy":{"backoffLimitTarget":"Job"}}`, `{"backoffLimit":3}`, `{"backoffLimit":3,"backoffLimitTarget":"Job"}`, ""},
		{`{"backoffLimitTarget":"Index","podFailurePolicy":{}}`, `{"backoffLimitPerIndex":6}`, `{"backoffLimit":6,"backoffLimitTarget":"Index"}`, ""},
		{`{"backoffLimitTarget":"Index","podFailurePolicy":{"backoffLimitTarget":"Index"}}`, `{"backoffLimitPerIndex":6}`,
			`{"backoffLimit":6,"backoffLimitTarget":"Index"}`, ""},
		{`{"backoffLimitTarget":"Job","podFailurePolicy":{"backoffLimitTarget":"Index"}}`, "", "", "podFailurePolicy.backoffLimitTarget: "},
		{`{"podFailurePolicy":{"backoffLimitTarget":"index"}}`, "", "", "podFailurePolicy.backoffLimitTarget: "},
		{`{"backoffLimit":-3,"backoffLimitTarget":"Index"}`, "", "", "backoffLimit: "},
		{`{"backoffLimit":-1}`, "", "", "backoffLimit: "},
		{`{"backoffLimitTarget":"Pod"}`, "", "", `backoffLimitTarget: unknown target "Pod"`},
	} {
		var draft backoff.Draft
		if err := json.Unmarshal([]byte(tc.spec), &draft); err != nil {
			t.Fatal(err)
		}
		fields, err := backoff.Convert(draft)
		if tc.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tc.err) {
				t.Errorf("%s: error %v, want one that begins with %q", tc.spec, err, tc.err)
			}
			continue
		}
		Same(t, tc.spec+": error", err, nil)
		back := Must(fields.Draft())
		for _, limit := range []*int32{draft.BackoffLimit, back.BackoffLimit} {
			if limit != nil {
				*limit++ // the fields do not share it
			}
		}
		Same(t, tc.spec, string(Must(json.Marshal(fields))), tc.want)
		Same(t, tc.spec+", and back", string(Must(json.Marshal(Must(fields.Draft())))), tc.back)
	}
	fields := backoff.Fields{BackoffLimit: new(int32(math.MaxInt32)), BackoffLimitPerIndex: new(int32(2))} // as defaulted
	Same(t, "defaulted fields", Must(fields.Draft()), backoff.Draft{BackoffLimit: new(int32(2)), BackoffLimitTarget: "Index"})
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
