package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// The mutators of statements.
const (
	deletedStatement = "DELETED_STATEMENT"
	emptiedBranch    = "EMPTIED_BRANCH"
	conditionTrue    = "CONDITION_TRUE"
	conditionFalse   = "CONDITION_FALSE"
)

// wrap is what to put around a part of a file so that the mutant can be switched on.
// In both texts %d stands for its number.
type wrap struct{ before, after string }

// The statements that are deleted or emptied are wrapped in an if, so that all
// mutants of a package fit into one test binary. What stands there stays in scope and
// in use, so this makes mutants that would not compile if the text were gone. A
// statement that declares, or without which the function ends with no return, falls
// out.
var wraps = map[string]wrap{
	deletedStatement: {"if chosenMutant != %d { ", " }"},
	emptiedBranch:    {"if chosenMutant != %d { ", " }"},
	conditionTrue:    {"(chosenMutant == %d || (", "))"},
	conditionFalse:   {"(chosenMutant != %d && (", "))"},
}

// testStatements makes the mutants of statements and tests them.
func (r *runner) testStatements(p *sourcePackage) ([]*mutant, error) {
	mutants := p.statementMutants()
	p.leaveOut(mutants)
	fmt.Fprintf(r.out, "%s: %d mutants of statements\n", p.name, len(mutants))
	return mutants, r.testSwitched(p, p.switched(mutants), mutants)
}

// switched returns the files of the package with all the mutants in them, numbered
// from 1. With none chosen the package does what it always does.
func (p *sourcePackage) switched(mutants []*mutant) map[string]string {
	texts := p.withSwitch()
	type insertion struct {
		at, other int // other is where its partner goes
		number    int
		text      string
	}
	inserted := map[string][]insertion{}
	for i, m := range mutants {
		c, w := m.change, wraps[m.mutator]
		inserted[c.file.path] = append(inserted[c.file.path],
			insertion{c.start, c.end, i, fmt.Sprintf(w.before, i+1)},
			insertion{c.end, c.start, -i, w.after})
	}
	for path, list := range inserted {
		// From the end of the file; at one place what is inserted first ends up last:
		// of those that open the innermost, of those that close the outermost.
		slices.SortFunc(list, func(a, b insertion) int {
			return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.other, b.other), cmp.Compare(b.number, a.number))
		})
		text := texts[path]
		for _, in := range list {
			text = text[:in.at] + in.text + text[in.at:]
		}
		texts[path] = text
	}
	return texts
}

// statementMutants returns the mutants of statements that compile, in the order of
// the source.
func (p *sourcePackage) statementMutants() []*mutant {
	var mutants []*mutant
	for _, f := range p.files {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			for _, c := range candidates(n) {
				m := p.statementMutant(f, c)
				if p.wanted(m.place) && p.compiles(m) {
					mutants = append(mutants, m)
				}
			}
			return true
		})
	}
	return mutants
}

func (p *sourcePackage) statementMutant(f *sourceFile, c candidate) *mutant {
	m := &mutant{mutator: c.mutator, change: change{file: f, start: p.offset(c.from), end: p.offset(c.to)}}
	switch c.mutator {
	case conditionTrue:
		m.change.text = "true"
	case conditionFalse:
		m.change.text = "false"
	}
	whole := f.text[m.change.start:m.change.end]
	if m.change.text == "" {
		whole, _, _ = strings.Cut(whole, "\n")
	}
	if c.mutator == emptiedBranch {
		whole = "{ " + whole + " }"
	}
	m.place = place{p.title(), p.functionAt(f, m.change.start), inOneLine(whole), m.change.text}
	return m
}

// compiles reports whether the package compiles with the switch for a mutant.
func (p *sourcePackage) compiles(m *mutant) bool {
	c, w := m.change, wraps[m.mutator]
	c.text = w.before + c.file.text[c.start:c.end] + w.after
	c.text = strings.NewReplacer("chosenMutant", "len(``)", "%d", "1").Replace(c.text)
	return p.viable(c)
}

// candidate is a part of a file that a mutator may change.
type candidate struct {
	mutator  string
	from, to token.Pos
}

// candidates returns the mutants that begin at a node. None of them does the same as
// another: an if is neither deleted nor held at false when it has no else, since
// emptying it does that, and a body of one statement is not emptied, since deleting
// the statement does that.
func candidates(n ast.Node) []candidate {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return deletions(n.List)
	case *ast.CaseClause:
		return append(deletions(n.Body), emptied(n.Body)...)
	case *ast.IfStmt:
		out := append(emptied(n.Body.List), candidate{conditionTrue, n.Cond.Pos(), n.Cond.End()})
		if n.Else == nil {
			return out
		}
		if block, ok := n.Else.(*ast.BlockStmt); ok {
			out = append(out, emptied(block.List)...)
		}
		return append(out, candidate{conditionFalse, n.Cond.Pos(), n.Cond.End()})
	case *ast.SwitchStmt:
		if n.Tag == nil {
			return caseConditions(n.Body)
		}
	}
	return nil
}

// emptied is for bodies of more than one statement.
func emptied(body []ast.Stmt) []candidate {
	if len(body) < 2 {
		return nil
	}
	return []candidate{{emptiedBranch, body[0].Pos(), body[len(body)-1].End()}}
}

func deletions(statements []ast.Stmt) []candidate {
	var out []candidate
	for _, s := range statements {
		switch s := s.(type) {
		case *ast.IfStmt, *ast.BlockStmt, *ast.DeclStmt, *ast.CaseClause, *ast.CommClause:
			continue
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.BranchStmt:
			if s.Tok == token.FALLTHROUGH {
				continue
			}
		}
		out = append(out, candidate{deletedStatement, s.Pos(), s.End()})
	}
	return out
}

// caseConditions holds each condition of a switch without a tag at true and false.
func caseConditions(body *ast.BlockStmt) []candidate {
	var out []candidate
	for _, s := range body.List {
		for _, e := range s.(*ast.CaseClause).List {
			out = append(out, candidate{conditionTrue, e.Pos(), e.End()}, candidate{conditionFalse, e.Pos(), e.End()})
		}
	}
	return out
}
