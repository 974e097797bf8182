package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The variables of the environment that a batch reads: which mutants to be, which tests to
// run, and how long each mutant may take.
const (
	batchVariable = "JOBFATE_MUTANTS"
	testsVariable = "JOBFATE_TESTS"
	limitVariable = "JOBFATE_MUTANT_LIMIT"
)

// batchFile makes a test binary run its tests for each of many mutants of one package,
// one test after the other until one fails, and print the exit status. To start a process
// for a mutant takes longer than most mutants live.
const batchFile = `package %s

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "unsafe"

	_ %[2]q
)

//go:linkname chosenMutant %[2]s.chosenMutant
var chosenMutant int

func TestMain(m *testing.M) {
	list, found := os.LookupEnv(%[3]q)
	if !found {
		os.Exit(m.Run())
	}
	tests := strings.Fields(os.Getenv(%[4]q))
	limit, err := time.ParseDuration(os.Getenv(%[5]q))
	if err != nil {
		panic(err)
	}
	for number := range strings.SplitSeq(list, ",") {
		chosenMutant, _ = strconv.Atoi(number)
		alarm := time.AfterFunc(limit, func() {
			fmt.Fprintf(os.Stderr, "\nmutant %%s late\n", number)
			os.Exit(1)
		})
		status := 0
		for i := 0; i < len(tests) && status == 0; i++ {
			flag.Set("test.run", "^"+tests[i]+"$")
			status = m.Run()
		}
		alarm.Stop()
		fmt.Fprintf(os.Stderr, "\nmutant %%s %%d\n", number, status)
	}
}
`

// buildBatch makes the test binary of a folder, with texts that hold many mutants of a
// package.
func (r *runner) buildBatch(p *sourcePackage, dir string, texts map[string]string) (binary, error) {
	name, err := r.goCommand("list", "-f", "{{.Name}}", "./"+dir)
	if err != nil {
		return binary{}, err
	}
	path, err := r.goCommand("list", "-f", "{{.ImportPath}}", "./"+p.dir)
	if err != nil {
		return binary{}, err
	}
	texts[filepath.Join(r.root, dir, "batch_of_mutants_test.go")] = fmt.Sprintf(batchFile,
		strings.TrimSpace(name), strings.TrimSpace(path), batchVariable, testsVariable, limitVariable)
	return r.build(dir, texts)
}

// runBatch tests mutants by their numbers in the texts of a binary, from 1. A process
// that ends before its list does has met a mutant that panics or takes too long; another
// goes on behind it.
func (r *runner) runBatch(b binary, mutants []*mutant) error {
	list := exec.Command(b.path, "-test.list", ".")
	list.Dir = b.dir
	tests, err := list.Output()
	if err != nil {
		return err
	}
	var left []int
	for i, m := range mutants {
		if m.verdict == survived {
			left = append(left, i+1)
		}
	}
	for len(left) > 0 {
		verdicts, err := r.runSome(b, string(tests), left)
		if err != nil {
			return err
		}
		for i, v := range verdicts {
			mutants[left[i]-1].verdict = v
		}
		left = left[len(verdicts):]
	}
	return nil
}

// runSome runs one process, and returns the verdicts about the first of the mutants: at
// least one, and all of them unless the process ended early.
func (r *runner) runSome(b binary, tests string, numbers []int) ([]verdict, error) {
	var list []string
	for _, n := range numbers {
		list = append(list, strconv.Itoa(n))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(len(numbers))*(b.limit+time.Minute))
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(r.here, "runtest.sh"), b.path)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), batchVariable+"="+strings.Join(list, ","), testsVariable+"="+tests, limitVariable+"="+b.limit.String())
	var output bytes.Buffer
	cmd.Stderr = &output
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	verdicts := readVerdicts(output.String(), list)
	if len(verdicts) < len(list) {
		if err == nil {
			return nil, fmt.Errorf("of %d mutants %d have a verdict:\n%s", len(list), len(verdicts), output.String())
		}
		verdicts = append(verdicts, killed) // it has taken the process with it
	}
	return verdicts, nil
}

// readVerdicts reads what a batch prints about mutants, in their order.
func readVerdicts(output string, numbers []string) (verdicts []verdict) {
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		if len(words) != 3 || words[0] != "mutant" || len(verdicts) == len(numbers) || words[1] != numbers[len(verdicts)] {
			continue
		}
		at := slices.Index([]string{"0", "1", "late"}, words[2])
		verdicts = append(verdicts, []verdict{killed, survived, killed, timedOut}[at+1])
	}
	return verdicts
}
