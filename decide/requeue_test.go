package decide

import (
	"math"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// The next sync is due when the first of the things happens that a Job waits for. A pod that backs off waits for
// at least a batch period; the deadline does not.
func TestRequeue_isTheSoonest(t *testing.T) {
	failed := func(finished ...int) func(*scene) { // the pods of the first indexes
		return func(s *scene) {
			for i, at := range finished {
				s.pod(string(rune('a'+i)), i+1, corev1.PodFailed, at)
			}
		}
	}
	tripled := func(of func(*scene)) func(*scene) { // the delays: 5 s, 15 s, 45 s
		return func(s *scene) {
			s.config = *configure([]Option{BatchPeriod(3 * time.Second), Backoff(backoff.Policy{Base: 5 * time.Second, Factor: 3})})
			of(s)
		}
	}
	const perIndex = "parallelism: 3\ncompletions: 3\nbackoffLimitPerIndex: 5" + indexed
	const deadline = "parallelism: 1\ncompletions: 1\nactiveDeadlineSeconds: 10"
	runs := func(s *scene) { s.Job.Status.StartTime = s.stored(0); s.pod("a", 1, corev1.PodRunning, 0) }
	for _, test := range []struct {
		name  string
		spec  string
		now   int
		scene func(*scene)
		want  time.Duration
	}{
		{"the index that is ready first, between two others", perIndex, 5, failed(4, 0, 2), 5 * time.Second},
		{"an index, less than a batch period before it is ready", perIndex, 8, failed(2, 0, 2), 3 * time.Second},
		{"the Job, less than a batch period before it is ready", "parallelism: 1\ncompletions: 3", 8, failed(0), 3 * time.Second},
		{"the Job, with other delays", "parallelism: 1\ncompletions: 3", 1, tripled(failed(0, 0)), 14 * time.Second},
		{"an index, with other delays", perIndex, 1, tripled(failed(0)), 4 * time.Second},
		{"less than a batch period before the deadline", deadline, 8, runs, 2 * time.Second},
		{"at the deadline", deadline, 10, runs, 0},
		{"after the deadline", deadline, 15, runs, 0},
		{"before the deadline, while the Job fails already", deadline, 5,
			func(s *scene) { runs(s); s.condition(batchv1.JobFailureTarget) }, 0},
		{"before the deadline, which comes before the end of the delay", deadline + "\nbackoffLimit: 5", 8,
			func(s *scene) { s.Job.Status.StartTime = s.stored(0); failed(7)(s) }, 2 * time.Second},
		{"before the deadline, after the end of the delay", "parallelism: 1\ncompletions: 1\nactiveDeadlineSeconds: 60", 4,
			func(s *scene) { s.Job.Status.StartTime = s.stored(0); failed(1)(s) }, 7 * time.Second},
		{"before the deadline, while a pod is lost sooner", deadline, 4, func(s *scene) {
			runs(s)
			s.config.LostAfter, s.Pods[0].Spec.NodeName = 5*time.Second, "node"
			s.Pods[0].DeletionTimestamp, s.Pods[0].Status.Conditions = s.stored(2), nil
		}, 3 * time.Second},
	} {
		s := newScene(t, test.spec)
		s.config.BatchPeriod = 3 * time.Second
		test.scene(s)
		s.Now = s.at(test.now)
		Same(t, test.name, s.outcome(t).Requeue, test.want)
	}
}

// What the throttle puts off is not yet in the record, and sends neither events nor metrics. It puts off neither the
// metrics of created pods nor the deadline.
func TestThrottle_putsOffTheRecordToo(t *testing.T) {
	s := newScene(t, "parallelism: 2\ncompletions: 3")
	s.Job.Status.StartTime, s.LastStatus, s.Now = s.stored(0), s.at(0), s.at(4)
	s.config.Throttle.Every, s.config.Throttle.Share = 10*time.Second, 1
	s.pod("a", 1, corev1.PodFailed, 2)
	d := s.expect(t, "a failure", "failed 1; sync in 6s")
	Same(t, "the record", d.Backoff, backoff.Record{Job: s.Job.UID})
	Same(t, "the record that the delay follows", d.Facts().Plan.Record, backoff.Record{Job: s.Job.UID, Failures: 1, LastFailure: s.at(2)})
	Same(t, "events and metrics", len(d.Events)+len(d.Metrics), 0)

	s.Pods[0].Status.Phase = corev1.PodSucceeded
	d = s.expect(t, "a success", "create 2; sync in 6s")
	Same(t, "metrics of pods", Texts(d.Metrics), []string{"job_pods_creation_total reason=new status=succeeded 2"})
	s.Job.Spec.ActiveDeadlineSeconds = new(int64(7))
	s.expect(t, "the deadline comes first", "create 2; sync in 3s")
}

// KEP-2307 § Algorithm: "Steps 2 to 4 might be skipped in the scenario where a
// status update happened too recently and the number of uncounted Pods is a small
// percentage of parallelism."
func TestThrottled(t *testing.T) {
	tenth := throttle{Every: 10 * time.Second, Share: 0.1}
	ago := func(d time.Duration) time.Time { return Noon().Add(-d) }
	for _, tc := range []struct {
		reason      string
		throttle    throttle
		last        time.Time
		recorded    int
		parallelism int32
		want        time.Duration
	}{
		{"too recent and few", tenth, ago(4 * time.Second), 10, 100, 6 * time.Second},
		{"more than a small part", tenth, ago(4 * time.Second), 11, 100, 0},
		{"long ago", tenth, ago(10 * time.Second), 1, 100, 0},
		{"very long ago", tenth, ago(time.Hour), 1, 100, 0},
		{"just now", tenth, Noon(), 0, 100, 10 * time.Second},
		{"no parallelism, nothing recorded", tenth, Noon(), 0, 0, 10 * time.Second},
		{"no parallelism", tenth, Noon(), 1, 0, 0},
		{"no status was written", tenth, time.Time{}, 0, 100, 0},
		{"the clock went back", tenth, Noon().Add(time.Nanosecond), 0, 100, 0},
		{"the zero Throttle", throttle{}, Noon(), 0, 100, 0},
		{"a share of 1", throttle{Every: time.Second, Share: 1}, Noon(), math.MaxInt32, math.MaxInt32, time.Second},
	} {
		Same(t, tc.reason, throttled(tc.throttle, tc.last, Noon(), tc.recorded, tc.parallelism), tc.want)
	}
}
