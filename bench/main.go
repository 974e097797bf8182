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
	svg := flag.String("svg", "", "draw how the cost grows with the pods into this file instead")
	flag.Parse()
	if err := run(*runs, *only, *svg); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(runs int, only, svg string) error {
	if svg != "" {
		drawing, err := drawCost(meter{runs: runs}, full)
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

func printRows(rows ...row) {
	for _, r := range rows {
		fmt.Println(r)
	}
}
