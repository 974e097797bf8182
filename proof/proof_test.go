package proof

import (
	"context"
	"testing"
)

func load(t *testing.T) *Model {
	t.Helper()
	m, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestProof(t *testing.T) {
	open, err := load(t).Induct(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range open {
		t.Errorf("%s: %s: %s", o.Action, o.Goal, o.Answer)
	}
}

func TestRank(t *testing.T) {
	open, err := load(t).Ranked(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range open {
		t.Errorf("%s: %s: %s", o.Action, o.Goal, o.Answer)
	}
}

func TestEveryClauseIsNeeded(t *testing.T) {
	m := load(t)
	for _, c := range m.Invariant {
		open, err := m.Induct(context.Background(), c.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(open) == 0 {
			t.Errorf("%s is not needed", c.Name)
			continue
		}
		t.Logf("without %s: %v", c.Name, open)
	}
}

func TestAssumptions(t *testing.T) {
	m := load(t)
	for _, a := range m.Assumptions {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			trace, err := m.Refute(context.Background(), a.Name, a.Breaks, 10)
			if err != nil {
				t.Fatal(err)
			}
			if trace == nil {
				t.Fatalf("%s holds without it", a.Breaks)
			}
			t.Logf("without: %s\n%s", a.Doc, trace)
		})
	}
}
