package functions

import (
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/vectors"
)

var aboutBackoff = []subject{
	{
		name: "delay", oracle: "getRemainingTimeForFailuresCount",
		draw: func(d draw) any { return vectors.Delay{Delays: d.delays(), Failures: d.failures()} },
		kubernetes: ifItDoubles(asks(func(in vectors.Delay, out *vectors.Nanoseconds) {
			*out = realWait(vectors.Wait{Delay: in, Last: noon, Now: noon})
		})),
		divergence: waits,
		aimed: []any{
			vectors.Delay{}, vectors.Delay{Failures: -1}, vectors.Delay{Failures: math.MinInt32}, vectors.Delay{Failures: math.MaxInt32},
			vectors.Delay{Failures: 64}, vectors.Delay{Failures: 65}, vectors.Delay{Failures: 66},
			vectors.Delay{Delays: vectors.Delays{Base: 1, Cap: math.MaxInt64}, Failures: 63},
			vectors.Delay{Delays: vectors.Delays{Base: 1, Cap: math.MaxInt64}, Failures: 64},
			vectors.Delay{Delays: vectors.Delays{Base: -1, Cap: -1}, Failures: 2},
			vectors.Delay{Delays: vectors.Delays{Base: 7e9, Cap: 7e9}, Failures: 1},
			vectors.Delay{Delays: vectors.Delays{Base: 7e9, Cap: 7e9}, Failures: 2},
			vectors.Delay{Delays: vectors.Delays{Base: 7e9, Cap: 7e9 - 1}, Failures: 1},
			vectors.Delay{Delays: vectors.Delays{Base: 7e9, Cap: 7e9 - 1}, Failures: 2},
			vectors.Delay{Delays: vectors.Delays{Base: 1e9, Cap: 1e10, Factor: 1}, Failures: 5},
			vectors.Delay{Delays: vectors.Delays{Base: 1e9, Cap: 1e10, Factor: 0.5}, Failures: 5},
			vectors.Delay{Delays: vectors.Delays{Base: 1e9, Cap: 1e10, Factor: -3}, Failures: 5},
			vectors.Delay{Delays: vectors.Delays{Base: 1e9, Cap: 1e10, Factor: 1.5}, Failures: 3},
			vectors.Delay{Delays: vectors.Delays{Base: 1e9, Cap: 9e9, Factor: 3}, Failures: 3},
			vectors.Delay{Delays: vectors.Delays{Base: 1e9, Cap: 9e9, Factor: 3}, Failures: 4},
			vectors.Delay{Delays: vectors.Delays{Base: 1e9, Cap: 1e10, Factor: math.MaxFloat64}, Failures: 9},
		},
	},
	{
		name: "wait", oracle: "getRemainingTimeForFailuresCount",
		draw: func(d draw) any {
			in := vectors.Wait{Delay: vectors.Delay{Delays: d.delays(), Failures: d.failures()}, Last: d.instant().UTC()}
			delay := backoff.Policy{Base: time.Duration(in.Base), Cap: time.Duration(in.Cap), Factor: in.Factor}.Delay(in.Failures)
			in.Now = in.Last.Add(pick(d, 0, delay, delay+1, delay-1, delay/2, time.Duration(d.Int64N(2e12))-1e12))
			return in
		},
		kubernetes: ifItDoubles(asks(func(in vectors.Wait, out *vectors.Nanoseconds) { *out = realWait(in) })),
		divergence: waits,
		aimed: []any{ // clocks that are centuries apart
			vectors.Wait{Delay: vectors.Delay{Failures: 1}, Last: noon.AddDate(500, 0, 0), Now: noon},
			vectors.Wait{Delay: vectors.Delay{Failures: 1}, Last: noon, Now: noon.AddDate(500, 0, 0)},
			vectors.Wait{Delay: vectors.Delay{Failures: 1}, Last: noon.Add(math.MaxInt64 - 10*time.Second), Now: noon},
			vectors.Wait{Delay: vectors.Delay{Failures: 1}, Last: noon.Add(math.MaxInt64 - 10*time.Second - 1), Now: noon},
		},
	},
	{
		name: "record", oracle: "(*backoffStore).newBackoffRecord",
		draw: func(d draw) any {
			var in vectors.Finished
			if d.percent(60) {
				last := d.instant().UTC()
				in.Record = vectors.Backoff{Failures: int32(1 + d.upTo(5)), LastFailure: &last}
			}
			for range d.upTo(3) {
				in.Succeeded = append(in.Succeeded, d.instant().UTC())
			}
			for range d.upTo(5) {
				in.Failed = append(in.Failed, d.instant().UTC())
			}
			return in
		},
		kubernetes: asks(func(in vectors.Finished, out *vectors.Backoff) {
			finished := func(times []time.Time) (pods []*corev1.Pod) {
				for _, t := range times {
					pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(t)}})
				}
				return pods
			}
			var old *real.Record
			if in.Record.Failures > 0 {
				old = &real.Record{Failures: in.Record.Failures, LastFailure: in.Record.LastFailure}
			}
			next := real.NextRecord(old, finished(in.Succeeded), finished(in.Failed))
			*out = vectors.Backoff{Failures: next.Failures}
			if next.LastFailure != nil && !next.LastFailure.IsZero() {
				out.LastFailure = next.LastFailure
			}
		}),
	},
	{
		name: "finishTime", oracle: "getFinishedTime",
		draw: func(d draw) any {
			return vectors.OnePod{Pod: d.ended("pod", pick(d, corev1.PodFailed, corev1.PodFailed, corev1.PodSucceeded, corev1.PodRunning))}
		},
		aimed: sidecars(),
		kubernetes: func(in, ours []byte) any {
			if decoded[vectors.Time](ours).Time.IsZero() {
				return nil // the pod has not finished; getFinishedTime is not called for it
			}
			return asks(func(in vectors.OnePod, out *vectors.Time) { out.Time = real.FinishedTime(in.Pod).UTC() })(in, ours)
		},
	},
	{
		name: "restarts", oracle: "pastBackoffLimitOnFailure",
		draw: func(d draw) any {
			in := vectors.Restarts{BackoffLimit: int32(d.upTo(8))}
			for range d.upTo(3) {
				in.Pods = append(in.Pods, d.pod("pod"))
			}
			return in
		},
		kubernetes: asks(func(in vectors.Restarts, out *vectors.Exceeded) {
			job := &batchv1.Job{}
			job.Spec.BackoffLimit = &in.BackoffLimit
			job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			out.Exceeded = real.PastBackoffLimitOnFailure(job, in.Pods)
		}),
	},
	{
		name: "indexFailures", oracle: "getNewIndexFailureCounts", divergence: always("saturation"),
		draw: func(d draw) any {
			in := vectors.FailedPod{Annotations: map[string]string{}, Ignored: d.percent(30)}
			for _, key := range []string{batchv1.JobIndexFailureCountAnnotation, batchv1.JobIndexIgnoredFailureCountAnnotation} {
				if v := d.countAnnotation(); v != "" {
					in.Annotations[key] = v
				}
			}
			return in
		},
		kubernetes: asks(func(in vectors.FailedPod, out *vectors.Counts) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: in.Annotations}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
			job := &batchv1.Job{}
			if in.Ignored {
				job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
					Action:          batchv1.PodFailurePolicyActionIgnore,
					OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
				}}}
			}
			next := real.NextIndexFailureCounts(job, pod)
			*out = vectors.Counts{Failures: next.Counted, Ignored: next.Ignored}
		}),
	},
	{name: "fromDraft", aimed: drafts()},
	{name: "toDraft", aimed: fields()},
}

