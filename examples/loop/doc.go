// Package loop is a controller of Jobs in some 150 lines of code: the protocol of
// the package jobfate, step by step. loop.go carries decisions out, with the memory
// of the package inflight, and free.go frees pods of their finalizer whose Job is
// gone.
//
// It writes through a small interface, so it runs on any client library. Its test
// runs it on a simulated cluster in which requests fail, caches lag and the loop
// itself is killed, and shows what becomes of a loop that takes the steps in
// another order.
//
// What is missing is a queue that calls Sync when a Job or a pod changes, and again
// after the time that it returns, with a Loop for each Job.
package loop
