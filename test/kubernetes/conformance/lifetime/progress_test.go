package lifetime

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// While the pods of a large Job are created for an hour, and the watches lag, jobfate has at any time
// stored at least as many statuses as the real controller with its default gates. None of them omits
// a running pod that an earlier one counts.
func TestProgress_whileCreationsGoOn(t *testing.T) {
	for _, test := range []struct {
		name     string
		delay    time.Duration
		atOnce   int
		slowest  time.Duration
		succeeds int
	}{
		{"a lag of two seconds", 2 * time.Second, 1, 6 * time.Hour, 100},
		{"a lag of ten seconds", 10 * time.Second, 3, 6 * time.Hour, 100},
		{"a lag of a minute", time.Minute, 10, 6 * time.Hour, 100},
		{"a lag of a minute, and pods that end and fail", time.Minute, 10, time.Hour, 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			const hour = time.Hour
			many := int32(5000)
			job := &batchv1.Job{}
			job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &many, &many, &many
			job.Spec.Template.Spec = corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}},
			}
			p := &plan{
				job: job, seed: 7, delay: test.delay, succeeds: test.succeeds, attempts: int(many),
				slowest: test.slowest, limits: real.Limits{MaxCreateDelete: test.atOnce},
			}
			us, them := newLife(t, p, newJobfateSide(p, 0)), &kubernetesSide{limits: p.limits}
			kubernetes := newLife(t, p, them)
			for _, l := range []*life{us, kubernetes} {
				if l.run(hour) || len(l.Pods()) == 0 || len(l.Pods()) >= int(many) {
					t.Fatalf("%T has created %d pods, want the creations to go on", l.controller, len(l.Pods()))
				}
			}
			for minute := range 61 {
				at := jobtest.Noon().Add(time.Duration(minute) * time.Minute)
				if a, b := us.writesBefore(at), kubernetes.writesBefore(at); a < b {
					t.Errorf("in %d minutes jobfate stores %d statuses, Kubernetes %d", minute, a, b)
				}
			}
			for i, w := range us.written {
				if i == 0 || test.slowest <= hour {
					continue
				}
				if before, now := us.written[i-1].status, w.status; now.Active+now.Succeeded < before.Active {
					t.Errorf("at %s active falls from %d to %d, and %d pods have succeeded", w.at, before.Active, now.Active, now.Succeeded)
				}
			}
			t.Logf("statuses: jobfate %d, Kubernetes %d; pods: %d and %d; Kubernetes skips %d of %d syncs",
				len(us.written), len(kubernetes.written), len(us.Pods()), len(kubernetes.Pods()), them.skips, them.syncs)
		})
	}
}

// writesBefore returns the number of syncs before a time that have stored a status. A sync that counts
// pods stores two.
func (l *life) writesBefore(at time.Time) (n int) {
	for i, w := range l.written {
		if w.at.Before(at) && (i == 0 || w.at.After(l.written[i-1].at)) {
			n++
		}
	}
	return n
}
