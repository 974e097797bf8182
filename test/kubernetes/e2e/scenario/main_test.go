// Package scenario runs what Kubernetes' own integration and end-to-end tests of
// Jobs run, against two controllers: jobfate's and the built-in one. See README.md
// of e2e for how to write a scenario.
package scenario

import (
	"context"
	"os"
	"testing"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

var (
	api *server.Server
	// The controllers that all scenarios share.
	jobfate, builtIn *server.Controller
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 32, func(ctx context.Context, s *server.Server) (err error) {
		if jobfate, err = s.Jobfate(ctx, server.Options{}); err != nil {
			return err
		}
		builtIn, err = s.BuiltIn(ctx, server.Options{})
		return err
	}))
}
