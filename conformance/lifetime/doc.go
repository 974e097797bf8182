// Package lifetime lets jobfate and the Job controller of Kubernetes lead the
// same Jobs through their lives. It holds tests only.
//
// A lifetime is a Job, its pods, and up to sixty steps. In each step something
// happens to them: the kubelet reports, a user interferes, time passes, a cache
// catches up or does not. Then jobfate and the real controller, each on a copy
// of the world of its own, sync the Job, and the two worlds must be equal: the
// Job as the API server stores it, every pod, what is in flight, the memory of
// the backoff, the next look, the events. So the worlds drift into states that
// no generator of snapshots thinks of.
//
// Both write their statuses through the API server's own validation. jobfate's
// must never be refused. One of the controller's that is refused stays
// unwritten, as in a cluster.
//
// A difference is excused only under a name of docs/divergences.md, and only if
// the condition of that entry holds. The lifetime then goes on with jobfate's
// world.
//
// The world is a cluster of package jobtest/cluster, and what happens in it is a
// life of package jobtest. After the last step jobfate leads the Job to its end
// alone, and the referee of jobtest, who has watched every write, sees to it that
// each pod was charged once, that no finalizer is left, and that the counters are
// right.
//
// By default some 45 seconds of lifetimes are run. The flag -rapid.checks asks
// for another number of them.
package lifetime
