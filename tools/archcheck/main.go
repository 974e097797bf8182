// Archcheck checks the architecture of the main module: which package may import
// which, what the module may require, that what decides is pure, that files and
// functions stay short, and that what is exported is documented.
//
//	go run ./archcheck [-q] ROOT
//
// A finding stands on a line of its own: file, line, rule, and why. Warnings do
// not fail the check; -q leaves them out.
//
// It reads source text and needs no build. Types from other packages are unknown
// to it, so it does not see a package-level variable of such a type changed by a
// method of its own.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	quiet := flag.Bool("q", false, "leave warnings out")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: archcheck [-q] ROOT")
		os.Exit(2)
	}
	os.Exit(run(flag.Arg(0), *quiet, os.Stdout))
}

// run checks the repository at root and returns the exit status.
func run(root string, quiet bool, out io.Writer) int {
	r, err := load(os.DirFS(root))
	if err != nil {
		fmt.Fprintln(out, "archcheck:", err)
		return 1
	}
	findings := r.check()
	errors, warnings := 0, 0
	for _, f := range findings {
		if f.warning {
			warnings++
		} else {
			errors++
		}
		if !f.warning || !quiet {
			fmt.Fprintln(out, f)
		}
	}
	fmt.Fprintf(out, "archcheck: %d packages, %d files: %d errors, %d warnings\n", len(r.packages()), len(r.files), errors, warnings)
	if errors > 0 {
		return 1
	}
	return 0
}

// check applies all rules and returns the findings in the order of the source.
func (r *repository) check() []finding {
	var all findings
	r.checkModule(&all)
	for _, f := range r.files {
		checkSize(f, &all)
		if f.module == "." {
			r.checkImports(f, &all)
		}
	}
	for _, p := range r.packages() {
		r.checkDocs(p, &all)
		if p.decides() {
			checkPurity(r.fset, p, &all)
		}
	}
	r.checkUnused(&all)
	return all.sorted()
}
