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
// of its package and, if it survives them, those of the root, of stories and of vectors, which
// go through all packages; with -tests those of one other folder instead. Random tests draw
// the same in every run. A mutant that makes the tests take ten times as long counts as
// killed.
//
// The command fails if a package has fewer than the least percentage of its mutants killed,
// or if docs/mutants.md does not explain a survivor. With -tests or -share it asks for no
// explanation. It never touches the source: it builds with go test -overlay.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	row := func(name string, mutants []*mutant) (rate float64) {
		count := map[string]int{}
		for _, m := range mutants {
			count[m.verdict]++
		}
		tested := count["killed"] + count["survived"]
		rate = 100 * float64(count["killed"]) / float64(max(tested, 1))
		fmt.Fprintf(out, "%-20s %5d mutants, %5d killed: %.1f %%\n", name, tested, count["killed"], rate)
		return rate
	}
	ok = true
	var all []*mutant
	for _, dir := range dirs {
		p, err := o.load(dir)
		if err == nil {
			err = p.test(why)
			os.RemoveAll(p.work)
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", dir, err)
		}
		explained := p.report(why, out)
		ok = row(dir, p.mutants) >= o.least && explained && ok
		all = append(all, p.mutants...)
	}
	row("all", all)
	return ok, nil
}

// test makes the mutants of the package and tests them.
func (p *source) test(why reasons) error {
	folders := slices.Compact([]string{p.dir, ".", "stories", "vectors"})
	if p.tests != "" {
		folders = []string{p.tests}
	}
	err := p.findMutants(why)
	for _, tests := range folders {
		if err == nil {
			err = p.testIn("./" + tests)
		}
	}
	if p.tests != "" && err == nil {
		err = p.leaveOut()
	}
	return err
}

// report prints the mutants that are not killed and have no reason, in the form of the file, and
// the reasons for those that are killed or gone. It reports whether all survivors have a reason:
// if only some mutants or tests were asked for, they need none.
func (p *source) report(why reasons, out io.Writer) (explained bool) {
	some, survivors := p.tests != "" || p.share < 100, reasons{}
	explained = true
	for _, m := range p.mutants {
		if m.verdict == "broken" {
			continue
		}
		survivors[m.String()] = survivors[m.String()] || m.verdict == "survived"
		if m.verdict != "killed" && (some || !why[m.String()]) {
			explained = some
			fmt.Fprintf(out, "%s, in %s\n", m.verdict, m)
		}
	}
	for key := range why {
		if !some && strings.HasPrefix(key, p.name+" - ") && !strings.HasSuffix(key, ": all: ") && !survivors[key] {
			fmt.Fprintf(out, "explained, but killed or gone, in %s\n", key)
		}
	}
	return explained
}
