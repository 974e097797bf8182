package functions

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
	"github.com/jobfate/jobfate/tracking"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// instant draws a time near noon. Draws often agree, and a few are zero.
func (d draw) instant() metav1.Time {
	switch {
	case d.percent(6):
		return metav1.Time{}
	case d.percent(10):
		return metav1.NewTime(noon.Add(time.Duration(d.Int64N(2e12)) - 1e12))
	}
	return metav1.NewTime(noon.Add(time.Duration(d.upTo(60)-30) * time.Second))
}

func (d draw) containerStatus(name string) corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: name, RestartCount: int32(d.upTo(4))}
	if d.percent(80) {
		s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: pick[int32](d, 1, 0, 2, 3, 42, 137), FinishedAt: d.instant()}
	} else if d.percent(50) {
		s.State.Running = &corev1.ContainerStateRunning{}
	}
	return s
}

// pod draws a pod with all fields that contain a time.
func (d draw) pod(name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: d.instant()}}
	for i := range d.upTo(3) {
		c := corev1.Container{Name: fmt.Sprint("c", i)}
		p.Spec.Containers = append(p.Spec.Containers, c)
		if d.percent(90) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, d.containerStatus(c.Name))
		}
	}
	for i := range d.upTo(2) {
		c := corev1.Container{Name: fmt.Sprint("i", i)}
		if d.percent(60) {
			c.RestartPolicy = new(pick(d, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever))
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		if d.percent(90) {
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, d.containerStatus(c.Name))
		}
	}
	for range d.upTo(2) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type:               pick(d, corev1.PodReady, corev1.PodReady, corev1.DisruptionTarget, "Custom"),
			Status:             pick(d, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown),
			LastTransitionTime: d.instant(),
		})
	}
	if d.percent(30) {
		p.DeletionTimestamp = new(d.instant())
		if d.percent(80) {
			p.DeletionGracePeriodSeconds = new(pick[int64](d, 30, 0, 1, 3600))
		}
	}
	p.Status.Phase = pick(d, corev1.PodFailed, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded, corev1.PodUnknown)
	return p
}

// ended draws a pod that has finished.
func (d draw) ended(name string, phase corev1.PodPhase) *corev1.Pod {
	p := d.pod(name)
	p.Status.Phase = phase
	return p
}

// getFinishedTime is only called for pods that count as succeeded or failed. For another pod it
// returns a time at which the pod did not finish; jobfate returns none.
func TestFinishTime(t *testing.T) {
	each(t, 1, func(t *testing.T, d draw, reached func(string)) {
		p := d.pod("pod")
		got, want := backoff.FinishTime(p), real.FinishedTime(p)
		unfinished := p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
		if unfinished && !got.IsZero() || !unfinished && !got.Equal(want) {
			t.Errorf("jobfate %v, Kubernetes %v for %s", got, want, text(p))
		}
		reached(fmt.Sprintf("finished: %t, when it was created: %t", !unfinished, want.Equal(p.CreationTimestamp.Time)))
	})
}

// The base is never above the cap here, because the Job controller would not cap the first
// delay. Its own base and cap are constants.
func TestRemaining(t *testing.T) {
	each(t, 1, func(t *testing.T, d draw, reached func(string)) {
		base := pick(d, 10*time.Second, 10*time.Second, time.Second, time.Duration(1+d.Int64N(1e12)))
		limit := pick(d, 10*time.Minute, base, base+time.Duration(d.Int64N(1e14)))
		if base > limit {
			base = limit
		}
		failures := pick(d, int32(d.upTo(9)), int32(d.upTo(80)), math.MaxInt32)
		last := d.instant().Time
		delay := min(limit, base<<min(max(failures-1, 0), 20))
		now := last.Add(pick(d, delay, delay+1, delay-1, time.Duration(d.Int64N(2e13))-1e13))
		p := backoff.Policy{Base: base, Cap: limit}
		got, want := p.Remaining(failures, last, now), real.Remaining(now, base, limit, failures, &last)
		if got != want {
			t.Errorf("base %v, cap %v, %d failures, last %v, now %v: jobfate %v, Kubernetes %v", base, limit, failures, last, now, got, want)
		}
		reached(fmt.Sprintf("over: %t, capped: %t", want == 0, delay == limit))
	})
}

