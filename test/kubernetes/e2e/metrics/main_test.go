// Package metrics compares the metrics of jobfate's controller and the built-in one. It has its own
// server, because every metric is of a whole process, and some count the pods of the whole cluster.
package metrics

import (
	"context"
	"os"
	"testing"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

var (
	api              *server.Server
	jobfate, builtIn *server.Controller
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 32, func(ctx context.Context, s *server.Server) (err error) {
		if jobfate, err = s.Jobfate(ctx, server.Options{Metrics: true}); err != nil {
			return err
		}
		builtIn, err = s.BuiltIn(ctx, server.Options{Metrics: true})
		return err
	}))
}
