package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// switched returns the change of a mutant that a variable chooses.
func (m *mutant) switched() change {
	if m.condition {
		return m.change
	}
	return m.choice
}

// chosen returns changes that hold all mutants of a round, from the end of each file.
func chosen(round []*mutant) (changes []change) {
	for i, m := range round {
		c := m.switched()
		if slices.ContainsFunc(changes, c.replaces) {
			continue // with the first of that part
		}
		is := c.file.text[c.start:c.end]
		switch {
		case m.condition:
			c.text = "(" + alternatives(round[i:], i+1, c, "chosenMutant == %d && (%s) || ", "chosenMutant != %d && ") + "(" + is + "))"
		case m.defines:
			c.text = is + "; " + alternatives(round[i:], i+1, c, "if chosenMutant == %d { %s }; ", "")
		default:
			c.text = alternatives(round[i:], i+1, c, "if chosenMutant == %d { %s } else ", "") + "{ " + is + " }"
		}
		changes = append(changes, c)
	}
	slices.SortFunc(changes, func(a, b change) int { return b.start - a.start })
	return changes
}

// alternatives returns the texts of all mutants that change one part, each with its
// number, and then the numbers alone.
func alternatives(round []*mutant, first int, part change, each, none string) (text string) {
	var last string
	for i, m := range round {
		if c := m.switched(); c.replaces(part) {
			text += fmt.Sprintf(each, first+i, c.text)
			if none != "" {
				last += fmt.Sprintf(none, first+i)
			}
		}
	}
	return text + last
}

// choice returns the change of the statement around a change, if a variable can choose
// it. A definition takes place as it was, and then the other value is assigned. The file
// is nil if it is no statement of a list, or would not compile.
func (p *sourcePackage) choice(c change) (out change, defines bool) {
	s := statementAround(c.file.tree, func(n ast.Node) bool {
		return p.offset(n.Pos()) <= c.start && c.end <= p.offset(n.End())
	})
	if s == nil {
		return change{}, false
	}
	out = change{file: c.file, start: p.offset(s.Pos()), end: p.offset(s.End())}
	out.text = c.file.text[out.start:c.start] + c.text + c.file.text[c.end:out.end]
	switch s := s.(type) {
	case *ast.AssignStmt:
		if defines = s.Tok == token.DEFINE; defines {
			at := p.offset(s.TokPos) - out.start
			out.text = out.text[:at] + out.text[at+1:] // = in the place of :=
		}
	case *ast.ReturnStmt, *ast.BranchStmt, *ast.IncDecStmt, *ast.ExprStmt:
	default:
		return change{}, false
	}
	m := &mutant{choice: out, defines: defines}
	compiled := chosen([]*mutant{m})[0]
	if p.check(c.file, compiled.apply()+"\nvar chosenMutant int\n") != nil {
		return change{}, false
	}
	return out, defines
}

// statementAround returns the innermost statement of a list that a test says is around
// something; nil if there is none.
func statementAround(tree *ast.File, around func(ast.Node) bool) (innermost ast.Stmt) {
	ast.Inspect(tree, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		for _, s := range list {
			if around(s) {
				innermost = s
			}
		}
		return true
	})
	return innermost
}