func TestRecord(t *testing.T) {
	each(t, 10, func(t *testing.T, d draw, reached func(string)) {
		var old *real.Record
		var record backoff.Record
		if d.percent(60) {
			record = backoff.Record{Failures: int32(1 + d.upTo(5)), LastFailure: d.instant().Time}
			old = &real.Record{Failures: record.Failures, LastFailure: &record.LastFailure}
		}
		var succeeded, failed []*corev1.Pod
		var succeededAt, failedAt []time.Time
		for range d.upTo(3) {
			succeeded = append(succeeded, d.ended("s", corev1.PodSucceeded))
			succeededAt = append(succeededAt, backoff.FinishTime(succeeded[len(succeeded)-1]))
		}
		for range d.upTo(5) {
			failed = append(failed, d.ended("f", corev1.PodFailed))
			failedAt = append(failedAt, backoff.FinishTime(failed[len(failed)-1]))
		}
		got := record.With(succeededAt, failedAt)
		want := real.NextRecord(old, succeeded, failed)
		var last time.Time
		if want.LastFailure != nil {
			last = *want.LastFailure
		}
		if got.Failures != want.Failures || !got.LastFailure.Equal(last) {
			t.Errorf("record %s, succeeded %v, failed %v: jobfate %s, Kubernetes %d, %v", text(record), succeededAt, failedAt, text(got), want.Failures, last)
		}
		reached(fmt.Sprintf("successes: %t, failures: %t, record: %t", len(succeeded) > 0, len(failed) > 0, old != nil))
	})
}

// countAnnotation draws a value of one of the two annotations. Empty means no annotation.
func (d draw) countAnnotation() string {
	return pick(d, strconv.Itoa(d.upTo(12)), strconv.Itoa(d.upTo(12)), "", "0",
		pick(d, "x", "-3", "+4", "007", " 1", "1e3", "2147483646", "2147483647", "2147483648", "4294967297", "99999999999999999999"))
}

// saturation: "failure counts of 2147483647 in annotations become negative" in
// Kubernetes; jobfate stops at the largest value.
func TestCounts(t *testing.T) {
	each(t, 5, func(t *testing.T, d draw, reached func(string)) {
		p := d.ended("pod", corev1.PodFailed)
		p.Annotations = map[string]string{}
		for _, key := range []string{batchv1.JobIndexFailureCountAnnotation, batchv1.JobIndexIgnoredFailureCountAnnotation} {
			if v := d.countAnnotation(); v != "" {
				p.Annotations[key] = v
			}
		}
		job := &batchv1.Job{}
		if d.percent(70) {
			job.Spec.PodFailurePolicy = d.failurePolicy()
		}
		names := tracking.Keys{}.WithDefaults()
		counts := classify.CountsOf(&names, p.Annotations)
		ignored := real.MatchFailurePolicy(job.Spec.PodFailurePolicy, p).Action == batchv1.PodFailurePolicyActionIgnore
		next := counts.Next(!ignored)
		wantCounted, wantIgnored := real.NextIndexFailureCounts(job, p)
		if wraps := wantCounted < 0 || wantIgnored < 0; wraps {
			if next.Failures != math.MaxInt32 && next.Ignored != math.MaxInt32 {
				t.Errorf("%v: Kubernetes wraps around to %d, %d, jobfate has %+v", p.Annotations, wantCounted, wantIgnored, next)
			}
			reached("saturation")
			return
		}
		if next.Failures != wantCounted || next.Ignored != wantIgnored {
			t.Errorf("%v, ignored %t: jobfate %+v, Kubernetes %d, %d", p.Annotations, ignored, next, wantCounted, wantIgnored)
		}
		last := backoff.FinishTime(p)
		now := last.Add(time.Duration(d.Int64N(2e12)) - 5e11)
		total := int64(counts.Failures) + int64(counts.Ignored) + 1
		if total > math.MaxInt32 {
			reached("saturation of the sum")
			return
		}
		delay := backoff.Policy{}.Remaining(counts.Next(true).Total(), last, now)
		if want := real.RemainingPerIndex(now, 10*time.Second, 10*time.Minute, p); delay != want {
			t.Errorf("%v, %v after the failure: jobfate waits %v, Kubernetes %v", p.Annotations, now.Sub(last), delay, want)
		}
		reached(fmt.Sprintf("ignored: %t, waits: %t", ignored, delay > 0))
	})
}

func TestRestarts(t *testing.T) {
	each(t, 4, func(t *testing.T, d draw, reached func(string)) {
		job := &batchv1.Job{}
		job.Spec.BackoffLimit = new(int32(d.upTo(8)))
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		var pods []*corev1.Pod
		var sum int64
		for range d.upTo(3) {
			p := d.pod("pod")
			pods = append(pods, p)
			sum += backoff.Restarts(p)
		}
		got, want := backoff.LimitOf(&job.Spec).RestartsExceeded(sum), real.PastBackoffLimitOnFailure(job, pods)
		if got != want {
			t.Errorf("backoffLimit %d, %d restarts: jobfate %t, Kubernetes %t", *job.Spec.BackoffLimit, sum, got, want)
		}
		reached(fmt.Sprintf("exceeded: %t", want))
	})
}
