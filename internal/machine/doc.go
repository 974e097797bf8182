// Package machine carries out the decisions for one Job without doing I/O. A [Machine]
// returns the requests to send, takes their answers, and remembers from sync to sync which
// writes the caches do not show yet.
//
// A sync is a list of steps, in the order of the table in steps.go. Each step returns
// requests that do not depend on each other, and handles their answers. The [Memory]
// outlives the sync.
//
// Read the files in this order: exchange, memory, machine, steps, reads, decision, writes.
// The file orphans finds the Jobs that a pod concerns, and holds the two steps of a Machine
// that frees orphans.
//
// The package knows no rule for Jobs and no client: only requests, their order and their
// answers.
package machine