// waits returns the divergence that explains a different delay: either the delay of the controller
// overflows, or the base is above the cap.
func waits(in []byte) string {
	if base, limit := settings(decoded[vectors.Delays](in)); base <= limit {
		return "saturation"
	}
	return "base-above-cap"
}

// settings returns the base and the cap, with defaults.
func settings(d vectors.Delays) (base, limit time.Duration) {
	base, limit = time.Duration(d.Base), time.Duration(d.Cap)
	if base <= 0 {
		base = 10 * time.Second
	}
	if limit <= 0 {
		limit = 10 * time.Minute
	}
	return base, limit
}

// ifItDoubles calls the controller's function only if the factor is 2 and the number of
// failures is not negative. The controller has no other factor, and no negative number of
// failures.
func ifItDoubles(asks func(in, ours []byte) any) func(in, ours []byte) any {
	return func(in, ours []byte) any {
		if d := decoded[vectors.Delay](in); d.Factor != 0 && d.Factor != 2 || d.Failures < 0 {
			return nil
		}
		return asks(in, ours)
	}
}

// realWait returns the delay of the controller.
func realWait(in vectors.Wait) vectors.Nanoseconds {
	base, limit := settings(in.Delays)
	return vectors.Nanoseconds{Nanoseconds: real.Remaining(in.Now, base, limit, in.Failures, &in.Last).Nanoseconds()}
}

