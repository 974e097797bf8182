// Mutate tests the tests: it makes many small mistakes in the packages that decide, one at
// a time, and checks whether a test fails. A mistake that no test detects has survived.
//
//	go -C tools run ./mutate [flags] PACKAGE ...
//
// The packages are folders of the main module, as ./backoff. A mutant runs the tests of its
// package and, if it survives them, those of decide, machine, machine/route, jobtest/explanations, test/vectors,
// jobtest/decisions, test/stories and cmd/diagnose, which go through all packages; with -tests those
// of one other folder instead, of any module. Random tests draw the same in every run. A mutant that makes the
// tests take ten times as long counts as killed. One that does not compile does not count.
//
// The command fails if too few mutants of a package are killed, or if survivors.txt lacks a
// survivor or has a mutant that does not survive.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// everything has the folders whose tests go through all packages, the fast ones first.
const everything = " ./decide ./machine ./machine/route ./jobtest/explanations ./test/vectors ./jobtest/decisions" +
	" ./test/stories ./cmd/diagnose"

// limits are the memory and the seconds of a processor that a test may use. A mutant that loops while packages are
// initialized never comes to the timeout of the tests.
var limits = []string{"prlimit", "--as=8589934592", "--cpu=300"}

// work is a folder for mutants.
var work = filepath.Join(os.TempDir(), fmt.Sprint("mutate-", os.Getpid()))

func main() {
	least := flag.Float64("min", 95, "the least `percentage` of mutants killed, of each package")
	tests := flag.String("tests", "", "test with the tests of this `folder` alone, as ./test/vectors")
	flag.Parse()
	check(os.Chdir(".."))
	why, sources := readReasons("tools/mutate/survivors.txt"), []*source(nil)
	for _, dir := range flag.Args() {
		sources = append(sources, load(dir, why))
	}
	check(os.Mkdir(work, 0o700))
	switches(work, sources)
	ok := true
	for _, p := range sources {
		for _, folder := range slices.Compact(strings.Fields(cmp.Or(*tests, p.dir+everything))) {
			p.testIn(folder)
			fmt.Fprintf(os.Stderr, "%s: %d of %d mutants survive so far, after %s\n",
				p.name, p.survivors(), len(p.mutants), folder)
		}
		ok = p.report(*least) && ok
	}
	check(os.RemoveAll(work))
	if !ok {
		os.Exit(1)
	}
}

// readReasons returns the mutants that survivors.txt explains, by package. There, each is on a line
// of its own, and the reason follows.
func readReasons(file string) map[string][]string {
	text := must(os.ReadFile(file))
	why := map[string][]string{}
	for section := range strings.SplitSeq("\n"+string(text), "\n## ") {
		pkg, list, _ := strings.Cut(section, "\n")
		for _, item := range strings.Split("\n"+list, "\n- `")[1:] {
			name, _, ok := strings.Cut(item, ":\n  ")
			if !ok || pkg == "" {
				check(fmt.Errorf("want a mutant and, on the next line, a reason, below a package: \"`%s", item))
			}
			why[pkg] = append(why[pkg], "`"+name)
		}
	}
	return why
}

// report prints the survivors without a reason, the reasons without a survivor, and the rate. It
// reports whether there are none of these and the rate is no less than the least.
func (p *source) report(least float64) bool {
	count, survivors, ok := map[string]int{}, p.leftOut, true
	for _, m := range p.mutants {
		count[m.verdict]++
		if m.verdict == "survived" {
			survivors = append(survivors, m.name)
		}
	}
	difference := func(a, b []string, what string) {
		for _, name := range a {
			if !slices.Contains(b, name) {
				ok = false
				fmt.Printf("%s, in %s - %s\n", what, p.name, name)
			}
		}
	}
	difference(survivors, p.why, "survived")
	difference(p.why, survivors, "explained, but killed or gone")
	tested := count["killed"] + count["survived"]
	rate := 100 * float64(count["killed"]) / float64(max(tested, 1))
	fmt.Printf("%-20s %5d mutants, %5d killed: %.1f %%\n", p.name, tested, count["killed"], rate)
	return ok && rate >= least
}

// survivors returns the number of mutants that no test has detected yet.
func (p *source) survivors() (n int) {
	for _, m := range p.mutants {
		if m.verdict == "survived" {
			n++
		}
	}
	return n
}

// testIn runs the tests of a folder on the survivors so far. One program has the tests and all mutants that can be
// switched on; each other mutant is compiled.
func (p *source) testIn(dir string) {
	program := filepath.Join(work, strings.ReplaceAll(filepath.Clean(dir), "/", "-")+".test")
	if _, err := os.Stat(program); err != nil {
		check(run(dir, "go", "test", "-vet=off", "-c", "-o", program, "-overlay="+filepath.Join(work, "overlay.json")))
	}
	if _, err := os.Stat(program); err != nil {
		return // the folder has no tests
	}
	slow := slowTests(dir, program)
	if slow != "" {
		p.testWith(dir, program, "-test.skip="+slow)
		p.testWith(dir, program, "-test.run="+slow)
		return
	}
	p.testWith(dir, program, "-test.run=.")
}

// lasted matches what a test says at its end.
var lasted = regexp.MustCompile(`(?m)^--- PASS: (\w+) \((\d+)\.`)

// slowTests returns a pattern for the tests of a program that take a second or more. Most mutants die without them.
func slowTests(dir, program string) string {
	cmd := exec.Command(program, "-test.v")
	cmd.Dir = dir
	output, _ := cmd.Output() // whoever runs the tests next says what fails
	var names []string
	for _, m := range lasted.FindAllStringSubmatch(string(output), -1) {
		if m[2] != "0" {
			names = append(names, m[1])
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// testWith tests the mutants that survive so far with some of the tests of a program.
func (p *source) testWith(dir, program, which string) {
	with := func(mutant int, flags ...string) error {
		command := append(slices.Clone(limits), "env", fmt.Sprint("MUTANT=", mutant), program, which)
		return run(dir, append(command, flags...)...)
	}
	start := time.Now()
	check(with(0))
	limit := fmt.Sprint("timeout=", 10*(time.Since(start)+time.Second))
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i, m := range p.mutants {
		if m.verdict != "survived" {
			continue
		}
		group.Go(func() (err error) {
			if m.number > 0 {
				err = with(m.number, "-test.failfast", "-test."+limit)
			} else {
				file := filepath.Join(work, fmt.Sprint(p.name, i))
				overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{m.path: file + ".go"}})
				check(errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, overlay, 0o600),
					os.WriteFile(file+".go", []byte(m.text), 0o600)))
				err = run(dir, "go", "test", "-vet=off", "-exec="+strings.Join(limits, " "), "-overlay="+file,
					"-failfast", "-"+limit, strings.Replace(which, "test.", "", 1))
			}
			switch output := fmt.Sprint(err); {
			case strings.Contains(output, "[build failed]"):
				m.verdict = "broken"
			case err != nil:
				m.verdict = "killed"
			}
			return nil
		})
	}
	check(group.Wait())
}

// run runs a command in a folder. The error has what it prints.
func run(dir string, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "RAPID_SEED=1", "RAPID_NOFAILFILE=1", "RAPID_SHRINKTIME=1ns")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, output)
	}
	return nil
}

// must returns a value if there is no error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// check ends the command if there is an error.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", errors.Join(err, os.RemoveAll(work)))
		os.Exit(1)
	}
}
