package proof

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// frame holds the values of a formula's variables. Truth values are 0 and 1.
type frame struct {
	consts        []int16
	before, after []int16
	given         []int16
}

// formula is a compiled expression.
type formula func(*frame) int16

// compiler compiles expressions. Each name has its place in a list of the frame.
type compiler struct {
	consts, variables, given map[string]int
}

func places(all []Var) map[string]int {
	at := map[string]int{}
	for i, v := range all {
		at[v.Name] = i
	}
	return at
}

func truth(is bool) int16 {
	if is {
		return 1
	}
	return 0
}

func (c *compiler) compile(e expr) (formula, error) {
	if !e.isList() {
		return c.word(e.word)
	}
	args := make([]formula, len(e.list)-1)
	for i, x := range e.list[1:] {
		var err error
		if args[i], err = c.compile(x); err != nil {
			return nil, err
		}
	}
	chain := func(holds func(a, b int16) bool) formula {
		return func(s *frame) int16 {
			last := args[0](s)
			for _, f := range args[1:] {
				next := f(s)
				if !holds(last, next) {
					return 0
				}
				last = next
			}
			return 1
		}
	}
	switch op := e.head(); op {
	case "and":
		return func(s *frame) int16 {
			for _, f := range args {
				if f(s) == 0 {
					return 0
				}
			}
			return 1
		}, nil
	case "or":
		return func(s *frame) int16 {
			for _, f := range args {
				if f(s) != 0 {
					return 1
				}
			}
			return 0
		}, nil
	case "not":
		return func(s *frame) int16 { return 1 - args[0](s) }, nil
	case "=>":
		return func(s *frame) int16 { return truth(args[0](s) == 0 || args[1](s) != 0) }, nil
	case "ite":
		return func(s *frame) int16 {
			if args[0](s) != 0 {
				return args[1](s)
			}
			return args[2](s)
		}, nil
	case "+":
		return func(s *frame) (sum int16) {
			for _, f := range args {
				sum += f(s)
			}
			return sum
		}, nil
	case "-":
		return func(s *frame) int16 { return args[0](s) - args[1](s) }, nil
	case "=":
		return chain(func(a, b int16) bool { return a == b }), nil
	case "<=":
		return chain(func(a, b int16) bool { return a <= b }), nil
	case ">=":
		return chain(func(a, b int16) bool { return a >= b }), nil
	case ">":
		return chain(func(a, b int16) bool { return a > b }), nil
	default:
		return nil, fmt.Errorf("line %d: %q is not known", e.line, op)
	}
}

func (c *compiler) word(word string) (formula, error) {
	if at, ok := c.given[word]; ok {
		return func(s *frame) int16 { return s.given[at] }, nil
	}
	if at, ok := c.variables[word]; ok {
		return func(s *frame) int16 { return s.before[at] }, nil
	}
	if name, after := strings.CutSuffix(word, "+"); after {
		if at, ok := c.variables[name]; ok {
			return func(s *frame) int16 { return s.after[at] }, nil
		}
	}
	if at, ok := c.consts[word]; ok {
		return func(s *frame) int16 { return s.consts[at] }, nil
	}
	if n, err := strconv.Atoi(word); err == nil {
		return func(*frame) int16 { return int16(n) }, nil
	}
	return nil, fmt.Errorf("%q is not known", word)
}

// program is the model compiled for evaluation.
type program struct {
	*Model
	actions   map[string]*compiled
	invariant []clause
}

type compiled struct {
	*Action
	parts []clause // their texts are for the report of a step that is refused
}

type clause struct {
	text  string
	holds formula
}

