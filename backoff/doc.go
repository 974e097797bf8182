// Package backoff decides how long a Job waits before it replaces a failed pod,
// and how many failures it bears.
//
// # How long
//
// The delay doubles with each failure in a row: 10s, 20s, 40s and so on, up to
// 10 minutes. [Policy] holds these numbers. The delay runs from the time at
// which the last pod failed, which [FinishTime] reads off the pod.
//
// There are two ways to count failures in a row, and a Job uses one of them:
//
//   - For the whole Job, in a [Record]. It is a plain value. The caller stores
//     it, or loses it with a restart and makes it again from the pods, with [Record.With].
//   - For each index, when backoffLimitPerIndex is set. The count stands in two
//     annotations of the pod, and so it survives a restart.
//
// # How many
//
// [Limit] says which failures end a Job or an index. It depends on the counts
// of failures and on nothing else. A sync that is repeated changes nothing.
//
// # Arithmetic
//
// No count and no duration in this package wraps around. Where Kubernetes 1.36.3
// would overflow, the result stays at the largest or smallest value instead.
package backoff
