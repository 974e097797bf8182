// Package jobset runs JobSet 0.8.2 on a real API server: its manager, built as its own
// go.mod says, its webhooks and its rights. The child Jobs are run by examples/controller
// and, in the same cases, by the built-in Job controller; the ends must be the same.
//
// The cases are those of JobSet's own end-to-end and integration tests in which Jobs run,
// written anew: pods live by a script, and Jobs end because their pods do. One case runs
// by default. All of them, compared with the table in docs/compatibility.md:
//
//	go -C e2e/jobset test . -timeout 0 -all
//
// With -write the table is written instead of compared.
package jobset

import (
	"context"
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/jobfate/jobfate/e2e/server"
)

// atOnce is how many cases are played at a time. They mostly wait.
const atOnce = 6

var (
	all   = flag.Bool("all", false, "play all cases")
	write = flag.Bool("write", false, "write the table of docs/compatibility.md; implies -all")

	api *server.Server
	// Who runs the child Jobs.
	builtIn = side{name: "built-in"}
	ours    = side{name: "jobfate", managedBy: new(server.ManagedBy)}
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	os.Exit(server.Run(m, func(ctx context.Context, s *server.Server) (err error) {
		api = s
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
