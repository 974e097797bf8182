// Package real is the Job controller of Kubernetes as a function from a value
// to a value.
//
// [Sync] runs one sync of the real code, (*Controller).syncJob, on a snapshot
// of a Job and its pods. Everything below the client is real: the decisions,
// RealPodControl, the expectations, the backoff store. The client is replaced:
// it records what is asked of it and answers at once, so nothing leaves the
// process. What the controller remembers from one sync to the next goes in and
// comes out as a [Memory].
//
// Two syncs of equal inputs have equal outputs. The controller sends the calls
// of a batch from goroutines, in any order; the package reports them in a
// canonical one. The clock is an input. (The only other clock that the
// controller looks at ends expectations after five minutes; a sync is shorter.)
//
// The other functions of the package run single functions of the controller,
// to compare function with function.
//
// # How it reaches what is not exported
//
// Functions are pulled in with go:linkname. Since Go 1.23 the linker refuses
// that for the standard library only, so no flag is needed; the empty link.s
// allows declarations without a body. Fields of the controller are set through
// their offsets, which are looked up, and their types checked, when the package
// is initialised: with a release whose controller has other fields the package
// panics at once and says which field it misses.
//
// # What it shares
//
// The controller reads its limits, the feature gates and its metrics from
// package variables. Sync sets them, and puts all but the metrics back; it
// resets the counters of the Job controller each time. One mutex makes syncs
// take turns. While a sync runs with a gate off, other goroutines see the gate
// off too.
package real
