package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

// section is a generated text and its place in a document.
type section struct{ document, name, text string }

// suites are the functions that generate the sections, by the name of the suite.
var suites = map[string]func(context.Context, release) ([]section, error){
	"unit":        reporting(runUnit),
	"integration": reporting(runIntegration),
	"releases":    releaseSections,
}

func main() {
	write := flag.Bool("write", false, "write the results into the documents")
	times := flag.Int("times", 1, "how often to run the tests; the results must be the same each time")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./suites [-times N] [-write] unit|integration|releases")
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

// run runs a suite, and writes its results or compares them with the listed ones.
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
	for n := range times {
		sections, err := suite(ctx, r)
		if err != nil {
			return err
		}
		for _, s := range sections {
			d, err := openDocument(r, s.document)
			if err != nil {
				return err
			}
			if write && n == 0 {
				err = d.replace(s.name, s.text)
			} else {
				err = d.compare(s.name, s.text)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// reporting returns a suite whose sections are a report and the list of its results.
func reporting(run func(context.Context, release) (*report, error)) func(context.Context, release) ([]section, error) {
	return func(ctx context.Context, r release) ([]section, error) {
		report, err := run(ctx, r)
		if err != nil {
			return nil, err
		}
		text, err := report.render()
		if err != nil {
			return nil, err
		}
		fmt.Printf("%s: %s\n", report.name, report.summary())
		return []section{{compatibility, report.name, text}, {report.file(), "", report.list()}}, nil
	}
}

func releaseSections(ctx context.Context, r release) ([]section, error) {
	all, err := compareReleases(ctx, r)
	if err != nil {
		return nil, err
	}
	text, err := renderReleases(all)
	return []section{{compatibility, "releases", text}}, err
}
