package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"hash/fnv"
	"path/filepath"
	"strings"
)

// A mutant is a small mistake in a package. Its function and the change identify it as long
// as the part that changes reads as it does, wherever it moves.
type mutant struct {
	pkg, function string // as docs/mutants.md names them
	change        string // `before` → `after`
	at            token.Position
	place
	text    string // what becomes of the place
	number  int
	verdict verdict
}

type verdict string // survived, killed, or not run: the tests do not come there

// A place is what a mutant replaces: the body of the innermost function, or a declaration
// outside of functions.
type place struct {
	node     ast.Node
	from, to token.Position
	results  string // the type of a function without parameters; empty outside of functions
}

// String returns a mutant as docs/mutants.md lists it, without a reason.
func (m *mutant) String() string { return fmt.Sprintf("- `%s`: %s: ", m.function, m.change) }

// drawn reports whether a mutant belongs to a share: its text decides, so that the share
// is the same in every run.
func (m *mutant) drawn(share int) bool {
	hash := fnv.New32a()
	hash.Write([]byte(m.pkg + " " + m.String()))
	return hash.Sum32()%100 < uint32(share)
}

// findMutants makes the mutants of the package: of the share, those that compile, but for
// functions that the reasons leave out.
func (p *source) findMutants(why reasons) error {
	found, err := p.askGremlins()
	for _, file := range p.Syntax {
		for _, decl := range file.Decls {
			p.findIn(decl, found, why)
		}
	}
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("gremlins names places that have no such operator: %v", found)
	}
	return err
}

// findIn makes the mutants of a declaration, and takes out what gremlins has found there.
func (p *source) findIn(decl ast.Decl, found map[string][]string, why reasons) {
	places := []place{p.place(decl)} // of the nodes around one
	ast.Inspect(decl, func(n ast.Node) bool {
		if n == nil {
			places = places[:len(places)-1]
			return true
		}
		places = append(places, places[len(places)-1])
		if in := p.place(n); in.results != "" {
			places[len(places)-1] = in
		}
		for _, e := range append(p.swapped(n, found), p.statements(n)...) {
			m := &mutant{pkg: p.title(), function: nameOf(decl), at: p.Fset.Position(e.at.Pos()),
				place: places[len(places)-1], number: len(p.mutants) + 1, verdict: "survived"}
			m.change = strings.ReplaceAll(fmt.Sprintf("`%s` → `%s`", oneLine(e.was), oneLine(e.becomes)), "``", "nothing")
			e.apply()
			m.text = p.print(m.node)
			e.undo()
			if !why.leaveOut(m) && m.drawn(p.share) && p.compiles(m) {
				p.mutants = append(p.mutants, m)
			}
		}
		return true
	})
}

// An edit changes the syntax tree, and can be undone.
type edit struct {
	at           ast.Node // tests that do not run this cannot notice
	was, becomes string
	apply, undo  func()
}

// assign is an edit that assigns to a part of the tree.
func assign[T any](at ast.Node, was, becomes string, to *T, value T) edit {
	old := *to
	return edit{at, was, becomes, func() { *to = value }, func() { *to = old }}
}

// statements returns the edits of statements. None of them does the same as another: an if
// is neither deleted nor held at false when it has no else, since emptying it does that, and
// a body of one statement is not emptied, since deleting the statement does that.
func (p *source) statements(n ast.Node) (out []edit) {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return p.deleted(n.List)
	case *ast.CaseClause:
		return append(p.deleted(n.Body), p.emptied(&n.Body)...)
	case *ast.IfStmt:
		out = append(p.emptied(&n.Body.List), p.held(&n.Cond, token.LOR, "true"))
		if n.Else != nil {
			out = append(out, p.held(&n.Cond, token.LAND, "false"))
		}
		if block, ok := n.Else.(*ast.BlockStmt); ok {
			out = append(out, p.emptied(&block.List)...)
		}
	case *ast.SwitchStmt:
		for _, s := range n.Body.List {
			list := s.(*ast.CaseClause).List
			for i := range list {
				if n.Tag == nil {
					out = append(out, p.held(&list[i], token.LOR, "true"), p.held(&list[i], token.LAND, "false"))
				}
			}
		}
	}
	return out
}

func (p *source) deleted(list []ast.Stmt) (out []edit) {
	for i, s := range list {
		keep := false
		switch s := s.(type) {
		case *ast.IfStmt, *ast.BlockStmt, *ast.DeclStmt, *ast.CaseClause, *ast.CommClause:
			keep = true
		case *ast.AssignStmt:
			keep = s.Tok == token.DEFINE
		case *ast.BranchStmt:
			keep = s.Tok == token.FALLTHROUGH
		}
		if !keep {
			out = append(out, assign(s, p.firstLine(s), "", &list[i], never(s)))
		}
	}
	return out
}

// emptied is for bodies of more than one statement.
func (p *source) emptied(body *[]ast.Stmt) []edit {
	if len(*body) < 2 {
		return nil
	}
	first := (*body)[0]
	return []edit{assign(first, "{ "+p.firstLine(first)+" }", "", body, []ast.Stmt{never(*body...)})}
}

// held holds a condition at a value, which an operator decides.
func (p *source) held(cond *ast.Expr, op token.Token, value string) edit {
	return assign(*cond, p.print(*cond), value, cond, ast.Expr(&ast.BinaryExpr{X: ast.NewIdent(value), Op: op, Y: &ast.ParenExpr{X: *cond}}))
}

// never runs no statement, but keeps what they use in use: without them most mutants would
// not compile.
func never(statements ...ast.Stmt) ast.Stmt {
	return &ast.IfStmt{Cond: ast.NewIdent("false"), Body: &ast.BlockStmt{List: statements}}
}

func (p *source) firstLine(n ast.Node) string {
	line, _, _ := strings.Cut(p.print(n), "\n")
	return line
}

// swapped returns the edits of a node that gremlins has found.
func (p *source) swapped(n ast.Node, found map[string][]string) (out []edit) {
	op, pos := operator(n)
	at := p.Fset.Position(pos)
	key := fmt.Sprintf("%s:%d:%d", filepath.Base(at.Filename), at.Line, at.Column)
	for _, mutator := range found[key] {
		if becomes := swap(mutator, op.String()); becomes != token.ILLEGAL {
			e := assign(n, p.print(n), "", op, becomes)
			e.apply()
			e.becomes = p.print(n)
			e.undo()
			out = append(out, e)
		}
	}
	if len(out) == len(found[key]) {
		delete(found, key)
	}
	return out
}

// operator returns the operator of a node, and where it stands.
func operator(n ast.Node) (*token.Token, token.Pos) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return &n.Tok, n.TokPos
	case *ast.BinaryExpr:
		return &n.Op, n.OpPos
	case *ast.BranchStmt:
		return &n.Tok, n.TokPos
	case *ast.IncDecStmt:
		return &n.Tok, n.TokPos
	case *ast.UnaryExpr:
		return &n.Op, n.OpPos
	}
	return nil, token.NoPos
}

// nameOf returns the name of a function, a method with its type; - for other declarations.
func nameOf(decl ast.Decl) string {
	fn, ok := decl.(*ast.FuncDecl)
	switch {
	case !ok:
		return "-"
	case fn.Recv == nil:
		return fn.Name.Name
	}
	return strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + fn.Name.Name
}

// oneLine returns a part of the source without line breaks and quotes of Markdown.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'")
}
