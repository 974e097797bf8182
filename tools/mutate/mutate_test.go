package main

import (
	"bytes"
	"go/importer"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var everything = regexp.MustCompile("")

// parsed makes a package of one file.
func parsed(t *testing.T, text string) *sourcePackage {
	t.Helper()
	p := &sourcePackage{dir: "sample", name: "sample", fset: token.NewFileSet(), imports: importer.Default(), only: everything, share: 100}
	tree, err := parser.ParseFile(p.fset, "sample.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p.files = []*sourceFile{{path: "sample.go", name: "sample.go", text: text, tree: tree}}
	if err := p.check(nil, ""); err != nil {
		t.Fatal(err)
	}
	return p
}

const sample = `package sample

type set struct{ n int }

func (s *set) grow(by int) int {
	if by < 0 {
		return -1
	}
	before := s.n
	switch {
	case by > 9 && by != 11 || before == 0:
		s.n = 9
		s.n++
	default:
		s.n += by
	}
	for i := range by {
		if i == before {
			continue
		} else {
			s.n--
		}
	}
	return s.n
}
`

func TestStatementMutants(t *testing.T) {
	p := parsed(t, sample)
	var got []string
	for _, m := range p.statementMutants() {
		if m.pkg != "sample" || m.function != "set.grow" {
			t.Errorf("the mutant is placed in %s, %s, want sample, set.grow", m.pkg, m.function)
		}
		got = append(got, strings.TrimSpace(m.mutator+": "+m.was+" => "+m.becomes))
	}
	// The definition of before and the last return fall out: without them it does
	// not compile.
	want := []string{
		"DELETED_STATEMENT: switch { =>",
		"DELETED_STATEMENT: for i := range by { =>",
		"CONDITION_TRUE: by < 0 => true",
		"DELETED_STATEMENT: return -1 =>",
		"CONDITION_TRUE: by > 9 && by != 11 || before == 0 => true",
		"CONDITION_FALSE: by > 9 && by != 11 || before == 0 => false",
		"DELETED_STATEMENT: s.n = 9 =>",
		"DELETED_STATEMENT: s.n++ =>",
		"EMPTIED_BRANCH: { s.n = 9 } =>",
		"DELETED_STATEMENT: s.n += by =>",
		"CONDITION_TRUE: i == before => true",
		"CONDITION_FALSE: i == before => false",
		"DELETED_STATEMENT: continue =>",
		"DELETED_STATEMENT: s.n-- =>",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// All mutants at once still compile, each with a number of its own, and those around
// others hold them.
func TestSwitched(t *testing.T) {
	p := parsed(t, sample)
	mutants := p.statementMutants()
	text := p.switched(mutants)["sample.go"]
	for _, want := range []string{
		"if chosenMutant != 9 { if chosenMutant != 7 { s.n = 9 }\n\t\tif chosenMutant != 8 { s.n++ } }\n",
		"(chosenMutant == 11 || ((chosenMutant != 12 && (i == before))))",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the file lacks\n%s\nin\n%s", want, text)
		}
	}
	if err := p.check(p.files[0], text+"\nvar chosenMutant int\n"); err != nil {
		t.Errorf("does not compile: %v\n%s", err, text)
	}
}

func TestSwapped(t *testing.T) {
	p := parsed(t, sample)
	for _, tc := range []struct {
		reason       string
		found        finding
		was, becomes string
	}{
		{"a comparison", finding{Type: "CONDITIONALS_BOUNDARY", Line: 6, Column: 8}, "by < 0", "by <= 0"},
		{"a sign", finding{Type: "INVERT_NEGATIVES", Line: 7, Column: 10}, "-1", "+1"},
		{"operands stay together when an operator binds less", finding{Type: "INVERT_LOGICAL", Line: 11, Column: 14},
			"by > 9 && by != 11", "by > 9 || by != 11"},
		{"operands stay together when an operator binds more", finding{Type: "INVERT_LOGICAL", Line: 11, Column: 26},
			"by > 9 && by != 11 || before == 0", "by > 9 && by != 11 && before == 0"},
		{"an assignment", finding{Type: "REMOVE_SELF_ASSIGNMENTS", Line: 15, Column: 7}, "s.n += by", "s.n = by"},
		{"a statement", finding{Type: "INCREMENT_DECREMENT", Line: 21, Column: 7}, "s.n--", "s.n++"},
		{"a jump", finding{Type: "INVERT_LOOPCTRL", Line: 19, Column: 4}, "continue", "break"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			m, err := p.swapped("sample.go", tc.found)
			if err != nil {
				t.Fatal(err)
			}
			if m.was != tc.was || m.becomes != tc.becomes || m.function != "set.grow" {
				t.Errorf("got %q => %q in %s, want %q => %q in set.grow", m.was, m.becomes, m.function, tc.was, tc.becomes)
			}
			if !p.viable(m.change) {
				t.Error("it does not compile")
			}
			if p.files[0].text != sample {
				t.Error("the source has changed")
			}
		})
	}
	for _, found := range []finding{
		{Type: "INVERT_LOGICAL", Line: 6, Column: 8},
		{Type: "CONDITIONALS_BOUNDARY", Line: 6, Column: 7},
		{Type: "NEW_MUTATOR", Line: 6, Column: 8},
	} {
		if m, err := p.swapped("sample.go", found); err == nil {
			t.Errorf("%+v gives %q => %q, want an error", found, m.was, m.becomes)
		}
	}
}

// Gremlins has mutators that are off by default, and says nothing of a configuration
// that it cannot use.
func TestAllMutatorsAreOn(t *testing.T) {
	config, err := os.ReadFile("gremlins.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name := range swaps {
		want := strings.ReplaceAll(strings.ToLower(name), "_", "-") + ":\n    enabled: true\n"
		if !strings.Contains(string(config), want) {
			t.Errorf("gremlins.yaml lacks\n%s", want)
		}
	}
}

// Mutants of conditions share a file unless one is around another; others stand alone if
// no statement can choose them.
func TestInRounds(t *testing.T) {
	p := parsed(t, sample)
	var mutants []*mutant
	for _, found := range []finding{
		{Type: "CONDITIONALS_BOUNDARY", Line: 6, Column: 8},
		{Type: "CONDITIONALS_BOUNDARY", Line: 11, Column: 10},
		{Type: "INVERT_LOGICAL", Line: 11, Column: 14},
		{Type: "CONDITIONALS_NEGATION", Line: 18, Column: 8},
		{Type: "INCREMENT_DECREMENT", Line: 21, Column: 7},
	} {
		m, err := p.swapped("sample.go", found)
		if err != nil {
			t.Fatal(err)
		}
		mutants = append(mutants, m)
	}
	rounds, single := inRounds(mutants)
	if len(rounds) != 1 || len(rounds[0]) != 4 || len(single) != 1 {
		t.Fatalf("got rounds %v and single %v, want a round of 4 and one single", rounds, single)
	}
	text := p.chosen(rounds[0])["sample.go"]
	for _, want := range []string{
		"if (chosenMutant == 1 && (by <= 0) || chosenMutant != 1 && (by < 0)) {",
		"case (chosenMutant == 2 && (by >= 9 && by != 11 || before == 0) || chosenMutant == 3 && (by > 9 || by != 11 || before == 0) || " +
			"chosenMutant != 2 && chosenMutant != 3 && (by > 9 && by != 11 || before == 0)):",
		"if (chosenMutant == 4 && (i != before) || chosenMutant != 4 && (i == before)) {",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the file lacks\n%s\nin\n%s", want, text)
		}
	}
	if err := p.check(p.files[0], text+"\nvar chosenMutant int\n"); err != nil {
		t.Errorf("does not compile: %v\n%s", err, text)
	}
}

// Text keeps the operands of an operator together only with parentheses.
func TestSwappedAddsParentheses(t *testing.T) {
	p := parsed(t, "package sample\n\nfunc all(a, b, c bool) bool { return a && b && c }\n")
	m, err := p.swapped("sample.go", finding{Type: "INVERT_LOGICAL", Line: 3, Column: 40})
	if err != nil {
		t.Fatal(err)
	}
	if want := "func all(a, b, c bool) bool { return (a || b) && c }"; !strings.Contains(m.change.apply(), want) {
		t.Errorf("got %q, want %q", m.change.apply(), want)
	}
}

func TestViable(t *testing.T) {
	p := parsed(t, "package sample\n\nfunc join(a, b string) string { return a + b }\n")
	m, err := p.swapped("sample.go", finding{Type: "ARITHMETIC_BASE", Line: 3, Column: 42})
	if err != nil {
		t.Fatal(err)
	}
	if p.viable(m.change) {
		t.Errorf("%q is viable, want not: strings have no difference", m.becomes)
	}
}

const explained = `# Survivors

Words before, and

- an item without a mutant.

## sample

- ` + "`set.grow`, `set.shrink`: `s.n--` → nothing; `i < 9` → `i <= 9`" + `: None
  counts.
- ` + "`-`: `n < 0` → `n <= 0`" + `: n is never 0.
- ` + "`prefetch`: all" + `: It only makes room.
`

func TestReasons(t *testing.T) {
	rs, err := parseReasons(explained)
	if err != nil {
		t.Fatal(err)
	}
	deleted, bound := place{"sample", "set.grow", "s.n--", ""}, place{"sample", "", "n < 0", "n <= 0"}
	for p, want := range map[place]string{
		deleted: "None counts.", {"sample", "set.shrink", "i < 9", "i <= 9"}: "None counts.", bound: "n is never 0.",
	} {
		if rs[p] != want {
			t.Errorf("the reason for %s is %q, want %q", p, rs[p], want)
		}
	}
	if len(rs) != 6 {
		t.Errorf("got %d reasons, want 6", len(rs))
	}

	other := place{"sample", "set.other", "s.n--", ""}
	var out bytes.Buffer
	unexplained := rs.compare([]*mutant{
		{place: deleted, verdict: survived},
		{place: bound, verdict: killed},
		{place: other, verdict: survived},
		{place: place{pkg: "another"}, verdict: timedOut},
	}, everything, &out)
	if unexplained != 1 {
		t.Errorf("%d are not explained, want 1", unexplained)
	}
	for _, want := range []string{
		"not explained, in sample:\n" + other.String(),
		"explained, but killed or gone, in sample:\n" + bound.String(),
		"explained, but killed or gone, in sample:\n- `set.shrink`: `s.n--`",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant it to contain\n%s", out.String(), want)
		}
	}
	if strings.Contains(out.String(), deleted.String()) || strings.Contains(out.String(), "prefetch") {
		t.Errorf("got\n%s\nwant nothing about the survivor that is explained and the function that is left out", out.String())
	}
}

