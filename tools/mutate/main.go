// Mutate tests the tests: it makes many small mistakes in the packages that decide, one at
// a time, and looks whether a test fails. A mistake that no test detects has survived.
//
//	go -C tools run ./mutate [flags] PACKAGE ...
//
// The packages are folders of the main module, as ./backoff. A mutant runs the tests of its
// package and, if it survives them, those of the root, of stories and of vectors, which go
// through all packages; with -tests those of one other folder instead. Random tests draw the
// same in every run. A mutant that makes the tests take ten times as long counts as killed.
// One that does not compile does not count.
//
// The command fails if a package has fewer than the least percentage of its mutants killed,
// or if docs/mutants.md does not explain a survivor, or explains what does not survive.
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
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// work is a folder for what is built.
var work = filepath.Join(os.TempDir(), fmt.Sprint("mutate-", os.Getpid()))

func main() {
	least := flag.Float64("min", 95, "the least `percentage` of mutants killed, of each package")
	tests := flag.String("tests", "", "test with the tests of this `folder` alone, as ./vectors")
	flag.Parse()
	check(errors.Join(os.Chdir(".."), os.Mkdir(work, 0o700)))
	why, ok := readReasons("docs/mutants.md"), true
	for _, dir := range flag.Args() {
		p := load(dir, why)
		for _, folder := range slices.Compact(strings.Fields(cmp.Or(*tests, dir+" . ./stories ./vectors"))) {
			p.testIn(folder)
		}
		ok = p.report(*least) && ok
	}
	check(os.RemoveAll(work))
	if !ok {
		os.Exit(1)
	}
}

// readReasons returns the mutants that docs/mutants.md explains, by package. There, each is on a line
// of its own, and the reason follows.
func readReasons(file string) map[string][]string {
	text, err := os.ReadFile(file)
	check(err)
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

// testIn runs the tests of a folder on the survivors so far. To link a binary for each takes long,
// so one holds all, and a variable of the environment chooses one. What is outside of functions
// cannot choose, and has a binary of its own. So has what survives where tests are skipped.
func (p *source) testIn(dir string) {
	check(command(".", "go", "test", "-timeout=1h", dir))
	skipped := p.try(dir, p.mutants)
	for _, m := range p.mutants {
		if m.verdict == "survived" && (m.choice == "" || skipped) {
			p.try(dir, []*mutant{m})
		}
	}
}

var (
	broken = regexp.MustCompile(`\bmutant(\d+):`)
	failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
)

// try runs the tests of a folder on the survivors among some mutants, and reports whether it skips
// tests: those that fail in a binary of several mutants with none chosen, which allocates more. A
// mutant cannot use all of the machine's memory.
func (p *source) try(dir string, mutants []*mutant) (skipped bool) {
	mutants = p.build(dir, mutants)
	skip := "-test.skip=^$"
	run := func(chosen int, flags ...string) error {
		limits := []string{"sh", "-c", `ulimit -v 8388608; exec env "$0" "$@"`, "RAPID_SEED=1", "RAPID_NOFAILFILE=1", "RAPID_SHRINKTIME=1ns"}
		return command(dir, slices.Concat(limits, []string{fmt.Sprint("CHOSEN_MUTANT=", chosen), work + "/test", skip}, flags)...)
	}
	if len(mutants) > 1 {
		for _, test := range failed.FindAllStringSubmatch(fmt.Sprint(run(0)), -1) {
			skip, skipped = skip+"|^"+test[1]+"$", true
		}
		start := time.Now()
		check(run(0))
		p.timeout = fmt.Sprint("-test.timeout=", 10*(time.Since(start)+time.Second))
		mutants = slices.DeleteFunc(mutants, func(m *mutant) bool { return m.choice == "" })
	}
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for _, m := range mutants {
		group.Go(func() error {
			err := run(m.number, "-test.failfast", p.timeout)
			if errors.As(err, new(*exec.ExitError)) {
				m.verdict, err = "killed", nil
			}
			return err
		})
	}
	check(group.Wait())
	return skipped
}

// chosenMutant is declared in the package under test, which asks it what to be.
const chosenMutant = `package %s; import ("os"; "strconv"); var chosenMutant, _ = strconv.Atoi(os.Getenv("CHOSEN_MUTANT"))`

// build makes the test binary of a folder with the survivors among some mutants in it, and returns
// those that compile: the compiler names the others.
func (p *source) build(dir string, mutants []*mutant) []*mutant {
	mutants = slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.verdict != "survived" })
	texts := map[string]string{filepath.Join(p.Dir, "chosen_mutant.go"): fmt.Sprintf(chosenMutant, p.Package.Name)}
	for _, m := range slices.Backward(mutants) {
		text := cmp.Or(texts[m.path], m.text)
		texts[m.path] = text[:m.body] + m.choice + text[m.body:]
		if len(mutants) == 1 {
			texts[m.path] = m.mutated
		}
	}
	replace := map[string]string{}
	for path, text := range texts {
		replace[path] = filepath.Join(work, filepath.Base(path))
		check(os.WriteFile(replace[path], []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	check(errors.Join(err, os.WriteFile(work+"/overlay", overlay, 0o600)))
	err = command(".", "go", "test", "-c", "-vet=off", "-o="+work+"/test", "-overlay="+work+"/overlay", "-gcflags="+p.dir+"=-e", dir)
	names := broken.FindAllStringSubmatch(fmt.Sprint(err), -1)
	if len(names) == 0 {
		check(err)
		return mutants
	}
	for _, name := range names {
		number, _ := strconv.Atoi(name[1])
		p.mutants[number-1].verdict = "broken"
	}
	return p.build(dir, mutants)
}

// command runs a command in a folder. The error has what it prints.
func command(dir string, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", args, err, output)
	}
	return nil
}

// check ends the command if there is an error.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", errors.Join(err, os.RemoveAll(work)))
		os.Exit(1)
	}
}
