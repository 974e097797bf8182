// Command slope checks that the cost of a decision grows at most in proportion to its input.
// It counts statements instead of time, so its result does not depend on the machine.
//
//	go -C tools run ./slope .. $(cat tools/lint/deciding.txt)
//
// It runs each BenchmarkSlope_* of the package in the folder once with 1,000 items and once
// with 10,000, and counts the statements that the named packages execute. A loop over the
// items within a loop over the items executes a hundred times the statements.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/cover"
)

const (
	few, many = 1000, 10_000
	// limit is how many times the statements may grow: ten times, and a little for sorting.
	limit = 11
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: slope FOLDER PACKAGE...")
		os.Exit(2)
	}
	if err := check(os.Stdout, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check counts for all benchmarks of the package in a folder, and prints a line for each. It
// returns an error if one of them is too steep.
func check(out io.Writer, folder string, packages []string) error {
	work, err := os.MkdirTemp("", "slope")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	tests := binary{filepath.Join(work, "tests"), folder, filepath.Join(work, "profile")}
	if _, err := run(folder, "go", "test", "-c", "-o", tests.path, "-covermode=count", "-coverpkg="+strings.Join(packages, ","), "."); err != nil {
		return err
	}
	benchmarks, err := run(folder, tests.path, "-test.list=^BenchmarkSlope_")
	if err != nil {
		return err
	}
	var steep []string
	for name := range strings.FieldsSeq(benchmarks) {
		small, err := tests.statements(name, few)
		if err != nil {
			return err
		}
		large, err := tests.statements(name, many)
		if err != nil {
			return err
		}
		growth := float64(large) / float64(small)
		fmt.Fprintf(out, "%s: %d statements with %d, %d with %d: %.1f times\n", name, small, few, large, many, growth)
		if growth > limit {
			steep = append(steep, name)
		}
	}
	switch {
	case benchmarks == "":
		return fmt.Errorf("%s has no BenchmarkSlope_*", folder)
	case steep != nil:
		return fmt.Errorf("ten times the items take more than %d times the statements: %s", limit, strings.Join(steep, ", "))
	}
	return nil
}

// binary is a test binary that counts statements.
type binary struct{ path, folder, profile string }

// statements returns how many statements a benchmark executes with n items.
func (b binary) statements(name string, n int) (int, error) {
	_, err := run(b.folder, b.path, "-test.run=^$", "-test.benchtime=1x", "-test.coverprofile="+b.profile,
		fmt.Sprintf("-test.bench=^%s$/^%d$", name, n))
	if err != nil {
		return 0, err
	}
	profiles, err := cover.ParseProfiles(b.profile)
	if err != nil {
		return 0, err
	}
	sum := 0
	for _, p := range profiles {
		for _, block := range p.Blocks {
			sum += block.NumStmt * block.Count
		}
	}
	if sum < n {
		return 0, fmt.Errorf("%s/%d executes only %d statements", name, n, sum)
	}
	return sum, nil
}

// run returns the standard output of a command that must succeed.
func run(folder, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", cmd, err, &out, &problems)
	}
	return out.String(), nil
}
