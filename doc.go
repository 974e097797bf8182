// Package jobfate makes the decisions of the Kubernetes Job controller: which pods to
// create and delete, which finalizers to remove, which status to write, when to reconcile
// again, and why. It decides as the Job controller of Kubernetes 1.36.3 does;
// docs/divergences.md lists the exceptions. It does no I/O and reads no clock.
//
// There are two entry points. [Decide] is a pure function, for programs that want to know
// what the controller would do: commands, queues, simulations. A [Machine] is for
// controllers, which act on Jobs.
//
// The package knows no client and no cache: the caller reads objects, sends requests and
// waits.
//
// # Usage of the Machine
//
// Keep one Machine for each Job, from sync to sync. Begin a sync with the content of the
// caches:
//
//	err := m.Begin(jobfate.View{
//		Job: job, Pods: pods, Now: time.Now(),
//		JobsVersion: jobsVersion, PodsVersion: podsVersion, Barrier: barrier,
//	})
//
// An error means that the Job is invalid or that another controller manages it. Report
// the error to the user, and sync again when the Job changes. Without an error, send the
// requests of the Machine:
//
//	result := m.Run(send)
//
// Run sends one request after another. To stop between two requests, or to send the
// requests of a batch concurrently, write the loop of Run yourself:
//
//	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
//		for _, r := range batch {
//			object, err := send(r)
//			m.Answer(r, object, err)
//		}
//	}
//
// The requests of a batch do not depend on each other. Send them in any order or
// concurrently. Pass the object and the error of the client to Answer unchanged: the
// Machine distinguishes requests that the API server rejected from requests that it may
// have carried out. If a request gets no answer, do not call Answer for it. You may
// abandon a sync after any request. This process or another one can then begin a new sync.
//
// The result describes the sync. Sync again when the Job or one of its pods changes, and
// after result.Requeue if that is set. If result.Err is set, also retry soon, but not
// before result.RetryAfter has passed. Send the Events, and add the Metrics to your
// counters. [Machine.Idle] reports when you may drop the Machine.
//
// # What the caller guarantees
//
// The Machine relies on correct input:
//
//   - An answer is what the API server returned. The requests that read ([GetJob], [GetPod],
//     [ListPods]) go to the API server, never to a cache.
//   - A View is what the caches held at some time, however long ago. It includes
//     everything up to JobsVersion and PodsVersion. So read these versions before Job and
//     Pods.
//
// The Barrier makes restarts safe. After a process has acquired its lease, it requests one
// consistent list of pods (limit 1 is enough), and passes the resource version of that
// list to all its Machines. All writes of earlier processes are older than the barrier.
// While the caches are older than the barrier, or have no versions, the Machine reads the
// Job and its pods live. That is always correct, and costs two requests per sync.
//
// A Machine belongs to one UID. If the View shows a Job of the same name with another UID,
// or no Job, the Machine reads the Job live. When a live read shows that the first Job is
// gone, the Machine forgets what it remembered, except that this Job is gone: it does
// nothing for it if a cache still shows it.
//
// # Pods and queues
//
// [RouteOf] returns the Jobs that a change of a pod concerns. Queue the names of these
// Jobs, not the change itself: a sync uses what the caches hold when it begins.
//
// For a Job with many pods you need not pass all pods to each sync. Queue the names of
// the changed pods as well. Before the sync, pass what the cache holds for each of them to
// [Machine.Feed], and begin with a View that is Fed. The cost of that sync depends only on
// the number of changed pods.
//
// A pod may outlive its Job or lose its owner. The finalizer then blocks the deletion of
// the pod, and no sync of a Job removes the finalizer. [OrphansIn] returns Machines that
// remove it.
//
// # What the Machine takes care of
//
// The Machine records a pod in the status before it removes the finalizer, and moves the
// pod from the uncounted list to the counter after the finalizer is removed (KEP-2307).
// It remembers each write until the caches show it, so it neither repeats the write nor
// decides without it. It creates pods in batches of 1, 2, 4 and so on, and stops after the
// first failure. Before the first adoption of a sync it reads the Job live. After a status
// write without an answer it reads the Job live before the next write. After a creation
// without an answer it lists the pods or, with [Names], reads the pod by name.
package jobfate
