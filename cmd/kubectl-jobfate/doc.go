// Kubectl-jobfate is a kubectl plugin that explains, validates and simulates Jobs.
//
//	kubectl jobfate                    the Jobs that need attention, worst first
//	kubectl jobfate NAME               what the Job controller does next for a Job, and why
//	kubectl jobfate simulate NAME      how the Job continues, in virtual time
//	kubectl jobfate validate NAME      which fields of the Job the API server would reject
//
// It does the same as the command jobfate, but reads from the cluster instead of files. The output
// and the exit status are the same. It changes nothing. docs/command.md has examples.
//
// The package reads objects from a cluster and passes them to internal/cli.
//
// # What it reads
//
// Each kind is listed once, in pages: the Jobs, the pods that their selectors match, and, if there
// are pods that they may explain, the events of the namespace and the nodes. The objects that these
// name are read one by one. If it may not read something other than Jobs and pods, it continues and
// adds a note. With -w it watches the kinds that it lists.
package main
