// The command load runs the same Jobs with jobfate's controller and with the built-in one, one
// after the other on the same server, and prints a table of their costs. README.md explains the
// table.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"time"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

// settings holds the flags.
type settings struct {
	indexes, failing int
	jobs, beside     int
	qps, fairQPS     int
	workers          int
	order            string
	only             string
	args             string
	quiet, lag       time.Duration
}

func (s *settings) register(flags *flag.FlagSet) {
	flags.IntVar(&s.indexes, "indexes", 10000, "the `size` of the large Job")
	flags.IntVar(&s.failing, "failing", 10000, "the `size` of the Jobs whose indexes all fail once")
	flags.IntVar(&s.jobs, "jobs", 1000, "the number of small Jobs of 10 pods")
	flags.IntVar(&s.beside, "beside", 0, "the number of small Jobs beside the large one; 0: a sixteenth of "+
		"its size, so that they arrive while it runs at -fair-qps")
	flags.IntVar(&s.qps, "qps", 1000, "the limit of each controller's requests per second")
	flags.IntVar(&s.fairQPS, "fair-qps", 200, "the same limit for the workload that measures the waits of small Jobs")
	flags.IntVar(&s.workers, "workers", 5, "the number of concurrent syncs of each controller")
	flags.StringVar(&s.order, "order", "ABBA", "the order of the controllers: A is jobfate's, B the built-in one")
	flags.StringVar(&s.only, "only", "", "the only workloads to run: a regular expression")
	flags.StringVar(&s.args, "jobfate-args", "", "additional arguments of jobfate's controller, separated by spaces")
	flags.DurationVar(&s.lag, "lag", time.Second, "the delay of the events of pods, where they are late")
	flags.DurationVar(&s.quiet, "quiet", 3*time.Second, "a run ends when the controller has sent nothing for this time")
}

func main() {
	var s settings
	s.register(flag.CommandLine)
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	api, err := server.Start(ctx, server.Alone)
	if err != nil {
		log.Fatal(err)
	}
	report, err := run(ctx, api, s, log.Printf)
	if report != nil {
		fmt.Print(report)
	}
	if err := errors.Join(err, api.Stop()); err != nil {
		log.Fatal(err, "; the logs: ", api.Dir())
	}
	os.RemoveAll(api.Dir())
}

// run runs all workloads and returns the report, also if it is interrupted after some of them.
func run(ctx context.Context, api *server.Server, s settings, say func(string, ...any)) (*report, error) {
	only, err := regexp.Compile(s.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	sides := map[rune]side{
		'A': {"jobfate", api.Jobfate, new(server.ManagedBy), strings.Fields(s.args)},
		'B': {"built-in", api.BuiltIn, nil, nil},
	}
	r := &report{}
	for _, w := range workloads(s) {
		if !only.MatchString(w.name) {
			continue
		}
		for _, letter := range s.order {
			c := &cost{}
			err := measure(ctx, api, s, sides[letter], w, c)
			say("%s with %s: %s", w.name, sides[letter].name, c)
			if c.pods > 0 {
				r.add(w.name, sides[letter].name, c)
			}
			if err != nil {
				return r, fmt.Errorf("%s with %s: %w", w.name, sides[letter].name, err)
			}
		}
	}
	return r, nil
}
