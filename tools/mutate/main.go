// Mutate tests the tests: it makes many small mistakes in the packages that decide, one at
// a time, and looks whether a test fails. A mistake that no test detects has survived.
//
//	go -C tools run ./mutate [flags] PACKAGE ...
//
// The packages are folders of the main module, as ./backoff. Operators are swapped as gremlins
// swaps them; besides, statements are deleted, branches emptied, and conditions held at true or
// false (mutants.go). A mutant that does not compile does not count.
//
// Gremlins would link a test binary for each mutant. Here one binary holds all mutants of a
// package, and a variable of the environment chooses one (binary.go). A mutant runs the tests
// of its package and, if it survives them, those of the root, of stories and of vectors, which
// go through all packages; with -tests those of one other folder instead. Random tests draw the
// same in every run. A mutant that makes the tests take ten times as long counts as killed.
//
// The command fails if a package has fewer than the least percentage of its mutants killed,
// or if docs/mutants.md does not explain a survivor. It never touches the source: it builds with
// go test -overlay.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	least := flag.Float64("min", 95, "the least `percentage` of mutants killed, of each package")
	tests := flag.String("tests", "", "test with the tests of this `folder` alone, as ./vectors")
	flag.Parse()
	ok, err := run(flag.Args(), *tests, *least)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// run tests the packages, prints what survived, and reports whether all is well.
func run(dirs []string, tests string, least float64) (ok bool, err error) {
	root, err := filepath.Abs("..")
	text, e := os.ReadFile(filepath.Join(root, "docs", "mutants.md"))
	why, e2 := parseReasons(string(text))
	if err := errors.Join(err, e, e2); err != nil {
		return false, err
	}
	ok = true
	for _, dir := range dirs {
		folders := slices.Compact([]string{dir, ".", "./stories", "./vectors"})
		if tests != "" {
			folders = []string{tests}
		}
		p, err := load(root, dir, why)
		for _, folder := range folders {
			if err == nil {
				err = p.testIn(folder)
			}
		}
		if p != nil {
			os.RemoveAll(p.work)
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", dir, err)
		}
		ok = p.report(least) && ok
	}
	return ok, nil
}

// report prints the mutants that survive and have no reason, in the form of the file, the reasons
// for those that are killed or gone, and the rate. It reports whether all survivors have a reason
// and the rate is no less than the least.
func (p *source) report(least float64) (ok bool) {
	ok = true
	count, survivors := map[string]int{}, map[string]bool{}
	for _, m := range p.mutants {
		count[m.verdict]++
		if m.verdict != "survived" {
			continue
		}
		survivors[m.name] = true
		if !p.why[m.name] {
			ok = false
			fmt.Println("survived, in", m.name)
		}
	}
	for name := range p.why {
		if strings.HasPrefix(name, p.name+" - ") && !strings.HasSuffix(name, ": all: ") && !survivors[name] {
			fmt.Println("explained, but killed or gone, in", name)
		}
	}
	tested := count["killed"] + count["survived"]
	rate := 100 * float64(count["killed"]) / float64(max(tested, 1))
	fmt.Printf("%-20s %5d mutants, %5d killed: %.1f %%\n", p.name, tested, count["killed"], rate)
	return ok && rate >= least
}
