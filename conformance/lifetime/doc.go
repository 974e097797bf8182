// Package lifetime runs the same Jobs through their lives with jobfate and with the Job
// controller of Kubernetes, and compares them after each step. It contains only tests.
//
// A lifetime is a Job, its pods and up to sixty steps. In each step something happens: the kubelet
// reports a status, a user edits an object, time passes, a cache catches up. Then jobfate and the
// real controller each sync the Job on their own copy of the world. Afterwards the two worlds must
// be equal: the Job as the API server stores it, every pod, the unobserved writes, the backoff
// record, the next sync and the events. In this way the worlds reach states that no generator of
// snapshots would draw.
//
// Both write their statuses through the validation of the API server. It must never reject a
// status of jobfate. If it rejects one of the real controller, the status is not stored, as
// in a cluster.
//
// A difference is accepted only if an entry of docs/divergences.md names it and the
// condition of that entry holds. The lifetime then continues with the world of jobfate.
//
// The world is a cluster of package cluster, and the events are a life of package
// jobtest. After the last step jobfate alone runs the Job to its end. The referee of jobtest
// checks that each pod was counted once, that no finalizer is left, and that the counters
// are right.
//
// TestLifetimes compares single syncs, even those that the real controller skips with its default
// feature gates, because its cache is older than its own writes. TestEnds and TestProgress compare
// whole lives with the default gates: each controller has a world of its own, with watches that
// stall, and both worlds follow one plan. The end of the Job must be the same, or become the same
// when jobfate imitates Kubernetes in an entry of docs/divergences.md. TestHandover moves each Job
// between the two, at any write, and counts its pods.
//
// By default the tests run for about a minute. The flag -rapid.checks sets the number of
// lifetimes: TestEnds runs 10,000 in half a minute.
package lifetime
