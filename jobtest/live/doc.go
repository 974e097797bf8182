// Package live runs Jobs in tests: envtest, the API server in process of package kube
// and fake clusters of other kinds store Jobs, but have nothing that runs them.
//
//	live.Start(t, cfg, live.Pods(
//		live.Fail(137).ForIndex(3).Times(2),
//		live.Succeed().After(2*time.Second),
//	))
//
// [Start] starts, until the test ends:
//
//   - the Job controller of github.com/jobfate/jobfate/controller, which decides as that
//     of Kubernetes does, in the place of the built-in one;
//   - a kubelet that runs the pods by a script, see [Pods] and package kubelet;
//   - a garbage collector of Jobs and pods, and what deletes Jobs whose
//     ttlSecondsAfterFinished is over.
//
// The kubelet serves all pods, of Jobs and others. The collector deletes Jobs and pods
// whose owners of any kind are gone, and no other objects.
//
// The package knows no rule for Jobs: package controller decides.
//
// # Time
//
// In a bubble of testing/synctest, with a server of package kube, all of it is in virtual
// time. Use the t of the bubble. Outside, [Backoff] and [BatchPeriod] make Jobs fast.
//
// # What it leaves out
//
//   - CronJobs, Deployments and other kinds that make pods.
//   - Containers that are restarted in place: a pod that fails is Failed, whatever its
//     restart policy.
//   - Nodes, resources, scheduling constraints, init containers.
//   - The deletion of owners in the foreground, other than of Jobs.
package live
