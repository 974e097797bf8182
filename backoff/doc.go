// Package backoff decides how long a Job waits before it replaces a failed pod, and how
// many failures end a Job or an index.
//
// It works with finish times and numbers of failures only. Pod failure policies are for package failurepolicy.
//
// # Delays
//
// The delay doubles with each consecutive failure: 10s, 20s, 40s and so on, up to 10
// minutes. [Policy] holds these numbers. The delay starts when the last pod failed;
// [FinishTime] reads that time from the pod.
//
// A Job counts consecutive failures in one of two ways:
//
//   - For the whole Job, in a [Record], which the caller keeps in memory. After a restart,
//     [Record.With] computes it again from the pods that still exist.
//   - For each index, if backoffLimitPerIndex is set. The count is in two annotations of
//     each pod, so it survives a restart.
//
// A failure that an Ignore rule matches counts here too, but not towards a limit.
//
// # Limits
//
// [Limit] decides which failures end a Job or an index. It depends only on failure counts,
// so a repeated sync gives the same result.
//
// # Arithmetic
//
// No count and no duration in this package overflows. Where Kubernetes 1.37 would
// overflow, the result saturates at the largest or smallest value.
package backoff
