// Package referee watches a Job controller on a simulated cluster, and reports when it
// violates a property that every such controller must have: pods are counted exactly once,
// finalizers are removed only when the count is safe, statuses are valid and terminal
// conditions final, and a pod is created only when it is needed and due.
//
// The referee records which pods have been counted, independently of the memory and the caches of
// the controller. This record, the ghost, is a value, so a search can keep it in its states.
//
// The names of the properties are those of docs/reliability.md.
//
// It judges the writes of a controller, not its decisions.
package referee
