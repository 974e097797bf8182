// Mutate tests the tests: it makes many small mistakes in the packages that decide, one at
// a time, and looks whether a test fails. A mistake that no test detects has survived.
//
//	go -C tools run ./mutate [flags] PACKAGE ...
//
// The packages are folders of the main module, as ./backoff. Gremlins finds operators to
// swap; besides, statements are deleted, branches emptied, and conditions held at true or
// false (mutants.go). A mutant that does not compile does not count.
//
// Gremlins would link a test binary for each mutant. Here one binary holds all mutants of a
// package, and a variable of the environment chooses one (binary.go). A mutant runs the tests
// of its package and, if it survives them, those of the root and then those of stories, which
// go through all packages; with -tests those of one other folder instead. Random tests draw
// the same in every run. A mutant that makes the tests take ten times as long counts as
// killed.
//
// The command fails if a package has fewer than the least percentage of its mutants killed,
// or if docs/mutants.md does not explain a survivor. With -tests or -share it asks for no
// explanation. It never touches the source: it builds with go test -overlay.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// options are the flags of the command.
type options struct {
	root, tests string
	least       float64
	share       int
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", "..", "the `folder` of the main module")
	flag.StringVar(&o.tests, "tests", "", "test with the tests of this `folder` alone, as ./vectors")
	flag.Float64Var(&o.least, "min", 95, "the least `percentage` of mutants killed, of each package")
	flag.IntVar(&o.share, "share", 100, "the `percentage` of the mutants to test, always the same ones")
	flag.Parse()
	ok, err := o.run(flag.Args(), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// run tests the packages, prints what survived, and reports whether all is well.
func (o options) run(dirs []string, out io.Writer) (ok bool, err error) {
	text, err := os.ReadFile(filepath.Join(o.root, "docs", "mutants.md"))
	if err != nil {
		return false, err
	}
	why, err := parseReasons(string(text))
	if err != nil {
		return false, err
	}
	ok = true
	var mutants, kills int
	row := func(name string, mutants, kills int) (rate float64) {
		rate = 100 * float64(kills) / float64(max(mutants, 1))
		fmt.Fprintf(out, "%-20s %5d mutants, %5d killed: %.1f %%\n", name, mutants, kills, rate)
		return rate
	}
	for _, dir := range dirs {
		tested, err := o.test(dir, why)
		if err != nil {
			return false, fmt.Errorf("%s: %w", dir, err)
		}
		unexplained := why.compare(tested, o.tests != "" || o.share < 100, out)
		var n, killed int
		for _, m := range tested {
			n += map[verdict]int{"killed": 1, "survived": 1}[m.verdict]
			killed += map[verdict]int{"killed": 1}[m.verdict]
		}
		ok = row(dir, n, killed) >= o.least && unexplained == 0 && ok
		mutants, kills = mutants+n, kills+killed
	}
	row("all", mutants, kills)
	return ok, nil
}

// test returns the mutants of a package, all of them tested.
func (o options) test(dir string, why reasons) ([]*mutant, error) {
	p, err := o.load(dir)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(p.work)
	if err := p.findMutants(why); err != nil {
		return nil, err
	}
	if o.tests != "" {
		return p.mutants, errors.Join(p.leaveOut(), p.testIn(o.tests))
	}
	for _, tests := range slices.Compact([]string{filepath.Clean(dir), ".", "stories"}) {
		if err := p.testIn(tests); err != nil {
			return p.mutants, err
		}
	}
	return p.mutants, nil
}
