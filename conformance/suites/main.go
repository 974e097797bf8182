package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/google/go-cmp/cmp"
)

// suites are the suites by their names.
var suites = map[string]func(context.Context, release) (*report, error){
	"unit":        unitReport,
	"integration": integrationReport,
}

func main() {
	write := flag.Bool("write", false, "put the results into docs/compatibility.md")
	times := flag.Int("times", 1, "how often to run the tests; the results must be the same each time")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./suites [-times N] [-write] unit|integration")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Arg(0), *times, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs a suite and writes the results, or compares them with those that are listed.
func run(ctx context.Context, name string, times int, write bool) error {
	suite := suites[name]
	if suite == nil {
		flag.Usage()
		return fmt.Errorf("there is no suite %q", name)
	}
	r, err := pinned(ctx)
	if err != nil {
		return err
	}
	d, err := openDocument(r)
	if err != nil {
		return err
	}
	for n := range times {
		report, err := suite(ctx, r)
		if err != nil {
			return err
		}
		text, err := report.render()
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", name, report.summary())
		if write && n == 0 {
			if err := d.replace(name, text); err != nil {
				return err
			}
		}
		if err := d.compare(name, text); err != nil {
			return err
		}
	}
	return nil
}

// compare returns an error that shows how a section differs from a text.
func (d *document) compare(name, text string) error {
	_, listed, _, err := d.section(name)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(listed, text); diff != "" {
		return fmt.Errorf("%s, section %s (-listed +found):\n%s", d.file, name, diff)
	}
	return nil
}
