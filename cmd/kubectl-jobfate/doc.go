// Kubectl-jobfate is a plugin of kubectl that tells what becomes of Jobs.
//
//	kubectl jobfate                    the Jobs that need attention, the worst first
//	kubectl jobfate NAME               what the Job controller does next for a Job, and why
//	kubectl jobfate simulate NAME      what becomes of it, in virtual time
//	kubectl jobfate validate NAME      what the API server would refuse about it
//
// It reads from the cluster what the command jobfate reads from files, and prints the
// same, with the same exit status. It changes nothing. docs/command.md has examples.
//
// The package knows no rule for Jobs: it reads objects from a cluster and passes them to
// internal/cli.
//
// # What it reads
//
// Each kind is listed once, in pages: the Jobs, the pods that their selectors select,
// and then, only when there are pods that they may say something of, the events of the
// namespace and the nodes. Without the permission for events or nodes it goes on
// without them, and says so. With -w it watches the kinds instead of listing them again.
package main
