// Mutate tests the tests: it makes many small mistakes in the packages that decide,
// one at a time, and looks whether a test fails. A mistake that no test notices has
// survived.
//
//	go run . [-root DIR] [-workers N] [-min PERCENT] [-explained FILE] [-only REGEXP]
//		[-tests DIR] [-share PERCENT] PACKAGE ...
//
// The packages are folders of the main module, as ./backoff; the dot is the root.
//
// The mistakes, called mutants, come from two sources. Gremlins swaps operators, all
// of its mutators being on (gremlins.yaml). What it does not do is done here:
// statements are deleted, bodies of branches emptied, conditions held at true or
// false (statements.go).
//
// A mutant is tested with the tests of its own package and, when it survives them,
// with those of the root, which go through all packages. Random tests draw the same
// in every run (runtest.sh). With -tests it is tested with the tests of one other
// package instead, to know how good those are alone; survivors need no explanation then,
// and mutants in statements that these tests do not run are counted apart, by function.
// One process runs these tests for many mutants (batch.go).
// With -share some of the mutants are left out, always the same.
// One that does not compile is no mutant and not counted;
// one that makes the tests run ten times as long as usual counts as killed, and as
// timed out.
//
// Gremlins finds its mutants and does not test them. It would link a test binary for
// each, run the tests of the mutant's package only, take a mutant that does not compile
// for killed, pass over case conditions and constants, which coverage profiles leave
// out, and time out when others use the machine. Here the mutants of a package share a
// few test binaries, and a variable of the environment chooses which of them to be.
//
// The command fails when a package has fewer than the least percentage of its mutants
// killed, or a survivor is not explained in the file with the explanations. It never
// touches the source: mutants are built with go test -overlay.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	root := flag.String("root", "../..", "the folder of the main module")
	workers := flag.Int("workers", 2, "how many mutants to test at once")
	least := flag.Float64("min", 95, "the least `percentage` of mutants killed, of each package")
	explained := flag.String("explained", "../../docs/mutants.md", "the `file` that explains the survivors")
	only := flag.String("only", "", "of the mutants only those that match the `regexp`, as they are printed when they survive")
	tests := flag.String("tests", "", "test with the tests of this `folder` alone, as ./vectors")
	share := flag.Uint("share", 100, "the `percentage` of the mutants to test")
	flag.Parse()
	status, err := run(*root, *workers, *least, *explained, *only, *tests, uint32(*share), flag.Args(), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	os.Exit(status)
}

// run tests the packages, prints what survived and a table, and returns the exit
// status.
func run(root string, workers int, least float64, explained, only, tests string, share uint32, dirs []string, out io.Writer) (int, error) {
	reasons, err := readReasons(explained)
	if err != nil {
		return 1, err
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return 1, fmt.Errorf("-only: %w", err)
	}
	r, err := newRunner(root, workers, out)
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(r.work)
	r.reasons, r.only, r.tests, r.share = reasons, pattern, tests, share
	var mutants []*mutant
	unexplained := 0
	for _, dir := range dirs {
		tested, err := r.testPackage(filepath.ToSlash(filepath.Clean(dir)))
		if err != nil {
			return 1, fmt.Errorf("%s: %w", dir, err)
		}
		// At once, for the next package may take half an hour.
		if tests == "" && share >= 100 {
			unexplained += reasons.compare(tested, pattern, out)
		} else {
			survivors(tested, out)
		}
		table(tested, least, out)
		mutants = append(mutants, tested...)
	}
	below := table(mutants, least, out)
	if unexplained > 0 || below > 0 {
		return 1, nil
	}
	return 0, nil
}

// testPackage returns the mutants of a package, all of them tested.
func (r *runner) testPackage(dir string) ([]*mutant, error) {
	p, err := r.loadPackage(dir)
	if err != nil {
		return nil, err
	}
	statements, err := r.testStatements(p)
	if err != nil {
		return nil, err
	}
	swapped, err := r.testGremlins(p)
	if err != nil {
		return nil, err
	}
	return append(statements, swapped...), nil
}
