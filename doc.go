// Package jobfate decides the fate of a Kubernetes Job: which pods to create and delete,
// which finalizers to remove, which status to store, when to look again, and why. It
// makes the decisions that the Job controller of Kubernetes 1.36.3 makes; where it does
// not, docs/divergences.md says so. It does no I/O and reads no clock.
//
// There are two doors. [Decide] is a pure function, for those who want to know what is
// due: commands, queues, simulations. A [Machine] is for those who act.
//
// # Usage of the Machine
//
// Keep one Machine for each Job, from sync to sync. A sync begins with what the caches
// show:
//
//	err := m.Begin(jobfate.View{
//		Job: job, Pods: pods, Now: time.Now(),
//		JobsVersion: jobsVersion, PodsVersion: podsVersion, Barrier: barrier,
//	})
//
// An error says that the Job cannot be understood, or is not yours: tell the user, and
// look again when it changes. Otherwise send what the Machine asks for:
//
//	result := m.Run(send)
//
// Run sends one request after another. To stop between two, or to send those of a batch
// side by side, do as Run does:
//
//	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
//		for _, r := range batch {
//			object, err := send(r)
//			m.Answer(r, object, err)
//		}
//	}
//
// The requests of a batch do not depend on each other: send them in any order, or side
// by side. An answer is the object and the error of the client, as they are; the Machine
// tells what was refused from what may have been carried out. Leave out an answer that
// never came. A sync may be given up at any request, also for good: another process goes
// on.
//
// The result says what became of the sync. Look again when the Job or one of its pods changes; after result.Requeue, if that is
// set; and soon, but not before result.RetryAfter, if result.Err is set. Events and
// Metrics are yours to send and count. [Machine.Idle] says when the Machine may be
// dropped.
//
// # What the caller owes
//
// The truth. An answer is what the API server said. A read is live: it comes from no
// cache. A View is what caches held, and holds everything up to JobsVersion and
// PodsVersion; read these before Job and Pods. It may be as old as it likes.
//
// Barrier is what makes a start safe. A process that has just got its lease asks for one
// consistent list of pods, of which one pod is enough, and hands the resource version of
// that list to all its Machines. All that an earlier process wrote is older. As long as
// the caches have not reached the barrier the Machine reads live, and so it does if it
// is given no versions: that is always right, and costs two requests a sync.
//
// One Machine is for one UID. A Job of the same name with another UID, or none, makes it
// forget what it remembers, once a live read has shown that the first Job is gone.
//
// # Pods and queues
//
// A change of a pod concerns the Jobs that [RouteOf] names. Queue their names, not the
// change: a sync looks at what the caches show then.
//
// A Job of many pods need not hand over all of them each time. Queue the names of its
// pods as well, and [Machine.Feed] what the cache shows of them before a sync that begins
// with a View that is Fed: that sync costs what has changed.
//
// A pod may outlive its Job, or lose its owner. Its finalizer then keeps it from being
// deleted, and no sync of any Job removes it. [OrphansIn] returns the machines that do.
//
// # What the Machine sees to
//
// A pod is recorded in the status before its finalizer goes, and leaves the record for
// the counter when its finalizer is gone (KEP-2307). What was written and is not observed
// yet is neither written again nor decided on. Creations come in batches of 1, 2, 4 and
// so on, and stop with the first that fails. Before the first adoption the Job is read
// live. After a status without an answer the Job is read live before the next write;
// after a creation without one the pods are listed, or, with [Names], read by name.
package jobfate
