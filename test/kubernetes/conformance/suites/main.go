package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// suites has the functions that generate the sections, by the name of the suite.
var suites = map[string]func(context.Context, release) ([]section, error){
	"unit":        reporting(runUnit),
	"integration": reporting(runIntegration),
	"releases": func(ctx context.Context, r release) ([]section, error) {
		all, err := compareReleases(ctx, r, append([]string{r.version}, listed...))
		if err != nil {
			return nil, err
		}
		text, err := renderReleases(all)
		return []section{{compatibility, "releases", text}}, err
	},
}

const usage = `usage: go run ./conformance/suites [-times N] [-write] unit|integration|releases
       go run ./conformance/suites releases RELEASE...
       go run ./conformance/suites integration RELEASE
       go run ./conformance/suites test RELEASE go-test-argument...`

func main() {
	write := flag.Bool("write", false, "write the results into the documents")
	times := flag.Int("times", 1, "how often to run the tests; the results must be the same each time")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Args(), *times, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs a suite, and writes its results or compares them with the listed ones.
func run(ctx context.Context, args []string, times int, write bool) error {
	r, err := pinned(ctx)
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return runReleases(ctx, r, args[0], args[1:])
	}
	suite := suites[strings.Join(args, "")]
	if suite == nil {
		flag.Usage()
		return fmt.Errorf("there is no suite %q", args)
	}
	for n := range times {
		sections, err := suite(ctx, r)
		if err != nil {
			return err
		}
		for _, s := range sections {
			if err := s.update(r, write && n == 0); err != nil {
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

// runReleases compares the named releases, or runs the integration tests of one of them, or the tests of
// this module with it.
func runReleases(ctx context.Context, own release, what string, args []string) error {
	switch what {
	case "releases":
		all, err := compareReleases(ctx, own, args)
		if err != nil {
			return err
		}
		text, err := renderReleases(all)
		fmt.Print(text)
		return err
	case "integration":
		r, _, done, err := prepare(ctx, own, args[0], ours+"/"+ourController)
		if err != nil {
			return err
		}
		defer done()
		report, err := runIntegration(ctx, r)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n%s", r.version, report.summary(), report.list())
		_, err = report.failures()
		return err
	case "test":
		other := func(arg string) bool { return !strings.HasPrefix(arg, "./") }
		packages := slices.DeleteFunc(slices.Clone(args[1:]), other)
		r, overlay, done, err := prepare(ctx, own, args[0], packages...)
		if err != nil {
			return err
		}
		defer done()
		cmd := r.toolchain.command(ctx, r.module, slices.Concat([]string{"test"}, r.flags(overlay), args[1:])...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
	flag.Usage()
	return fmt.Errorf("%q takes no release", what)
}
