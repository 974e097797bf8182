package backoff_test

// A slow and obvious implementation to compare the package with.

import (
	"math"
	"math/big"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
)

// slowDelay doubles the delay step by step. It works for the factor 2 only.
func slowDelay(base, limit time.Duration, failures int32) *big.Int {
	if failures <= 0 {
		return big.NewInt(0)
	}
	delay, most := big.NewInt(int64(base)), big.NewInt(int64(limit))
	for i := int32(1); i < failures && delay.Cmp(most) < 0; i++ {
		delay.Mul(delay, big.NewInt(2))
	}
	if delay.Cmp(most) > 0 {
		return most
	}
	return delay
}

// slowRemaining computes with unbounded integers and saturates at the end.
func slowRemaining(delay *big.Int, last, now time.Time) time.Duration {
	nanos := func(t time.Time) *big.Int {
		n := big.NewInt(t.Unix())
		n.Mul(n, big.NewInt(1e9))
		return n.Add(n, big.NewInt(int64(t.Nanosecond())))
	}
	end := new(big.Int).Add(nanos(last), delay)
	left := end.Sub(end, nanos(now))
	switch {
	case delay.Sign() == 0 || left.Sign() < 0:
		return 0
	case left.Cmp(big.NewInt(math.MaxInt64)) > 0:
		return math.MaxInt64
	}
	return time.Duration(left.Int64())
}

// slowFinishTime collects all times of a pod and then picks one.
func slowFinishTime(pod *corev1.Pod) time.Time {
	if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	sidecars := map[string]bool{}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
		}
	}
	regularTimes, regularAll := slowTimes(pod.Status.ContainerStatuses, nil)
	sidecarTimes, sidecarAll := slowTimes(pod.Status.InitContainerStatuses, sidecars)
	var times []time.Time
	switch {
	case !sidecarAll:
	case !regularAll:
		times = sidecarTimes
	default:
		times = append(regularTimes, sidecarTimes...)
	}
	if len(times) > 0 {
		return slices.MaxFunc(times, time.Time.Compare)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			if c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
				return c.LastTransitionTime.Time
			}
			break
		}
	}
	if pod.DeletionTimestamp != nil {
		var grace int64
		if pod.DeletionGracePeriodSeconds != nil {
			grace = *pod.DeletionGracePeriodSeconds
		}
		return pod.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
	}
	return pod.CreationTimestamp.Time
}

// slowTimes returns the finish times of containers, and whether all have one. If only is
// not nil, it reads only the containers with these names.
func slowTimes(statuses []corev1.ContainerStatus, only map[string]bool) ([]time.Time, bool) {
	var times []time.Time
	for _, s := range statuses {
		if only != nil && !only[s.Name] {
			continue
		}
		if s.State.Terminated == nil || s.State.Terminated.FinishedAt.IsZero() {
			return nil, false
		}
		times = append(times, s.State.Terminated.FinishedAt.Time)
	}
	return times, true
}

// slowRecord sorts all finish times and counts them in order.
func slowRecord(r backoff.Record, succeeded, failed []time.Time) backoff.Record {
	if len(succeeded) == 0 && len(failed) == 0 {
		return r
	}
	failed = slices.SortedFunc(slices.Values(failed), time.Time.Compare)
	if len(succeeded) > 0 {
		r.Failures, r.LastFailure = 0, time.Time{}
		lastSuccess := slices.MaxFunc(succeeded, time.Time.Compare)
		failed = slices.DeleteFunc(failed, func(t time.Time) bool { return !t.After(lastSuccess) })
	}
	for _, t := range failed {
		r.LastFailure = t
		if r.Failures < math.MaxInt32 {
			r.Failures++
		}
	}
	return r
}
