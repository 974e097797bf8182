package proof

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// ErrNoZ3 says how to install z3.
var ErrNoZ3 = fmt.Errorf("the command z3 is needed: install it with apt-get install z3 or brew install z3")

// ask passes a script to z3 and returns what it prints.
func ask(ctx context.Context, script string) (string, error) {
	path, err := exec.LookPath("z3")
	if err != nil {
		return "", ErrNoZ3
	}
	cmd := exec.CommandContext(ctx, path, "-in", "-smt2")
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.Output()
	if err != nil || strings.Contains(string(out), "(error") {
		return "", fmt.Errorf("z3: %v: %s", err, out)
	}
	return string(out), nil
}

// script is a text in SMT-LIB 2.
type script struct {
	strings.Builder
	asked []Open
}

func (s *script) line(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

func (s *script) declare(all []Var, suffix string) {
	for _, v := range all {
		s.line("(declare-const %s%s %s)", v.Name, suffix, v.Type)
	}
}

func (s *script) assert(e expr) { s.line("(assert %s)", e) }

func (s *script) question(action, goal string, facts ...expr) {
	s.line("(push)")
	for _, f := range facts {
		s.assert(f)
	}
	s.line("(check-sat)\n(pop)")
	s.asked = append(s.asked, Open{Action: action, Goal: goal})
}

func not(e expr) expr { return list("not", e) }

func all(of ...expr) expr { return expr{list: append([]expr{{word: "and"}, {word: "true"}}, of...)} }

func anyOf(of ...expr) expr { return expr{list: append([]expr{{word: "or"}, {word: "false"}}, of...)} }

// assume declares the assumptions, all but one of which hold.
func (m *Model) assume(s *script, dropped string) {
	for _, a := range m.Assumptions {
		s.line("(define-fun %s () Bool %t)", a.Name, a.Name != dropped)
	}
}

// declareStep declares the variables of a step.
func (m *Model) declareStep(s *script) {
	m.assume(s, "")
	s.declare(m.Consts, "")
	s.declare(m.Variables(), "")
	s.declare(m.Variables(), "+")
	s.line("(assert (>= cap 1))")
}

// Open is a question to z3 with an unexpected answer.
type Open struct{ Action, Goal, Answer string }

// Induct asks z3 whether the invariant without the named clauses holds at the beginning, and whether
// each action keeps it and has the properties. It returns what is not proven.
func (m *Model) Induct(ctx context.Context, without ...string) ([]Open, error) {
	var s script
	m.declareStep(&s)
	var before []expr
	var goals []Named
	for _, c := range m.Invariant {
		if slices.Contains(without, c.Name) {
			continue
		}
		before = append(before, c.formula, ofOther(c.formula))
		goals = append(goals, Named{Name: c.Name, formula: all(m.after(c.formula), ofOther(m.after(c.formula)))})
	}
	goals = append(goals, m.Properties...)
	start := all(m.init, m.starting, ofOther(m.starting))
	s.question("init", "the invariant", start, not(all(before...)))
	for _, f := range before {
		s.assert(f)
	}
	for _, a := range m.Actions {
		s.line("(push)")
		s.declare(a.Given, "")
		s.assert(a.formula)
		for _, g := range goals {
			s.question(a.Name, g.Name, not(g.formula))
		}
		s.line("(pop)")
	}
	return s.answered(ctx)
}

// Ranked asks z3 whether the rank of a pod only falls, whether each step that is due is a step of the
// model and lowers it, and whether such a step is possible until the pod is at rest.
func (m *Model) Ranked(ctx context.Context) ([]Open, error) {
	var s script
	m.declareStep(&s)
	for _, c := range m.Invariant {
		s.assert(c.formula)
		s.assert(ofOther(c.formula))
	}
	after := m.after(m.rank)
	for _, a := range m.Actions {
		if m.raises[a.Name] {
			continue
		}
		s.line("(push)")
		s.declare(a.Given, "")
		s.question(a.Name, "the rank does not rise", a.formula, list(">", after, m.rank))
		s.line("(pop)")
	}
	for _, d := range m.due {
		step := []expr{d.formula}
		for _, v := range m.Variables() {
			value, ok := d.set[v.Name]
			if !ok {
				value = expr{word: v.Name}
			}
			step = append(step, list("=", expr{word: v.Name + "+"}, value))
		}
		for _, a := range m.Actions {
			if a.Name == d.by {
				s.question(d.Name, "is a step "+d.by, append(step, not(a.formula))...)
			}
		}
		s.question(d.Name, "lowers the rank", append(step, list(">=", after, m.rank))...)
	}
	s.question("any state", "a step is due until the pod is at rest", not(m.always))
	return s.answered(ctx)
}

// answered asks z3, and returns the questions that it does not answer with unsat.
func (s *script) answered(ctx context.Context) (open []Open, err error) {
	out, err := ask(ctx, s.String())
	if err != nil {
		return nil, err
	}
	answers := strings.Fields(out)
	if len(answers) != len(s.asked) {
		return nil, fmt.Errorf("z3 gives %d answers to %d questions", len(answers), len(s.asked))
	}
	for i, answer := range answers {
		if answer != "unsat" {
			s.asked[i].Answer = answer
			open = append(open, s.asked[i])
		}
	}
	return open, nil
}

func list(op string, of ...expr) expr { return expr{list: append([]expr{{word: op}}, of...)} }
