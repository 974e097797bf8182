// Package jobtest helps to test controllers of Jobs.
//
// It has rapid generators of Jobs, pods and whole snapshots. They reach what a
// controller meets in a real cluster and what it meets only when something has
// gone wrong: statuses left behind by an interrupted sync, pods of every phase
// with and without a deletion and a finalizer, duplicate and missing indexes,
// edited annotations, damaged interval lists. A [Mix] says how much of that.
package jobtest
