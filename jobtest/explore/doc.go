// Package explore searches exhaustively what can happen to a small Job of the reference caller.
//
// It starts with a Job without pods, and visits all states that can follow, breadth first.
// A state consists of the objects that the API server stores, the content of the caches,
// the position of the controller in its sync, the memory of the controller, and the ghost
// of the referee. In each state any of these events may follow: the controller continues by
// one request, a cache catches up with the Job or with one pod, a pod ends, time
// passes, a user interferes, a request fails or loses its answer, the controller is killed, or
// is frozen while another one acts. The referee checks each change. At the end the search
// checks that the Job can still come to rest from every state. If the search ends early, it
// follows one path without further faults from each of its last states, until the Job is at
// rest. A counterexample is a [Trace]. The breadth-first search finds the shortest one.
//
// # How the number of states is kept small
//
// Objects are immutable, so each version of a pod, of the Job, of the controller's memory
// and of the ghost is stored once and has a number. A state is a few of these numbers.
// Each transition from one number to another is computed once. States are canonical in
// three ways:
//
//   - UIDs are slots. A pod gets the lowest slot that is not referenced by the store, the
//     cache, a list in the status or the memory.
//   - Time does not advance. Instead, everything becomes older, up to the age
//     config.Old.
//   - A resource version only records the result of its comparisons: whether the version
//     that the controller has seen is still the stored one.
//
// If the order of events makes no difference, the search tries only one order (order.go).
//
// The memory of the caller is a value. Its position in a sync is the list of answers since the sync
// began. For each position the controller runs again from the beginning of the sync, with one more
// answer.
package explore
