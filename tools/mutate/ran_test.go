package main

import (
	"slices"
	"testing"
)

// TestLeaveOut checks that a mutant is left out if no test runs what it is in: the body
// of the first branch, and the end of the loop.
func TestLeaveOut(t *testing.T) {
	p := parsed(t, sample)
	var err error
	p.blocks, err = p.readBlocks(`mode: set
example.com/x/sample.go:5.33,6.12 1 1
example.com/x/sample.go:6.12,8.3 1 0
example.com/x/sample.go:9.2,10.9 2 1
example.com/x/sample.go:11.45,13.8 2 0
example.com/x/sample.go:11.45,13.8 2 1
example.com/x/sample.go:20.10,22.4 1 0
example.com/x/other.go:1.1,90.1 1 0
`)
	if err != nil {
		t.Fatal(err)
	}
	mutants := p.statementMutants()
	p.leaveOut(mutants)
	var out []string
	for _, m := range mutants {
		if m.verdict == notRun && !slices.Contains(out, m.was) {
			out = append(out, m.was)
		}
	}
	if want := []string{"return -1", "s.n--"}; !slices.Equal(out, want) {
		t.Errorf("left out: %q, want %q", out, want)
	}
	if _, err := p.readBlocks("mode: set\nsample.go:1.1,x\n"); err == nil {
		t.Error("a profile that cannot be read gives no error")
	}
}