// compile compiles the model.
func (m *Model) compile() (*program, error) {
	if err := m.checkOrder(); err != nil {
		return nil, err
	}
	c := compiler{consts: places(m.Consts), variables: places(m.Variables())}
	for i, a := range m.Assumptions {
		c.consts[a.Name] = len(m.Consts) + i // assumptions are constants too
	}
	p := &program{Model: m, actions: map[string]*compiled{}}
	for i := range m.Actions {
		a := &compiled{Action: &m.Actions[i]}
		c.given = places(a.Given)
		for _, x := range flat(a.formula) {
			f, err := c.compile(x)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.Name, err)
			}
			a.parts = append(a.parts, clause{x.String(), f})
		}
		p.actions[a.Name] = a
	}
	c.given = nil
	for _, n := range m.Invariant {
		f, err := c.compile(n.formula)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
		p.invariant = append(p.invariant, clause{n.Name, f})
	}
	return p, nil
}

// checkOrder returns an error if the places of the variables are not those of the model.
func (m *Model) checkOrder() error {
	for _, part := range []struct {
		all   []Var
		names []string
		n     int
	}{{m.Server, order.server, ofServer}, {m.Controller, order.controller, ofController}} {
		same := slices.EqualFunc(part.all, part.names, func(v Var, name string) bool { return v.Name == name })
		if !same || len(part.all) != part.n {
			return fmt.Errorf("the variables of the model are not %v", part.names)
		}
	}
	return nil
}

// holds reports whether all parts of an action hold.
func (a *compiled) holds(s *frame) bool {
	for i := range a.parts {
		if a.parts[i].holds(s) == 0 {
			return false
		}
	}
	return true
}

// flat returns the parts of a conjunction.
func flat(e expr) (out []expr) {
	if e.head() != "and" {
		return []expr{e}
	}
	for _, x := range e.list[1:] {
		out = append(out, flat(x)...)
	}
	return out
}

// wrong lists the parts of an action that do not hold.
func (a *compiled) wrong(s *frame) (parts []string) {
	for _, p := range a.parts {
		if p.holds(s) == 0 {
			parts = append(parts, p.text)
		}
	}
	return parts
}

// expr is an S-expression: a word or a text in quotes, or a list.
type expr struct {
	word string
	list []expr
	line int
}

func (e expr) isList() bool { return e.word == "" }

// head returns the first word of a list.
func (e expr) head() string {
	if len(e.list) == 0 {
		return ""
	}
	return e.list[0].word
}

// String returns the expression as SMT-LIB reads it.
func (e expr) String() string {
	if !e.isList() {
		return e.word
	}
	parts := make([]string, len(e.list))
	for i, x := range e.list {
		parts[i] = x.String()
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// read reads the expressions of a file. A comment goes from a semicolon to the end of the line.
func read(text string) ([]expr, error) {
	var open []expr
	top := expr{}
	add := func(x expr) {
		at := &top
		if len(open) > 0 {
			at = &open[len(open)-1]
		}
		at.list = append(at.list, x)
	}
	line := 1
	for text != "" {
		switch c := text[0]; {
		case c == '\n':
			line++
			text = text[1:]
		case c == ' ' || c == '\t':
			text = text[1:]
		case c == ';':
			_, rest, _ := strings.Cut(text, "\n")
			text = "\n" + rest
		case c == '(':
			open = append(open, expr{line: line})
			text = text[1:]
		case c == ')':
			if len(open) == 0 {
				return nil, fmt.Errorf("line %d: a parenthesis too many", line)
			}
			last := open[len(open)-1]
			open = open[:len(open)-1]
			add(last)
			text = text[1:]
		case c == '"':
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			add(expr{word: quoted, line: line})
			text = text[len(quoted):]
		default:
			n := strings.IndexAny(text, " \t\n();")
			if n < 0 {
				n = len(text)
			}
			add(expr{word: text[:n], line: line})
			text = text[n:]
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("line %d: a parenthesis is not closed", open[0].line)
	}
	return top.list, nil
}

// rewrite replaces the words of an expression.
func (e expr) rewrite(word func(string) (expr, bool)) expr {
	if !e.isList() {
		if x, ok := word(e.word); ok {
			return x
		}
		return e
	}
	next := expr{list: make([]expr, len(e.list)), line: e.line}
	for i, x := range e.list {
		next.list[i] = x.rewrite(word)
	}
	return next
}
