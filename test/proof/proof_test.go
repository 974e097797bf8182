package proof

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// proven reports the questions that are open.
func proven(t *testing.T, open []Open, err error) {
	t.Helper()
	NoError(t, err)
	for _, o := range open {
		t.Errorf("%s: %s: %s", o.Action, o.Goal, o.Answer)
	}
}

// Each action of the model keeps the invariant and has the properties.
func TestProof(t *testing.T) {
	open, err := Must(Load()).Induct(context.Background())
	proven(t, open, err)
}

// Counting comes to an end.
func TestRank(t *testing.T) {
	open, err := Must(Load()).Ranked(context.Background())
	proven(t, open, err)
}

// Without any one clause of the invariant, z3 finds a step that breaks another clause or a property.
func TestEveryClauseIsNeeded(t *testing.T) {
	m := Must(Load())
	for _, c := range m.Invariant {
		open := Must(m.Induct(context.Background(), c.Name))
		found := slices.IndexFunc(open, func(o Open) bool { return o.Answer == "sat" })
		if found < 0 {
			t.Errorf("%s is not needed: %v", c.Name, open)
			continue
		}
		t.Logf("without %s: %s breaks %s", c.Name, open[found].Action, open[found].Goal)
	}
}

// What z3 proves needs clauses about what controllers know. Without them only those properties are left that are
// conditions of the actions themselves.
func TestConditions(t *testing.T) {
	m := Must(Load())
	var know []string
	for _, c := range m.Invariant {
		if strings.Contains(c.formula.String(), "c.") {
			know = append(know, c.Name)
		}
	}
	open := Must(m.Induct(context.Background(), know...))
	var left []string
	for _, o := range open {
		if o.Answer != "sat" {
			t.Errorf("%s: %s: %s", o.Action, o.Goal, o.Answer)
		}
	}
	for _, p := range m.Properties {
		if !slices.ContainsFunc(open, func(o Open) bool { return o.Goal == p.Name }) {
			left = append(left, p.Name)
		}
	}
	Same(t, "the conditions of the actions", left, []string{"P3", "P4", "P6", "P8", "P9"})
}

// Without any one assumption, a run of the model breaks a property.
func TestAssumptions(t *testing.T) {
	m := Must(Load())
	for _, a := range m.Assumptions {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			trace := Must(m.Refute(context.Background(), a.Name, a.Breaks, 10))
			if trace == nil {
				t.Fatalf("%s holds without it", a.Breaks)
			}
			t.Logf("without: %s\n%s", a.Doc, trace)
		})
	}
}

// Without z3 the error says how to install it.
func TestNoZ3(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Must(Load()).Induct(context.Background()); !errors.Is(err, ErrNoZ3) {
		t.Errorf("got %v, want %v", err, ErrNoZ3)
	}
}
