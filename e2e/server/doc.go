// Package server starts a real Kubernetes API server for tests: etcd and
// kube-apiserver, built from their Go modules, and the controllers that the
// tests compare, each a child process of the test.
//
// The server checks permissions. A controller under test has the rights of its
// service account and no others: Kubernetes' own role for the built-in Job
// controller, the role of examples/controller/deploy for that of jobfate.
//
// The garbage collector always runs, as a process of its own, so that the time
// and memory of a Job controller are its own.
//
// There are no nodes and no scheduler. Package jobtest/live/kubelet plays their part.
package server
