// Package cluster is a small simulated Kubernetes cluster for testing Job controllers. It
// is pure and deterministic, runs in virtual time and uses no goroutines: the same calls
// in the same order always have the same effects.
//
// A [Cluster] stores Jobs and pods like an API server, with UIDs, resource versions,
// conflicts, finalizers, graceful deletion, owner references and the validation of
// statuses. Controllers see it through watch caches, which are stale until a method tells
// them to catch up. Kubelets, users and garbage collection act only when a method is
// called; see actors.go. The driver of the cluster, such as a script, a random schedule or
// a search, decides what happens when.
//
// A [Controller] is the code under test. It accesses the cluster only through the [Client]
// that it gets. [Caller] is the reference controller, which drives a Machine of jobfate.
// To test another controller, write a short adapter.
//
// Every request goes through [Cluster.Intercept], where tests inject faults: a request can
// be rejected, its answer lost, its sender killed before or after it, or something else
// can happen first.
//
// The package knows nothing of a controller but its requests.
package cluster