// A function that is left out has no mutants.
func TestLeftOut(t *testing.T) {
	rs, err := parseReasons("## sample\n\n- `set.grow`: all: It only makes room.\n")
	if err != nil {
		t.Fatal(err)
	}
	p := parsed(t, sample)
	p.reasons = rs
	if got := p.statementMutants(); len(got) != 0 {
		t.Errorf("got %d mutants, want none", len(got))
	}
	var out bytes.Buffer
	if rs.compare([]*mutant{{place: place{pkg: "sample"}, verdict: killed}}, everything, &out); out.Len() != 0 {
		t.Errorf("got\n%s\nwant nothing", out.String())
	}
}

// Of mutants that are not wanted there are none, and no reason is asked for.
func TestOnly(t *testing.T) {
	p := parsed(t, sample)
	p.only = regexp.MustCompile("^- `set.grow`: .* → nothing")
	got := p.statementMutants()
	for _, m := range got {
		if m.function != "set.grow" || m.becomes != "" {
			t.Errorf("got %v", m.place)
		}
	}
	if len(got) == 0 {
		t.Error("got none, want those of the function")
	}
	rs := reasons{place{"sample", "set.shrink", "s.n--", ""}: "None counts."}
	var out bytes.Buffer
	if rs.compare(got, p.only, &out); strings.Contains(out.String(), "killed or gone") {
		t.Errorf("got\n%s\nwant nothing about the one that is not wanted", out.String())
	}
}

