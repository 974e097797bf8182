// Package cluster is a Kubernetes cluster in miniature, to try controllers of
// Jobs on: pure, in virtual time, without goroutines. The same calls in the same
// order always have the same effects.
//
// A [Cluster] holds Jobs and pods as an API server does, with UIDs, resource
// versions, conflicts, finalizers, deletion with grace, owner references and the
// validation of statuses. It shows them to controllers through watch caches,
// which lag until they are told to catch up. Kubelets, users and garbage
// collection act when a method says so; see actors.go. Whoever drives the
// cluster, a script, dice or a search, decides what happens when.
//
// A [Controller] is what is put to the test. Its whole world is the [Client]
// that it is handed. [Caller] is the one that drives a Machine of jobfate; an adapter
// of a few lines puts another controller in its place.
//
// Every request goes through [Cluster.Intercept], where faults are put in: a
// request can be refused, its answer lost, its sender killed before or after it,
// or something else can happen first.
package cluster
