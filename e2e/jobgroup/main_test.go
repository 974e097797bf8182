// Package jobgroup runs examples/jobgroup as a process with the permissions of its manifests: both
// user stories of KEP-4443, and restarts during which it is killed.
package jobgroup

import (
	"os"
	"testing"

	"github.com/jobfate/jobfate/e2e/server"
)

var api *server.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m, &api, 0, nil)) }
