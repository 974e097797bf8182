// Package scenario runs what Kubernetes' own integration and end-to-end tests of
// Jobs run, against two controllers: jobfate's and the built-in one. See README.md
// of e2e for how to write a scenario.
package scenario

import (
	"context"
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/jobfate/jobfate/e2e/server"
)

// atOnce is how many tests run at a time. They mostly wait.
const atOnce = 32

var (
	api *server.Server
	// The controllers that all scenarios share.
	jobfate, builtIn *server.Controller
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	os.Exit(server.Run(m, func(ctx context.Context, s *server.Server) (err error) {
		api = s
		if jobfate, err = s.Jobfate(ctx, server.Options{}); err != nil {
			return err
		}
		builtIn, err = s.BuiltIn(ctx, server.Options{})
		return err
	}))
}
