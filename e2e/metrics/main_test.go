// Package metrics compares the metrics of jobfate's controller and the built-in one. It has its own
// server, because every metric is of a whole process, and some count the pods of the whole cluster.
package metrics

import (
	"context"
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/jobfate/jobfate/e2e/server"
)

var (
	api              *server.Server
	jobfate, builtIn *server.Controller
)

// atOnce is the number of worlds at a time. They mostly wait.
const atOnce = 32

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	os.Exit(server.Run(m, func(ctx context.Context, s *server.Server) (err error) {
		api = s
		if jobfate, err = s.Jobfate(ctx, server.Options{Metrics: true}); err != nil {
			return err
		}
		builtIn, err = s.BuiltIn(ctx, server.Options{Metrics: true})
		return err
	}))
}
