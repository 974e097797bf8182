// Package keys reads and writes what a controller puts on the pods of its Jobs: the
// finalizer, annotations, labels and an environment variable.
//
// The package knows no status and no counts of a Job: only what is on a single pod.
package keys
