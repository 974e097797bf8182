package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
)

func main() {
	runs := flag.Int("runs", 11, "runs of each side of a row; the figure is their median")
	only := flag.String("rows", "", "measure only the groups of rows whose title matches")
	svg := flag.String("svg", "", "draw the curves of growth into this file instead")
	lives := flag.String("lifetimes", "", "lead Jobs of so many indexes through their lives instead: numbers with commas")
	flag.Parse()
	if err := run(*runs, *only, *svg, *lives); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(runs int, only, svg, lives string) error {
	if lives != "" {
		return runLifetimes(runs, lives)
	}
	if svg != "" {
		drawing, err := drawCurves(meter{runs: runs}, full)
		if err != nil {
			return err
		}
		return os.WriteFile(svg, drawing, 0o666)
	}
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	fmt.Println(header)
	for _, g := range groups {
		if !wanted.MatchString(g.title) {
			continue
		}
		if err := g.measure(meter{runs: runs}, full, printRows); err != nil {
			return fmt.Errorf("%s: %w", g.title, err)
		}
	}
	return nil
}

func runLifetimes(runs int, list string) error {
	indexes, err := numbers(list)
	if err != nil {
		return err
	}
	fmt.Println(lifetimeHeader)
	return measureLifetimes(runs, indexes, func(r lifetimeRow) { fmt.Println(r) })
}

func printRows(rows ...row) {
	for _, r := range rows {
		fmt.Println(r)
	}
}
