// Package loop is a controller of Jobs in some sixty lines: it sends what a
// [jobfate.Machine] asks for.
//
// It writes through an interface of one method, so it runs on any client library. Its
// test runs it on a simulated cluster in which requests fail, answers get lost, caches
// lag and the loop itself is killed, and shows what becomes of a loop that writes in
// another order.
//
// What is missing is a queue that calls Sync when a Job or a pod changes, and again
// after the time that it returns, with a Machine for each Job.
package loop
