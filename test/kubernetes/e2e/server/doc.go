// Package server starts a real Kubernetes API server for tests: etcd and kube-apiserver,
// built from their Go modules, and the controllers to compare. Each is a child process of
// the test.
//
// The server checks permissions. A controller under test has only the rights of its service
// account: Kubernetes' own role for the built-in Job controller, and the role of
// controller/jobfate-controller/deploy for the controller of jobfate.
//
// The garbage collector always runs in a separate process, so that the time and memory of a
// Job controller are its own.
//
// There are no nodes and no scheduler. Package controller/live/kubelet replaces them.
package server
