// Package loop is a Job controller in about sixty lines. It sends the requests of a
// [machine.Machine].
//
// It writes through an interface of one method, so it works with any client library. Its test runs
// it on a simulated cluster in which requests fail, answers get lost, caches lag and the loop
// itself is killed.
//
// A complete controller also needs a queue, which calls Sync when a Job or a pod changes and
// after the time that Sync returns, and a Machine for each Job.
package loop