func (d draw) delays() (out vectors.Delays) {
	if d.percent(50) {
		out.Base = pick(d, 1e9, 1e9, 7e9, 1+d.Int64N(1e12))
	}
	if d.percent(50) {
		out.Cap = pick(d, 1e10, 1e12, 1+d.Int64N(1e14))
	}
	if d.percent(15) {
		out.Factor = pick(d, 1, 1.5, 2, 3, 10)
	}
	return out
}

func (d draw) failures() int32 {
	return pick(d, int32(d.upTo(9)), int32(d.upTo(9)), int32(d.upTo(80)), math.MaxInt32)
}

var targets = []backoff.Target{"", backoff.TargetJob, backoff.TargetIndex, "Other"}

// drafts returns the drafts with all combinations of a few values.
func drafts() (all []any) {
	for _, limit := range []*int32{nil, new(int32(-1)), new(int32(0)), new(int32(3))} {
		for _, target := range targets {
			all = append(all, backoff.Draft{BackoffLimit: limit, BackoffLimitTarget: target})
			for _, other := range targets {
				all = append(all, backoff.Draft{BackoffLimit: limit, BackoffLimitTarget: target, PodFailurePolicy: &backoff.DraftPolicy{BackoffLimitTarget: other}})
			}
		}
	}
	return all
}

// fields returns the fields with all combinations of a few values.
func fields() (all []any) {
	values := []*int32{nil}
	for _, n := range []int32{-1, 0, 3, math.MaxInt32} {
		values = append(values, &n)
	}
	for _, limit := range values {
		for _, perIndex := range values {
			all = append(all, backoff.Fields{BackoffLimit: limit, BackoffLimitPerIndex: perIndex})
		}
	}
	return all
}

// numerals are numbers at the boundaries, and texts that are almost numbers.
var numerals = []string{"", "-1", "+1", "01", " 1", "1.0", "x", "0", "7", strconv.Itoa(math.MaxInt32 - 1), strconv.Itoa(math.MaxInt32), strconv.Itoa(math.MaxInt32 + 1), "9223372036854775808"}

// sidecars returns pods with init containers in all orders. Those that always restart finished last.
func sidecars() (all []any) {
	always := new(corev1.ContainerRestartPolicyAlways)
	for _, policies := range [][]*corev1.ContainerRestartPolicy{{nil, always}, {always, nil}, {always, always}, {always, always, always}, {nil, always, nil, always}} {
		for longest := range policies {
			p := &corev1.Pod{}
			for i, policy := range policies {
				status := corev1.ContainerStatus{Name: strconv.Itoa(i)}
				status.State.Terminated = &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(noon)}
				if i == longest {
					status.State.Terminated.FinishedAt = metav1.NewTime(noon.Add(time.Minute))
				}
				p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: status.Name, RestartPolicy: policy})
				p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, status)
			}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(noon)}}}}
			p.Status.Phase = corev1.PodFailed
			all = append(all, vectors.OnePod{Pod: p})
		}
	}
	return all
}
