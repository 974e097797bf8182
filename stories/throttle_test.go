package stories

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/tracking"
)

// anHour delays every status that may be delayed.
var anHour = jobfate.Throttle(tracking.Throttle{Every: time.Hour, Share: 1})

// throttled returns a Job with a pod to count, whose status was stored just now.
func throttled(t *testing.T, manifest string, phase corev1.PodPhase) jobfate.Snapshot {
	job := specJob(t, manifest)
	job.Status.StartTime = &metav1.Time{Time: job.CreationTimestamp.Time}
	now := job.CreationTimestamp.Add(time.Second)
	return jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, phase)}, Now: now, LastStatus: now}
}

// The throttle never delays what users wait for: the end of a Job is stored at once.
func TestThrottle_neverDelaysTheEnd(t *testing.T) {
	for _, test := range []struct {
		name, manifest string
		phase          corev1.PodPhase
		want           batchv1.JobConditionType // empty: the Job does not end
	}{
		{"goes on", "completions: 4\nparallelism: 4", corev1.PodSucceeded, ""},
		{"succeeds", "completions: 1\nparallelism: 4", corev1.PodSucceeded, batchv1.JobSuccessCriteriaMet},
		{"fails", "completions: 4\nparallelism: 4\nbackoffLimit: 0", corev1.PodFailed, batchv1.JobFailureTarget},
	} {
		st := mustDecide(t, throttled(t, test.manifest, test.phase), anHour).Status
		switch {
		case test.want == "" && st != nil:
			t.Errorf("%s: the status %s is stored at once, want it delayed", test.name, toJSON(st))
		case test.want != "" && (st == nil || lifecycle.True(st.Conditions, test.want) == nil):
			t.Errorf("%s: status %s, want %s stored at once", test.name, toJSON(st), test.want)
		}
	}
}

// A status that is delayed for an hour does not delay an earlier deadline.
func TestThrottle_keepsTheDeadline(t *testing.T) {
	s := throttled(t, "completions: 4\nparallelism: 4\nactiveDeadlineSeconds: 60", corev1.PodSucceeded)
	d := mustDecide(t, s, anHour)
	if d.Status != nil || d.Requeue != 59*time.Second {
		t.Errorf("status %s, requeue %s; want no status, and 59s until the deadline", toJSON(d.Status), d.Requeue)
	}
}
