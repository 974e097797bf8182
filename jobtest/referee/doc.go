// Package referee watches a controller of Jobs on a cluster and says when it
// breaks a property that every such controller must hold: pods are counted once,
// finalizers go only when the count is safe, statuses are valid and never taken
// back, no pod is created that is not wanted or not due.
//
// It knows what no controller can know: which pods have been charged, whatever
// the controller remembers and whatever its caches show. That ghost is a value,
// so that a search can keep it in its states.
//
// The properties have the names of docs/reliability.md.
package referee
