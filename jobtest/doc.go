// Package jobtest helps to test controllers of Jobs.
//
// It has rapid generators of what such a controller meets:
//
//   - [Jobs], and [LivelyJobs], which have more of the features that make lives
//     long;
//   - [Snapshots], which are made up: statuses left behind by an interrupted
//     sync, pods of every phase with and without a deletion and a finalizer,
//     duplicate and missing indexes, edited annotations, damaged interval lists
//     (a [Mix] says how much of that); and [Lived] ones, to which a life has led;
//   - [Lives]: what happens to a Job in a cluster besides what its controller
//     does. A [Life] lets kubelets report, users interfere, time pass and caches
//     lag, one thing at a time.
//
// The packages below it put a whole controller to the test, by whoever it is
// written:
//
//   - cluster is Kubernetes in miniature, with caches, faults and a reference
//     controller that carries out the decisions of jobfate;
//   - referee watches every change of a cluster and says which property of
//     docs/reliability.md it breaks;
//   - chaos plays random schedules, and crashes at every write;
//   - explore searches small configurations exhaustively.
package jobtest
