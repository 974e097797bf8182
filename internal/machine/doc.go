// Package machine carries decisions out, without doing I/O: it names the requests to
// send, takes their answers, and remembers from sync to sync what the caches do not
// show yet. A [Machine] is for one Job.
//
// A sync is a list of steps, in the order of the table in steps.go. Each step asks for
// requests that do not depend on each other, and hears what became of them. What
// outlives a sync is the [Memory].
//
// The files stand in this order: request, answer, memory, view, machine, steps, reads,
// decision, pods, status.
//
// The package knows no rule for Jobs and no client: only requests, their order and their
// answers.
package machine
