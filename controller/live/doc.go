// Package live runs Jobs in tests. envtest, the in-process API server of package kube and
// other fake clusters store Jobs, but have no controller that runs them.
//
//	live.Start(t, cfg, live.Pods(
//		live.Fail(137).ForIndex(3).Times(2),
//		live.Succeed().After(2*time.Second),
//	))
//
// [Start] starts three controllers, which run until the test ends:
//
//   - the Job controller of github.com/jobfate/jobfate/controller, which takes the place of
//     the built-in one and makes the same decisions;
//   - a kubelet that runs the pods according to a script: see [Pods] and package kubelet;
//   - a garbage collector of Jobs and pods, which also deletes Jobs whose
//     ttlSecondsAfterFinished has passed.
//
// The kubelet runs all pods, not only those of Jobs. The collector deletes Jobs and pods
// whose owners are gone, and no other objects.
//
// # Time
//
// In a bubble of testing/synctest, with a server of package kube, everything runs in virtual
// time. Use the t of the bubble. Outside of a bubble, [Backoff] and [BatchPeriod] make Jobs
// fast.
//
// # What it does not implement
//
//   - CronJobs, Deployments and other kinds that create pods.
//   - Restarts of containers in place: a pod that fails is Failed, whatever its restart
//     policy.
//   - Nodes, resources, scheduling constraints, init containers.
//   - Foreground deletion of owners other than Jobs.
package live
