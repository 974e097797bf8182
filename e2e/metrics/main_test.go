// Package metrics compares the metrics of jobfate's controller and the built-in one. It has its
// own server, because some metrics count the pods of the whole cluster, and all count those of a
// whole process.
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

// atOnce is how many worlds there are at a time. They mostly wait.
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
