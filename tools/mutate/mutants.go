package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is a package of the main module, without its tests, and the current place for mutants.
type source struct {
	dir, name    string   // the folder, as it is given and clean
	why, leftOut []string // what survivors.txt explains, and the items of it that leave out functions
	mutants      []*mutant
	fset         *token.FileSet
	path, text   string // of a file; the text is after a space, since positions count from 1
	function     string
	swapped      ast.Node // nil unless an operator is swapped
}

// A mutant is a small mistake in a file.
type mutant struct {
	name       string // as survivors.txt names it
	verdict    string // survived, killed, or broken: it does not compile
	path, text string // of the file with the mistake
	// The text takes the place of a part of the file.
	from, to int
	becomes  string
	swapped  ast.Node // the node whose operator is swapped, if one is
	number   int      // that switches it on; 0 if it does not compile behind a switch
}

// load makes the mutants of a package, except in functions that survivors.txt leaves out.
func load(dir string, why map[string][]string) *source {
	pkg, name := must(build.ImportDir(dir, 0)), filepath.Clean(dir)
	p := &source{dir: dir, name: name, why: why[name]}
	for _, name := range pkg.GoFiles {
		p.path = must(filepath.Abs(filepath.Join(dir, name)))
		text := must(os.ReadFile(p.path))
		p.text, p.fset = " "+string(text), token.NewFileSet()
		file := must(parser.ParseFile(p.fset, p.path, text, parser.SkipObjectResolution))
		for _, decl := range file.Decls {
			p.function = "-"
			ast.Inspect(decl, p.mutate)
		}
	}
	return p
}

// mutate adds the mutants of a node: operators are swapped, statements deleted, branches emptied, and
// conditions held at true or false. No two are equivalent: an if without else is neither deleted nor
// held at false, because emptying it does the same, and a body of one statement is not emptied,
// because deleting the statement does the same.
func (p *source) mutate(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		p.function = n.Name.Name
		if n.Recv != nil {
			p.function = strings.TrimPrefix(p.print(n.Recv.List[0].Type), "*") + "." + p.function
		}
	case *ast.BinaryExpr:
		p.swap(n, &n.Op, "(%s)")
	case *ast.UnaryExpr:
		if n.Op != token.AND { // which takes an address
			p.swap(n, &n.Op, "(%s)")
		}
	case *ast.IncDecStmt:
		p.swap(n, &n.Tok, "%s")
	case *ast.AssignStmt:
		p.swap(n, &n.Tok, "%s")
	case *ast.BranchStmt:
		p.swap(n, &n.Tok, "%s")
	case *ast.BlockStmt:
		p.removeEach(n.List)
	case *ast.CaseClause:
		p.removeEach(n.Body)
		p.empty(n.Body)
	case *ast.IfStmt:
		p.empty(n.Body.List)
		p.hold(n.Cond, "true || (%s)")
		if n.Else != nil {
			p.hold(n.Cond, "false && (%s)")
		}
		if block, ok := n.Else.(*ast.BlockStmt); ok {
			p.empty(block.List)
		}
	case *ast.SwitchStmt:
		for _, s := range n.Body.List {
			for _, cond := range s.(*ast.CaseClause).List {
				if n.Tag == nil {
					p.hold(cond, "true || (%s)")
					p.hold(cond, "false && (%s)")
				}
			}
		}
	}
	return true
}

// swaps lists the operators that gremlins puts in place of others.
var swaps = map[string][]string{
	"+": {"-"}, "-": {"+"}, "*": {"/"}, "/": {"*"}, "%": {"*"}, // ARITHMETIC_BASE
	// CONDITIONALS_BOUNDARY, CONDITIONALS_NEGATION
	"<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"},
	"==": {"!="}, "!=": {"=="}, // CONDITIONALS_NEGATION
	"++": {"--"}, "--": {"++"}, // INCREMENT_DECREMENT
	"&": {"|"}, "|": {"&"}, "^": {"&"}, "&^": {"&"}, "<<": {">>"}, ">>": {"<<"}, // INVERT_BITWISE
	"&&": {"||"}, "||": {"&&"}, // INVERT_LOGICAL
	"break": {"continue"}, "continue": {"break"}, // INVERT_LOOPCTRL
	// INVERT_ASSIGNMENTS, INVERT_BWASSIGN, REMOVE_SELF_ASSIGNMENTS
	"+=": {"-=", "="}, "-=": {"+=", "="}, "*=": {"/=", "="}, "/=": {"*=", "="}, "%=": {"*=", "="}, "<<=": {">>=", "="},
	">>=": {"<<=", "="}, "&=": {"|=", "="}, "|=": {"&=", "="}, "^=": {"&=", "="}, "&^=": {"&=", "="},
}

// swap adds the mutants of a node with another operator. The printer sets parentheses where needed.
func (p *source) swap(n ast.Node, op *token.Token, form string) {
	old, was, from, to := *op, p.print(n), n.Pos(), n.End()
	p.swapped = n
	for _, other := range swaps[old.String()] {
		for *op = token.ILLEGAL; op.String() != other; {
			*op++
		}
		p.add(from, to, fmt.Sprintf(form, p.print(n)), was, p.print(n))
	}
	*op, p.swapped = old, nil
}

// hold adds the mutant in which a condition is always true or always false.
func (p *source) hold(cond ast.Expr, form string) {
	value, _, _ := strings.Cut(form, " ")
	p.add(cond.Pos(), cond.End(), fmt.Sprintf(form, p.text[cond.Pos():cond.End()]), p.print(cond), value)
}

// empty adds the mutant in which a body of several statements does nothing.
func (p *source) empty(body []ast.Stmt) {
	if len(body) > 1 {
		p.remove(body, "{ %s }")
	}
}

// removeEach adds, for each statement, the mutant without it.
func (p *source) removeEach(body []ast.Stmt) {
	for i, s := range body {
		assign, ok := s.(*ast.AssignStmt)
		switch s.(type) {
		case *ast.IfStmt, *ast.BlockStmt, *ast.DeclStmt, *ast.CaseClause, *ast.CommClause:
		default:
			if !ok || assign.Tok != token.DEFINE {
				p.remove(body[i:i+1], "%s")
			}
		}
	}
}

// remove adds the mutant without some statements. It moves them into a branch that never runs, so
// that what they use stays used: otherwise most mutants would not compile.
func (p *source) remove(body []ast.Stmt, form string) {
	from, to := body[0].Pos(), body[len(body)-1].End()
	was, _, _ := strings.Cut(p.print(body[0]), "\n")
	p.add(from, to, "if false { "+p.text[from:to]+" }", fmt.Sprintf(form, was), "")
}

// print returns a part of the source as gofmt writes it alone, without comments.
func (p *source) print(n ast.Node) string {
	var out strings.Builder
	check(printer.Fprint(&out, p.fset, n))
	return out.String()
}

// add adds the mutant with a text in place of a part of the file.
func (p *source) add(from, to token.Pos, text, was, becomes string) {
	if all := "`" + p.function + "`: all"; slices.Contains(p.why, all) {
		p.leftOut = append(p.leftOut, all)
		return
	}
	name := fmt.Sprintf("`%s`: %s → %s", p.function, quoted(was), quoted(becomes))
	p.mutants = append(p.mutants, &mutant{name, "survived", p.path, p.text[1:from] + text + p.text[to:],
		int(from) - 1, int(to) - 1, text, p.swapped, 0})
}

// quoted returns a text on one line, as survivors.txt has it.
func quoted(text string) string {
	if text == "" {
		return "nothing"
	}
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'") + "`"
}
