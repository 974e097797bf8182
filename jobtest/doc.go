// Package jobtest helps to test Job controllers.
//
// It has rapid generators of inputs for such controllers:
//
//   - [Jobs], and [LivelyJobs], which use more of the features that make the lifetime of
//     a Job long;
//   - [Snapshots], which are synthetic: statuses left by an interrupted sync, pods in
//     every phase with and without a deletionTimestamp and a finalizer, duplicate and
//     missing indexes, edited annotations, damaged interval lists (a [Mix] sets the
//     share of each);
//   - a [Life]: everything that happens to a Job except what its controller does. It lets
//     kubelets report, users interfere, time pass and caches lag, one event at a time.
//     [Lead] draws one.
//
// [SmallSpec] and [Events] take the choices of any [Dice]: of rapid, or [Seeded] ones. [NewCaller]
// is the reference controller of package cluster, and checks itself.
//
// Package fixture makes Jobs as the Job controller leaves them, for programs that only read Jobs.
//
// The other packages below it test a complete controller on the simulated Kubernetes of package cluster,
// whether or not it uses jobfate:
//
//   - referee checks every change of a cluster against the properties of
//     docs/reliability.md;
//   - chaos runs random schedules, and crashes at every write;
//   - explore searches small Jobs of the reference caller exhaustively.
//
// For controllers with client-go or controller-runtime there are modules of their own:
// jobtest/kube has an API server in the process, and kube/chaos the random schedules;
// controller/live runs Jobs on a real API server.
package jobtest
