package proof

import (
	"context"
	"fmt"
	"strings"
)

// Trace is a run of the model that violates a property in its last step.
type Trace struct {
	Property string
	Steps    []TraceStep
}

// TraceStep is a step of a run: who acts, and the variables that change with their new values.
type TraceStep struct {
	Actor, Action string
	Changes       []string
}

// String lists the steps.
func (t Trace) String() string {
	var s strings.Builder
	for i, step := range t.Steps {
		fmt.Fprintf(&s, "%3d  %-3s %-12s %s\n", i+1, step.Actor, step.Action, strings.Join(step.Changes, " "))
	}
	fmt.Fprintf(&s, "     => %s", t.Property)
	return s.String()
}

// at returns a formula about the values before the n-th step and after it.
func (m *Model) at(e expr, n int) expr {
	return e.rewrite(func(word string) (expr, bool) {
		name, after := strings.CutSuffix(word, "+")
		switch {
		case !m.variables[name]:
			return expr{}, false
		case after:
			return expr{word: fmt.Sprintf("%s@%d", name, n+1)}, true
		}
		return expr{word: fmt.Sprintf("%s@%d", name, n)}, true
	})
}

// exchanged returns a formula with c and o exchanged.
func exchanged(e expr) expr {
	return e.rewrite(func(word string) (expr, bool) {
		if name, ok := strings.CutPrefix(word, "c."); ok {
			return expr{word: "o." + name}, true
		}
		name, ok := strings.CutPrefix(word, "o.")
		return expr{word: "c." + name}, ok
	})
}

// byEither returns a formula about the n-th step, which is that of c if who is true, and of o otherwise.
func (m *Model) byEither(e expr, n int) expr {
	who := expr{word: fmt.Sprintf("who@%d", n)}
	return anyOf(all(who, m.at(e, n)), all(not(who), m.at(exchanged(e), n)))
}

// Refute searches for the shortest run that violates the property when an assumption is dropped. It
// tries up to a number of steps, and returns nil if there is none.
func (m *Model) Refute(ctx context.Context, dropped, property string, most int) (*Trace, error) {
	var s script
	m.assume(&s, dropped)
	s.declare(m.Consts, "")
	s.declare(m.Variables(), "@0")
	s.assert(m.at(all(m.init, m.starting, ofOther(m.starting)), 0))
	var bad expr
	for _, p := range m.Properties {
		if p.Name == property {
			bad = not(p.formula)
		}
	}
	// Other pods do nothing, so that the run is about p alone.
	quiet := func(n int) { s.line("(assert (and (= fr@%d 0) (= lr@%d 0) (<= 0 sr@%d 1)))", n, n, n) }
	quiet(0)
	for n := range most {
		s.declare(m.Variables(), fmt.Sprintf("@%d", n+1))
		quiet(n + 1)
		s.line("(declare-const who@%d Bool)\n(declare-const what@%d Int)", n, n)
		var choices []expr
		for i, a := range m.Actions {
			s.declare(a.Given, fmt.Sprintf("@%d.%d", n, i))
			given := func(e expr) expr {
				return e.rewrite(func(word string) (expr, bool) {
					for _, v := range a.Given {
						if v.Name == word {
							return expr{word: fmt.Sprintf("%s@%d.%d", word, n, i)}, true
						}
					}
					return expr{}, false
				})
			}
			step := given(a.formula)
			chosen, _ := read(fmt.Sprintf("(= what@%d %d)", n, i)) // the text is ours
			choices = append(choices, all(chosen[0], m.byEither(step, n)))
		}
		s.assert(anyOf(choices...))
	}
	// One question for each length, because the shortest run is the clearest one.
	for n := range most {
		s.line("(push)")
		s.assert(m.byEither(bad, n))
		s.line("(check-sat)\n(pop)")
	}
	out, err := ask(ctx, s.String())
	if err != nil {
		return nil, err
	}
	for n, answer := range strings.Fields(out) {
		if answer == "sat" {
			return m.show(ctx, &s, property, bad, n)
		}
	}
	return nil, nil
}

// show asks again for the values of a run that ends with step n.
func (m *Model) show(ctx context.Context, asked *script, property string, bad expr, n int) (*Trace, error) {
	questions, _, _ := strings.Cut(asked.String(), "(push)")
	var s script
	s.WriteString(questions)
	s.assert(m.byEither(bad, n))
	s.line("(check-sat)")
	var names []string
	for i := range n + 1 {
		names = append(names, fmt.Sprintf("who@%d what@%d", i, i))
	}
	for i := range n + 2 {
		for _, v := range m.Variables() {
			names = append(names, fmt.Sprintf("%s@%d", v.Name, i))
		}
	}
	s.line("(get-value (%s))", strings.Join(names, " "))
	out, err := ask(ctx, s.String())
	if err != nil {
		return nil, err
	}
	answer, err := read(out)
	if err != nil || len(answer) < 2 {
		return nil, fmt.Errorf("the answer of z3 is not understood: %v: %s", err, out)
	}
	value := map[string]string{}
	for _, pair := range answer[1].list {
		value[pair.list[0].word] = pair.list[1].String()
	}
	t := &Trace{Property: property}
	for i := range n + 1 {
		var at int
		_, _ = fmt.Sscan(value[fmt.Sprintf("what@%d", i)], &at) // z3 returns a number in range
		a := &m.Actions[at]
		step := TraceStep{Action: a.Name}
		if strings.Contains(a.formula.String(), "c.on+ ") || a.Name == "free" { // a controller takes it
			step.Actor = "o"
			if value[fmt.Sprintf("who@%d", i)] == "true" {
				step.Actor = "c"
			}
		}
		for _, v := range m.Variables() {
			before, after := value[fmt.Sprintf("%s@%d", v.Name, i)], value[fmt.Sprintf("%s@%d", v.Name, i+1)]
			switch {
			case before == after:
			case after == "true":
				step.Changes = append(step.Changes, v.Name)
			case after == "false":
				step.Changes = append(step.Changes, "not "+v.Name)
			default:
				step.Changes = append(step.Changes, v.Name+"="+after)
			}
		}
		t.Steps = append(t.Steps, step)
	}
	return t, nil
}