// What is printed of a survivor can be put into the file as it is, before a reason.
func TestPlaceRoundTrip(t *testing.T) {
	for _, want := range []place{{"sample", "", "n < 0", "n <= 0"}, {"sample", "set.grow", "{ s.n++ }", ""}} {
		rs, err := parseReasons("## sample\n\n" + want.String() + "Because.\n")
		if err != nil || len(rs) != 1 || rs[want] != "Because." {
			t.Errorf("got %v, %v, want the reason of %v", rs, err, want)
		}
	}
}

func TestReasonsRefused(t *testing.T) {
	for reason, text := range map[string]string{
		"no reason":           "## a\n- `f`: `x` → nothing\n",
		"no package":          "- `f`: `x` → nothing: Because.\n",
		"no mutant":           "## a\n- `f`: Because.\n",
		"no text after":       "## a\n- `f`: `x` → : Because.\n",
		"left out, no reason": "## a\n- `f`: all\n",
	} {
		if _, err := parseReasons(text); err == nil || !strings.Contains(err.Error(), "want functions, mutants and a reason, below a package") {
			t.Errorf("%s: got %v", reason, err)
		}
	}
	if rs, err := readReasons("../../docs/mutants.md"); err != nil || len(rs) < 20 {
		t.Errorf("the file of the project has %d reasons, %v", len(rs), err)
	}
	if _, err := readReasons("nowhere.md"); err == nil {
		t.Error("a file that is not there gives no error")
	}
}

func TestTable(t *testing.T) {
	var mutants []*mutant
	for pkg, verdicts := range map[string][]verdict{"good": {killed, timedOut}, "bad": {killed, survived, notRun}} {
		for _, v := range verdicts {
			mutants = append(mutants, &mutant{place: place{pkg: pkg}, verdict: v})
		}
	}
	var out bytes.Buffer
	if below := table(mutants, 51, &out); below != 1 {
		t.Errorf("%d packages are below, want 1", below)
	}
	for _, want := range []string{
		"package               mutants   killed  timed out  survived    rate  not run\n",
		"good                        2        2          1         0  100.0%        0\n",
		"bad                         2        1          0         1   50.0%        1  below 51 %\n",
		"all                         4        3          1         1   75.0%        1\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant it to contain\n%s", out.String(), want)
		}
	}
	if below := table(mutants, 50, &out); below != 0 {
		t.Errorf("%d packages are below 50 %%, want none: one has just that", below)
	}
}
