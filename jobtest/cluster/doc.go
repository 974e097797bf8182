// Package cluster is a small simulated Kubernetes cluster for Job controllers. `jobfate simulate`
// and the test kits of jobtest run on it. It is pure and deterministic, runs in virtual time and
// uses no goroutines: the same calls in the same order always have the same effects.
//
// A [Cluster] stores Jobs and pods like an API server, with UIDs, resource versions, conflicts,
// finalizers, graceful deletion, owner references and the validation of statuses. Controllers read
// it through watch caches, which are stale until a method makes them catch up. Kubelets, users and
// garbage collection act only when a method is called; see actors.go. The driver of the cluster,
// such as a script, a random schedule or a search, decides what happens when.
//
// A [Controller] is the code under test. It accesses the cluster only through a [Client].
// [Caller] is the reference controller, which drives a Machine of jobfate. To test another
// controller, write a short adapter.
//
// Every request goes through [Cluster.Intercept], where tests inject faults: reject the
// request, lose its answer, kill its sender before or after it, or change the cluster
// first.
package cluster
