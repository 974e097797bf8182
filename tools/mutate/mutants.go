package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// source is a package of the main module, without its tests.
type source struct {
	*build.Package
	root    string
	dir     string // in the main module
	name    string // in docs/mutants.md: the folder, and of the root the package
	why     reasons
	work    string // a folder for what is built
	fset    *token.FileSet
	around  []ast.Node // where mutants are made: a file and what is in it
	mutants []*mutant
}

// A mutant is a small mistake in a file.
type mutant struct {
	number  int    // among those of the package, from 1
	name    string // as docs/mutants.md names it, with the package
	file    string
	text    string // of the whole file
	choice  string // a statement that makes a function the mutant if that is chosen
	body    int    // where the function begins with that statement; 0 outside of functions
	verdict string // survived, killed, or broken: it does not compile
}

// load makes the mutants of a package, except in functions that the reasons leave out.
func load(root, dir string, why reasons) (*source, error) {
	pkg, err := build.ImportDir(filepath.Join(root, dir), 0)
	if err != nil {
		return nil, err
	}
	p := &source{Package: pkg, root: root, dir: dir, name: path.Clean(dir), why: why, fset: token.NewFileSet()}
	if p.name == "." {
		p.name = p.Package.Name
	}
	for _, name := range p.GoFiles {
		file, e := parser.ParseFile(p.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		err = errors.Join(err, e)
		ast.PreorderStack(file, nil, func(n ast.Node, around []ast.Node) bool {
			p.around = around
			p.swapOperator(n)
			p.breakStatements(n)
			return true
		})
	}
	if err == nil {
		p.work, err = os.MkdirTemp("", "mutate-")
	}
	return p, err
}

// print returns a part of the source as gofmt writes it alone, without comments.
func (p *source) print(n ast.Node) string {
	var out strings.Builder
	if err := printer.Fprint(&out, p.fset, n); err != nil {
		return err.Error() // which does not compile
	}
	return out.String()
}

// add adds the mutant that the syntax tree now is, in the outermost function. To the compiler each
// is in a file of its own, mutant1 and so on.
func (p *source) add(was, becomes string) {
	m := &mutant{number: len(p.mutants) + 1, verdict: "survived"}
	line := fmt.Sprintf("/*line mutant%d:1:1*/", m.number)
	m.file, m.text = p.fset.File(p.around[0].Pos()).Name(), line+p.print(p.around[0])
	function := "-"
	var signature *ast.FuncType
	var body *ast.BlockStmt
	for _, n := range slices.Backward(p.around) {
		switch fn := n.(type) {
		case *ast.FuncLit:
			signature, body = fn.Type, fn.Body
		case *ast.FuncDecl:
			signature, body, function = fn.Type, fn.Body, fn.Name.Name
			if fn.Recv != nil {
				function = strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + function
			}
		}
	}
	if body != nil {
		form := " if chosenMutant == %d { return %s%s %s() }; "
		if signature.Results == nil {
			form = " if chosenMutant == %d { %s%s %s(); return }; "
		}
		signature = &ast.FuncType{Params: &ast.FieldList{}, Results: signature.Results}
		m.choice = fmt.Sprintf(form, m.number, line, p.print(signature), p.print(body))
		m.body = p.fset.Position(body.Lbrace).Offset + 1
	}
	m.name = fmt.Sprintf("%s - `%s`: %s → %s: ", p.name, function, quoted(was), quoted(becomes))
	if !p.why[fmt.Sprintf("%s - `%s`: all: ", p.name, function)] {
		p.mutants = append(p.mutants, m)
	}
}

// quoted returns a text on one line, as docs/mutants.md has it.
func quoted(text string) string {
	if text == "" {
		return "nothing"
	}
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'") + "`"
}

// swaps are the operators that gremlins puts in place of others. Before = it swaps them as well, or
// removes them.
var swaps = map[string][]string{
	"+": {"-"}, "-": {"+"}, "*": {"/"}, "/": {"*"}, "%": {"*"}, // ARITHMETIC_BASE, INVERT_ASSIGNMENTS
	"<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"}, // CONDITIONALS_BOUNDARY, CONDITIONALS_NEGATION
	"==": {"!="}, "!=": {"=="}, // CONDITIONALS_NEGATION
	"++": {"--"}, "--": {"++"}, // INCREMENT_DECREMENT
	"&": {"|"}, "|": {"&"}, "^": {"&"}, "&^": {"&"}, "<<": {">>"}, ">>": {"<<"}, // INVERT_BITWISE, INVERT_BWASSIGN
	"&&": {"||"}, "||": {"&&"}, // INVERT_LOGICAL
	"break": {"continue"}, "continue": {"break"}, // INVERT_LOOPCTRL
}

