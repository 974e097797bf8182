// Package inflight is the memory of a caller: what it has written for one Job and
// does not see yet, and what the last decision asked to remember. A caller keeps a
// [Memory] for each Job, by its UID, tells it of each write that was acknowledged,
// and lets it make the snapshots.
//
// Watch caches lag. A caller that decides on what they show alone creates pods
// twice, and counts twice a pod whose finalizer it has removed a moment ago.
// [jobfate.InFlight] says what a decision must know; this package says when it may
// be forgotten. A restart needs none of it, as long as the caches are filled anew.
package inflight
