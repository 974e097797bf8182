package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	write := flag.Bool("write", false, "put the results into docs/compatibility.md")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./suites [-write] unit")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Arg(0), *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name string, write bool) error {
	make, ok := map[string]func(context.Context, release) (*report, error){"unit": unitReport}[name]
	if !ok {
		flag.Usage()
		return fmt.Errorf("there is no suite %q", name)
	}
	r, err := pinned(ctx)
	if err != nil {
		return err
	}
	report, err := make(ctx, r)
	if err != nil {
		return err
	}
	text, err := report.render()
	if err != nil {
		return err
	}
	if !write {
		fmt.Print(text)
		return nil
	}
	d, err := openDocument(r)
	if err != nil {
		return err
	}
	return d.replace(report.name, text)
}
