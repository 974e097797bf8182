// Package jobgroup runs examples/jobgroup and examples/controller together, each a
// process with the rights of its manifests: both user stories of KEP-4443, and
// restarts in which the controller is killed.
package jobgroup

import (
	"context"
	"os"
	"testing"

	"github.com/jobfate/jobfate/e2e/server"
)

var api *server.Server

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, func(ctx context.Context, s *server.Server) (err error) {
		api = s
		_, err = s.Jobfate(ctx, server.Options{})
		return err
	}))
}
