// Package real makes the Job controller of Kubernetes a function of its inputs.
//
// [Sync] runs one sync of the real code, (*Controller).syncJob, on a snapshot of a Job and
// its pods. Everything below the client is real: the decisions, RealPodControl, the
// expectations, the backoff store. The client is replaced by one that records each request
// and answers at once, so nothing leaves the process. The state that the controller keeps
// between syncs is passed in and out as a [Memory].
//
// Two syncs of equal inputs have equal outputs. The controller sends the requests of a batch
// from goroutines, in any order; the package sorts them. The clock is an input, except for
// the clock of the expectations. These expire after five minutes, and a sync is shorter.
//
// The other functions of the package call single functions of the controller, to compare
// them one by one.
//
// # Access to unexported code
//
// Functions are linked with go:linkname. Since Go 1.23 the linker restricts that only for
// the standard library, so no flag is needed; the empty link.s allows declarations without a
// body. Fields of the controller are set through their offsets, which the package looks up
// and checks when it is initialised. If a release has other fields, the package panics at
// once and names the missing field.
//
// # Shared state
//
// The controller reads its limits, the feature gates and its metrics from package variables.
// Sync sets them, restores all except the metrics, and resets the counters of the Job
// controller each time. A mutex serialises syncs. While a sync runs with a gate off, other
// goroutines also see the gate off.
package real
