package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// chosen returns the change of a mutant that a variable chooses, with its number.
func (m *mutant) chosen(number int) change {
	c := m.choice
	if m.condition {
		c = m.change
		c.text = fmt.Sprintf("(chosenMutant == %%[1]d && (%s) || chosenMutant != %%[1]d && (%s))", verbatim(c.text), verbatim(c.file.text[c.start:c.end]))
	}
	c.text = fmt.Sprintf(c.text, number)
	return c
}

// verbatim returns a text as part of a format.
func verbatim(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// choice returns the change of the statement around a change into one that a variable
// chooses. A definition takes place as it was, and then the other value is assigned. The
// file is nil if it is no statement of a list, or would not compile.
func (p *sourcePackage) choice(c change) change {
	s := statementAround(c.file.tree, func(n ast.Node) bool {
		return p.offset(n.Pos()) <= c.start && c.end <= p.offset(n.End())
	})
	if s == nil {
		return change{}
	}
	out := change{file: c.file, start: p.offset(s.Pos()), end: p.offset(s.End())}
	is := c.file.text[out.start:out.end]
	becomes := is[:c.start-out.start] + c.text + is[c.end-out.start:]
	format := "if chosenMutant == %%[1]d { %[2]s } else { %[1]s }"
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			at := p.offset(s.TokPos) - out.start
			becomes = becomes[:at] + becomes[at+1:] // = in the place of :=
			format = "%[1]s; if chosenMutant == %%[1]d { %[2]s }"
		}
	case *ast.ReturnStmt, *ast.BranchStmt:
		format = "if chosenMutant == %%[1]d { %[2]s }; %[1]s"
	case *ast.IncDecStmt, *ast.ExprStmt:
	default:
		return change{}
	}
	out.text = fmt.Sprintf(format, verbatim(is), verbatim(becomes))
	compiled := out
	compiled.text = strings.ReplaceAll(fmt.Sprintf(out.text, 1), "chosenMutant", "len(``)")
	if !p.viable(compiled) {
		return change{}
	}
	return out
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
