// Package explore tries everything that can happen to a small Job.
//
// It starts with a Job and no pods, and goes breadth first through all states
// that can follow: what the API server stores, what the caches show, where in a
// sync the controller is, what it remembers, and what the referee knows. In each
// state anything may happen next: the controller goes on by one request, a cache
// catches up with the Job or with one pod, a pod starts or ends, time passes, a
// user interferes, a request fails or loses its answer, the controller dies. Each
// change is put before the referee. In the end it makes sure that from every
// state the Job can still come to rest. A search that ends early follows one way
// from each of the last states, on which nothing more goes wrong, until the Job is
// at rest. A counterexample is a [Trace], and it replays; that of a breadth first
// search is the shortest there is.
//
// # How states are kept small
//
// Objects never change, so each version of a pod, of the Job, of the
// controller's memory and of the ghost is kept once and has a number; a state is
// a few of these numbers. What leads from one number to another is worked out
// once. States are canonical in three ways:
//
//   - UIDs are places. A pod takes the lowest place that nothing refers to any
//     more, neither a store nor a cache, a list in the status or a memory.
//   - Time stands still. When it passes, everything becomes older instead, and
//     what is older than [Config.Old] is as old as can be.
//   - Resource versions are what they are compared for: whether the version that
//     the controller has seen is still the one that is stored.
//
// And of orders that make no difference one is tried (order.go).
//
// The controller must be a [Searchable], whose memory is a value. Its position
// within a sync is the list of the answers that it has had since the sync began:
// it is run again from there, with one answer more, once for each position.
package explore
