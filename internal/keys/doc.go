// Package keys reads and writes the metadata that a controller sets on the pods of its Jobs: the
// finalizer, annotations, labels and an environment variable.
//
// The package knows no status and no counts of a Job: only what is on a single pod.
package keys
