// Package jobset runs JobSet 0.12.0 on a real API server: its manager, built with its own go.mod,
// with its webhooks and its permissions. In each case controller/jobfate-controller and the built-in Job
// controller run the child Jobs, in separate namespaces. The final states must be equal.
//
// The cases are those of JobSet's own end-to-end and integration tests in which Jobs run,
// rewritten: pods follow a script, and Jobs end because their pods end. The results must be those in
// results and docs/compatibility.md; with -write the tests write both:
//
//	go -C test/kubernetes test ./e2e/jobset -write
package jobset

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

var (
	write = flag.Bool("write", false, "write results and the counts of docs/compatibility.md")

	api *server.Server
	// The controllers of the child Jobs.
	builtIn = side{name: "built-in"}
	ours    = side{name: "jobfate", managedBy: new(server.ManagedBy)}
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 12, func(ctx context.Context, s *server.Server) (err error) {
		if builtIn.controller, err = s.BuiltIn(ctx, server.Options{}); err != nil {
			return err
		}
		if ours.controller, err = s.Jobfate(ctx, server.Options{}); err != nil {
			return err
		}
		manager, err = startManager(ctx, s)
		return err
	}))
}
