package proof

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

//go:embed model.sexp
var source string

// Var is a variable of the model.
type Var struct{ Name, Type string }

// Named is a named formula: a clause of the invariant or a property.
type Named struct {
	Name    string
	formula expr
}

// Assumption is a condition of the proof. Without it, the property Breaks fails.
type Assumption struct{ Name, Breaks, Doc string }

// due is a step that lowers the rank of a pod. It is a step of the action by.
type due struct {
	Named
	by  string
	set map[string]expr
}

// Action is a named step. Its formula is about the values before and after it.
type Action struct {
	Name string
	// Given lists the values that the step chooses.
	Given   []Var
	formula expr
}

// Model is the model in model.sexp, without macros. The variables of a controller occur twice: with c.
// for the one that acts, and with o. for any other one.
type Model struct {
	Consts, Server, Controller []Var
	Assumptions                []Assumption
	Actions                    []Action
	Invariant, Properties      []Named

	init, starting expr
	rank, always   expr
	raises         map[string]bool
	due            []due
	macros         map[string]expr
	variables      map[string]bool
}

// Load reads the model.
func Load() (*Model, error) {
	all, err := read(source)
	if err != nil {
		return nil, err
	}
	m := &Model{macros: map[string]expr{}, variables: map[string]bool{}}
	for _, e := range all {
		if err := m.add(e); err != nil {
			return nil, fmt.Errorf("model.sexp: line %d: %w", e.line, err)
		}
	}
	return m, nil
}

// Variables returns the variables that steps change: those of the API server, and those of c and o.
func (m *Model) Variables() (all []Var) {
	all = append(all, m.Server...)
	for _, prefix := range []string{"c.", "o."} {
		for _, v := range m.Controller {
			all = append(all, Var{prefix + v.Name, v.Type})
		}
	}
	return all
}

func (m *Model) add(e expr) (err error) {
	switch args := e.list[1:]; e.head() {
	case "const":
		m.Consts, err = vars(args)
	case "server":
		m.Server, err = vars(args)
		m.know(m.Server, "")
	case "controller":
		m.Controller, err = vars(args)
		m.know(m.Controller, "c.")
		m.know(m.Controller, "o.")
	case "define":
		m.macros[args[0].word] = m.expand(args[1])
	case "assume":
		text, _ := strconv.Unquote(args[2].word) // the reader accepts only valid quotes
		m.Assumptions = append(m.Assumptions, Assumption{args[0].word, args[1].word, text})
	case "init":
		m.init = m.expand(args[0])
	case "initial-controller":
		m.starting = m.expand(args[0])
	case "action":
		var a Action
		a, err = m.action(args)
		m.Actions = append(m.Actions, a)
	case "invariant":
		m.Invariant, err = m.named(args)
	case "property":
		m.Properties, err = m.named(args)
	case "rank":
		m.rank = m.expand(args[0])
	case "raises":
		m.raises = map[string]bool{}
		for _, name := range args {
			m.raises[name.word] = true
		}
	case "due":
		d := due{Named{args[0].word, m.expand(args[2].list[1])}, args[3].list[1].word, map[string]expr{}}
		for _, pair := range args[4].list[1:] {
			d.set[pair.list[0].word] = m.expand(pair.list[1])
		}
		m.due = append(m.due, d)
	case "always-due":
		var any []expr
		for _, d := range m.due {
			any = append(any, d.formula)
		}
		m.macros["due"] = anyOf(any...)
		m.always = m.expand(args[0])
	default:
		err = fmt.Errorf("%q is not known", e.head())
	}
	return err
}

func (m *Model) know(all []Var, prefix string) {
	for _, v := range all {
		m.variables[prefix+v.Name] = true
	}
}

var errForm = errors.New("the form is not known")

// vars reads variables. A text after the type is for the reader of the model.
func vars(all []expr) (out []Var, err error) {
	for _, e := range all {
		if len(e.list) < 2 {
			return nil, errForm
		}
		out = append(out, Var{Name: e.list[0].word, Type: e.list[1].word})
	}
	return out, nil
}

func (m *Model) named(all []expr) (out []Named, err error) {
	for _, e := range all {
		if len(e.list) != 3 {
			return nil, errForm
		}
		out = append(out, Named{e.list[0].word, m.expand(e.list[2])})
	}
	return out, nil
}

// action adds to the formula of an action that all other variables stay as they are.
func (m *Model) action(args []expr) (a Action, err error) {
	a = Action{Name: args[0].word}
	all := expr{list: []expr{{word: "and"}}}
	may := map[string]bool{}
	for _, e := range args[2:] {
		switch e.head() {
		case "given":
			if a.Given, err = vars(e.list[1:]); err != nil {
				return a, err
			}
		case "when", "then":
			all.list = append(all.list, m.expand(e.list[1]))
		case "change":
			for _, v := range e.list[1:] {
				if !m.variables[v.word] {
					return a, fmt.Errorf("%s changes %s, which is no variable", a.Name, v.word)
				}
				may[v.word] = true
			}
		default:
			return a, errForm
		}
	}
	for _, v := range m.Variables() {
		if !may[v.Name] {
			all.list = append(all.list, expr{list: []expr{{word: "="}, {word: v.Name + "+"}, {word: v.Name}}})
		}
	}
	a.formula = all
	return a, nil
}

// expand replaces the macros. A macro with a plus is about the values after the step.
func (m *Model) expand(e expr) expr {
	return e.rewrite(func(word string) (expr, bool) {
		if body, ok := m.macros[word]; ok {
			return body, true
		}
		if name, after := strings.CutSuffix(word, "+"); after && name != "" {
			if body, ok := m.macros[name]; ok {
				return m.after(body), true
			}
		}
		return expr{}, false
	})
}

// after returns a formula about the values after the step.
func (m *Model) after(e expr) expr {
	return e.rewrite(func(word string) (expr, bool) { return expr{word: word + "+"}, m.variables[word] })
}

// ofOther returns a formula about o instead of c.
func ofOther(e expr) expr {
	return e.rewrite(func(word string) (expr, bool) {
		name, ok := strings.CutPrefix(word, "c.")
		return expr{word: "o." + name}, ok
	})
}
