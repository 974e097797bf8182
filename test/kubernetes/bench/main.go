// Command bench compares the cost of jobfate with two others: the code of the real Job
// controller, and the floor, which is the cost of reading each pod once. It prints one
// table.
//
//	go run . [-runs 11] [-rows regexp] [-scale full] [-data file]
//
// With -data it appends the samples of the rows to a file, for benchstat: .ci/compare.
//
// The sides of a row run in turns, and a figure is the median of its runs. Only the ratios
// are meaningful: each is the median of the ratios of consecutive runs. Times are the CPU
// times of one thread, so that other work on the machine matters less. The garbage collector
// and other goroutines are not included. That favors the real controller, which allocates
// more and starts more goroutines.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
)

func main() {
	runs := flag.Int("runs", 11, "runs of each side of a row; the figure is their median")
	only := flag.String("rows", "", "measure only the groups of rows whose title matches")
	size := flag.String("scale", "full", "the pods and intervals of the rows: full, medium or short")
	data := flag.String("data", "", "append the samples of the rows to this file")
	flag.Parse()
	if err := run(*runs, *only, *size, *data); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(runs int, only, size, data string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	z, ok := scales[size]
	if !ok {
		return fmt.Errorf("there is no scale %q", size)
	}
	var samples bytes.Buffer
	fmt.Println(header)
	for _, g := range groups {
		if !wanted.MatchString(g.title) {
			continue
		}
		err := g.measure(meter{runs: runs}, z, func(rows ...row) {
			for _, r := range rows {
				fmt.Println(r)
				samples.WriteString(r.data())
			}
		})
		if err != nil {
			return fmt.Errorf("%s: %w", g.title, err)
		}
	}
	if data == "" {
		return nil
	}
	f, err := os.OpenFile(data, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = samples.WriteTo(f)
	return err
}
