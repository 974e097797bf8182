// Package faults has tests in which a controller, its connection or the server is
// disturbed.
package faults

import (
	"context"
	"os"
	"testing"

	"github.com/jobfate/jobfate/e2e/server"
)

var api *server.Server

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, func(_ context.Context, s *server.Server) error {
		api = s
		return nil
	}))
}