// swapOperator adds the mutants that gremlins makes of a node with an operator.
func (p *source) swapOperator(n ast.Node) {
	var op *token.Token
	switch n := n.(type) {
	case *ast.BinaryExpr:
		op = &n.Op
	case *ast.UnaryExpr:
		if n.Op != token.AND { // which takes an address
			op = &n.Op
		}
	case *ast.IncDecStmt:
		op = &n.Tok
	case *ast.AssignStmt:
		op = &n.Tok
	case *ast.BranchStmt:
		op = &n.Tok
	}
	if op == nil {
		return
	}
	old, was := *op, p.print(n)
	others := swaps[old.String()]
	if with, ok := strings.CutSuffix(old.String(), "="); ok && swaps[with] != nil && len(others) == 0 {
		others = []string{swaps[with][0] + "=", "="}
	}
	for _, other := range others {
		for *op = token.ILLEGAL; op.String() != other; {
			*op++
		}
		p.add(was, p.print(n))
	}
	*op = old
}

// breakStatements adds the mutants of a node that gremlins lacks. None of them does the same as
// another: an if is neither deleted nor held at false when it has no else, since emptying it does
// that, and a body of one statement is not emptied, since deleting the statement does that.
func (p *source) breakStatements(n ast.Node) {
	switch n := n.(type) {
	case *ast.BlockStmt:
		p.removeEach(n.List)
	case *ast.CaseClause:
		p.removeEach(n.Body)
		p.empty(n.Body)
	case *ast.IfStmt:
		p.empty(n.Body.List)
		p.hold(&n.Cond, "true", token.LOR)
		if n.Else != nil {
			p.hold(&n.Cond, "false", token.LAND)
		}
		if block, ok := n.Else.(*ast.BlockStmt); ok {
			p.empty(block.List)
		}
	case *ast.SwitchStmt:
		for _, s := range n.Body.List {
			list := s.(*ast.CaseClause).List
			for i := range list {
				if n.Tag == nil {
					p.hold(&list[i], "true", token.LOR)
					p.hold(&list[i], "false", token.LAND)
				}
			}
		}
	}
}

// hold adds the mutant in which a condition is always true or always false.
func (p *source) hold(cond *ast.Expr, value string, operator token.Token) {
	was := *cond
	*cond = &ast.BinaryExpr{X: ast.NewIdent(value), Op: operator, Y: &ast.ParenExpr{X: was}}
	p.add(p.print(was), value)
	*cond = was
}

// empty adds the mutant in which a body of several statements does nothing.
func (p *source) empty(body []ast.Stmt) {
	if len(body) > 1 {
		p.remove(body, "{ %s }")
	}
}

// removeEach adds the mutants in which one of some statements is not there.
func (p *source) removeEach(body []ast.Stmt) {
	for i, s := range body {
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
			p.remove(body[i:i+1], "%s")
		}
	}
}

// remove adds the mutant without some statements. They stand in a branch that does not run, which
// keeps in use what they use: without that most mutants would not compile.
func (p *source) remove(body []ast.Stmt, form string) {
	was, first := slices.Clone(body), p.print(body[0])
	first, _, _ = strings.Cut(first, "\n")
	for i := range body {
		body[i] = &ast.EmptyStmt{Implicit: true}
	}
	body[0] = &ast.IfStmt{Cond: ast.NewIdent("false"), Body: &ast.BlockStmt{List: was}}
	p.add(fmt.Sprintf(form, first), "")
	copy(body, was)
}
