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

// slowDelay follows the comments of Policy one by one: "Base for the first, multiplied by Factor
// for each further one, at most Cap". exact says that the package does not use floating point.
func slowDelay(p backoff.Policy, failures int32) (delay *big.Float, exact bool) {
	number := func() *big.Float { return new(big.Float).SetPrec(256) }
	if failures <= 0 {
		return number(), true
	}
	base, limit, factor := p.Base, p.Cap, p.Factor
	if base <= 0 { // "Values of zero or less mean 10 seconds."
		base = 10 * time.Second
	}
	if limit <= 0 { // "Values of zero or less mean 10 minutes."
		limit = 10 * time.Minute
	}
	if factor == 0 { // "Zero means 2."
		factor = 2
	}
	if math.IsNaN(factor) || factor < 1 { // "NaN and all other values below 1 mean 1"
		factor = 1
	}
	delay = number().SetInt64(int64(base))
	power := number().SetFloat64(factor)
	for steps := failures - 1; steps > 0; steps /= 2 { // multiplies by factor to the power of steps
		if steps%2 == 1 {
			delay.Mul(delay, power)
		}
		power.Mul(power, power)
	}
	if most := number().SetInt64(int64(limit)); delay.Cmp(most) > 0 {
		delay = most
	}
	return delay, failures == 1 || factor == 1 || factor == 2
}

// slowRemaining computes with unbounded integers and saturates at the end.
func slowRemaining(delay time.Duration, last, now time.Time) time.Duration {
	nanos := func(t time.Time) *big.Int {
		n := big.NewInt(t.Unix())
		n.Mul(n, big.NewInt(1e9))
		return n.Add(n, big.NewInt(int64(t.Nanosecond())))
	}
	end := new(big.Int).Add(nanos(last), big.NewInt(int64(delay)))
	left := end.Sub(end, nanos(now))
	switch {
	case delay == 0 || left.Sign() < 0:
		return 0
	case left.Cmp(big.NewInt(math.MaxInt64)) > 0:
		return math.MaxInt64
	}
	return time.Duration(left.Int64())
}

// slowFinishTime collects all times of a pod and then picks one.
func slowFinishTime(pod *corev1.Pod) time.Time {
	// "A pod has finished if its phase is Succeeded or Failed. A pod that is being deleted may
	// count as failed before that, so it has a finish time as well."
	if pod.Status.Phase != "Succeeded" && pod.Status.Phase != "Failed" && pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	regularTimes, regularAll := slowTimes(pod.Status.ContainerStatuses)
	sidecarTimes, sidecarAll := slowTimes(slowSidecars(pod))
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
		const most = math.MaxInt64 / 1_000_000_000 // "the result saturates"
		grace = min(max(grace, -most), most)
		return pod.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
	}
	return pod.CreationTimestamp.Time
}

// slowSidecars compares each status with each container.
func slowSidecars(pod *corev1.Pod) (sidecars []corev1.ContainerStatus) {
	for _, status := range pod.Status.InitContainerStatuses {
		if slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
			return c.Name == status.Name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}) {
			sidecars = append(sidecars, status)
		}
	}
	return sidecars
}

// slowTimes returns the finish times of containers, and whether all have one.
func slowTimes(statuses []corev1.ContainerStatus) ([]time.Time, bool) {
	var times []time.Time
	for _, s := range statuses {
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
		if r.Failures < math.MaxInt32 { // "No count in this package overflows."
			r.Failures++
		}
	}
	if len(failed) > 0 {
		r.Failures = max(r.Failures, 0)
	}
	return r
}

// slowRestarts: "Restarts count only while the pod is Running or Pending", those of init
// containers as well.
func slowRestarts(pod *corev1.Pod) (sum int64) {
	if pod.Status.Phase != "Running" && pod.Status.Phase != "Pending" {
		return 0
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		sum += int64(s.RestartCount)
	}
	return sum
}
