// Package machine carries out decisions about a Job. A [Machine] takes what the caches show and returns the requests to
// send, one batch after another; it takes the answers, and survives a crash between any two requests. It does no I/O.
//
// # Usage
//
// Begin a sync with the content of the caches:
//
//	err := m.Begin(machine.View{
//		Job: job, Pods: pods, Now: time.Now(),
//		JobsVersion: jobsVersion, PodsVersion: podsVersion, Barrier: barrier,
//	})
//
// An error is a [decide.InputError], to report to the user, or [decide.ErrNotManaged], to ignore. Retry
// neither; sync again when the Job changes. Without an error, send the requests of the Machine:
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
//	result := m.Result()
//
// The requests of a batch do not depend on each other. Send them in any order or
// concurrently, but call Answer from one goroutine at a time. Pass what the client returned
// unchanged, a timeout included: the Machine distinguishes requests that the API server
// rejected from requests that it may have carried out. A read answered with neither an object
// nor an error counts as NotFound, and an object of another type is an error. You may abandon
// a sync after any request. This process or another one can then begin a new sync.
//
// The result describes the sync. Sync again when the Job or one of its pods changes, and
// after result.Requeue if that is set. If result.Err is set, also retry soon, but not
// before result.RetryAfter has passed. Send the Events, and add the Metrics to your
// counters. [Machine.Idle] reports when you may drop the Machine.
//
// # What the caller guarantees
//
// The Machine relies on correct input and on a correct store:
//
//   - In a process, one sync of a Job runs at a time.
//   - An answer is what the API server returned. The requests that read ([GetJob], [GetPod],
//     [ListPods]) go to the API server, never to a cache.
//   - A View is what the caches held at some time, however long ago. It includes
//     everything up to JobsVersion and PodsVersion. So read these versions before Job and
//     Pods.
//   - A View shows no older version of a pod than an earlier View did, unless its PodsVersion
//     is older too. The caches of client-go keep this: one that starts again from older objects
//     has an older version, and the Machine then reads live.
//   - The pods of a View, those with an owner and those without, were listed at one version.
//   - An object that was in a View does not change: the Machine evaluates it once.
//   - A status write fails if the object has another version than Request.ResourceVersion, and
//     stores the whole status.
//   - Once a process has its barrier, no request of an earlier leader takes effect.
//   - A request without an answer takes effect before a later live read, or never. This is not
//     needed for a creation with Names: the Machine reads the pod by its name. Only creations and
//     status writes are looked up. So if removing a finalizer before a deletion had no answer, and
//     the Job ends before the cache shows the removal, the pod counts as failed, although it should not.
//   - Resource versions of pods and Jobs are comparable, as with one etcd.
//
// The Barrier makes restarts safe. After a process has acquired its lease, it requests one
// list of pods without a resource version in the options, which the API server answers
// consistently (limit 1 is enough), and passes the resource version of that list to all its
// Machines. All writes of earlier processes are older than the barrier. While the caches are
// older than the barrier, or have no versions, the Machine reads the Job and lists the pods of
// its namespace. That is always correct, and expensive.
//
// A Machine belongs to one UID. If the View shows a Job of the same name with another UID,
// or no Job, the Machine reads the Job live. When a live read shows that the first Job is
// gone, the Machine forgets all but its UID, so that a stale cache does not revive it.
//
// # Pods and queues
//
// Package route returns the Jobs that a change of a pod concerns. Queue the names of these
// Jobs, not the change itself: a sync uses what the caches hold when it begins.
//
// For a Job with many pods you need not pass all pods to each sync: pass the changed ones to
// [Machine.Feed], and begin with a View that is Fed.
//
// A pod whose Job is gone, or that has no controller and that no Job selects, keeps its
// finalizer, which blocks its deletion. Package route finds such pods, and [Free] removes it.
//
// # What the Machine takes care of
//
// The Machine records a pod in the status before it removes the finalizer, and moves the
// pod from the uncounted list to the counter after the finalizer is removed (KEP-2307).
// It stores the interim condition before it deletes the first pod because the Job ends.
// It remembers each write until the caches show it, so it neither repeats the write nor
// decides without it. It creates pods in batches of 1, 2, 4 and so on, and stops after the
// first failure. Before the first adoption of a sync it reads the Job live. After a status
// write without an answer it reads the Job live before the next write. After a creation
// without an answer it lists the pods or, with Names, reads the pod by name.
package machine
