package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// source is a package of the main module, without its tests.
type source struct {
	*packages.Package
	options
	name    string            // in docs/mutants.md: the folder, and of the root the package
	work    string            // a folder for what is built
	texts   map[string]string // of the files
	mutants []*mutant
}

// A mutant is a small mistake: a part of the source becomes another text.
type mutant struct {
	pkg, function, change string // as docs/mutants.md names them
	from, to              token.Pos
	text                  string
	file                  *ast.File
	body                  *ast.BlockStmt // of the innermost function; nil outside of functions
	signature             string         // of that function, without parameters
	verdict               string         // survived, killed, or not run: the tests do not come there
}

func (m *mutant) String() string { return fmt.Sprintf("%s - `%s`: %s: ", m.pkg, m.function, m.change) }

func (o options) load(dir string) (p *source, err error) {
	if o.root, err = filepath.Abs(o.root); err != nil {
		return nil, err
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: o.root}, "./"+dir)
	if err != nil {
		return nil, err
	}
	p = &source{Package: loaded[0], options: o, name: filepath.ToSlash(filepath.Clean(dir)), texts: map[string]string{}}
	if p.name == "." {
		p.name = p.Name
	}
	for _, e := range p.Errors {
		err = errors.Join(err, e)
	}
	for _, name := range p.GoFiles {
		text, e := os.ReadFile(name)
		p.texts[name], err = string(text), errors.Join(err, e)
	}
	if err == nil {
		p.work, err = os.MkdirTemp("", "mutate-")
	}
	return p, err
}

// between returns a part of the source.
func (p *source) between(from, to token.Pos) string {
	start, end := p.Fset.Position(from), p.Fset.Position(to)
	return p.texts[start.Filename][start.Offset:end.Offset]
}

// print returns a part of the source as gofmt writes it alone.
func (p *source) print(n ast.Node) string {
	var out strings.Builder
	if err := printer.Fprint(&out, p.Fset, n); err != nil {
		return err.Error() // which does not compile
	}
	return out.String()
}

// mutated returns the part of the source around a mutant, with the mutant in it.
func (p *source) mutated(m *mutant, from, to token.Pos) string {
	return p.between(from, m.from) + m.text + p.between(m.to, to)
}

// findMutants makes the mutants of the package: of the share, those that compile, but for
// functions that the reasons leave out.
func (p *source) findMutants(why reasons) error {
	err := p.swapOperators()
	for _, file := range p.Syntax {
		for n := range ast.Preorder(file) {
			p.breakStatements(file, n)
		}
	}
	p.mutants = slices.DeleteFunc(p.mutants, func(m *mutant) bool {
		hash := fnv.New32a() // so that the share is the same in every run
		hash.Write([]byte(m.String()))
		return hash.Sum32()%100 >= uint32(p.share) || why[fmt.Sprintf("%s - `%s`: all: ", m.pkg, m.function)] || !p.compiles(m)
	})
	slices.SortStableFunc(p.mutants, func(a, b *mutant) int { return cmp.Compare(a.from, b.from) })
	return err
}

// add makes a mutant of what is from one node to another.
func (p *source) add(file *ast.File, from, to ast.Node, text, was, becomes string) {
	oneLine := func(text string) string {
		return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'")
	}
	m := &mutant{pkg: p.name, function: "-", from: from.Pos(), to: to.End(), text: text, file: file, verdict: "survived"}
	m.change = strings.ReplaceAll(fmt.Sprintf("`%s` → `%s`", oneLine(was), oneLine(becomes)), "``", "nothing")
	around, _ := astutil.PathEnclosingInterval(file, m.from, m.to)
	for _, n := range around {
		var body *ast.BlockStmt
		var signature *ast.FuncType
		switch fn := n.(type) {
		case *ast.FuncLit:
			body, signature = fn.Body, fn.Type
		case *ast.FuncDecl:
			body, signature = fn.Body, fn.Type
			m.function = fn.Name.Name
			if fn.Recv != nil {
				m.function = strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + m.function
			}
		}
		if m.body == nil && body != nil {
			m.body, m.signature = body, p.print(&ast.FuncType{Params: &ast.FieldList{}, Results: signature.Results})
		}
	}
	p.mutants = append(p.mutants, m)
}

// swaps are the operators that gremlins puts in place of others, in pairs, by the names of
// its mutators.
var swaps = map[string]string{
	"ARITHMETIC_BASE":         "+ - - + * / / * % *",
	"CONDITIONALS_BOUNDARY":   ">= > > >= <= < < <=",
	"CONDITIONALS_NEGATION":   "== != != == >= < < >= > <= <= >",
	"INCREMENT_DECREMENT":     "++ -- -- ++",
	"INVERT_ASSIGNMENTS":      "+= -= -= += *= /= /= *= %= %=",
	"INVERT_BITWISE":          "& | | & ^ & &^ & << >> >> <<",
	"INVERT_BWASSIGN":         "&= |= |= &= ^= &= &^= &= <<= >>= >>= <<=",
	"INVERT_LOGICAL":          "&& || || &&",
	"INVERT_LOOPCTRL":         "break continue continue break",
	"INVERT_NEGATIVES":        "- +",
	"REMOVE_SELF_ASSIGNMENTS": "+= = -= = *= = /= = %= = &= = |= = ^= = &^= = <<= = >>= =",
}

// swapOperators adds the mutants that gremlins finds.
func (p *source) swapOperators() error {
	report := filepath.Join(p.work, "gremlins.json")
	err := command(".", "go", "tool", "gremlins", "unleash", "--silent", "--dry-run", "--output", report,
		"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl",
		"--remove-self-assignments", "--exclude-files", "/", p.Dir)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(report)
	var found struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type         string
				Line, Column int
			}
		}
	}
	err = errors.Join(err, json.Unmarshal(text, &found))
	for _, f := range found.Files {
		for _, m := range f.Mutations {
			file, pos := p.at(f.Name, m.Line, m.Column)
			err = errors.Join(err, p.swap(file, pos, m.Type))
		}
	}
	return err
}

// at returns the file of a name and a position in it.
func (p *source) at(name string, line, column int) (*ast.File, token.Pos) {
	i := slices.IndexFunc(p.Syntax, func(f *ast.File) bool {
		return filepath.Base(p.Fset.File(f.FileStart).Name()) == filepath.Base(name)
	})
	return p.Syntax[i], p.Fset.File(p.Syntax[i].FileStart).LineStart(line) + token.Pos(column-1)
}

// swap adds the mutant that a mutator of gremlins makes of the operator at a position.
func (p *source) swap(file *ast.File, pos token.Pos, mutator string) error {
	rest, operator, becomes := p.between(pos, file.FileEnd), "", ""
	for pair := range slices.Chunk(strings.Fields(swaps[mutator]), 2) {
		if strings.HasPrefix(rest, pair[0]) && len(pair[0]) > len(operator) {
			operator, becomes = pair[0], pair[1]
		}
	}
	if operator == "" {
		return fmt.Errorf("%s: gremlins names a place without an operator of %s", p.Fset.Position(pos), mutator)
	}
	end := pos + token.Pos(len(operator))
	around, _ := astutil.PathEnclosingInterval(file, pos, end)
	n := around[0]
	was, swapped := p.print(n), p.between(n.Pos(), pos)+becomes+p.between(end, n.End())
	text := swapped
	if binary, ok := n.(*ast.BinaryExpr); ok { // whose operands may need parentheses now
		like, _ := parser.ParseExpr("x" + becomes + "y")
		binary := *binary
		binary.Op = like.(*ast.BinaryExpr).Op
		swapped = p.print(&binary)
		text = "(" + swapped + ")"
	}
	p.add(file, n, n, text, was, swapped)
	return nil
}

// breakStatements adds the mutants of a node that gremlins lacks. None of them does the same as
// another: an if is neither deleted nor held at false when it has no else, since emptying it does
// that, and a body of one statement is not emptied, since deleting the statement does that.
func (p *source) breakStatements(file *ast.File, n ast.Node) {
	// What is deleted stands in a branch that does not run, which keeps in use what it uses:
	// without that most mutants would not compile.
	remove := func(from, to ast.Stmt, form string) {
		was, _, _ := strings.Cut(p.print(from), "\n")
		p.add(file, from, to, "if false { "+p.between(from.Pos(), to.End())+" }", fmt.Sprintf(form, was), "")
	}
	empty := func(body []ast.Stmt) {
		if len(body) > 1 {
			remove(body[0], body[len(body)-1], "{ %s }")
		}
	}
	hold := func(cond ast.Expr, value, operator string) {
		p.add(file, cond, cond, value+operator+"("+p.print(cond)+")", p.print(cond), value)
	}
	var statements []ast.Stmt
	switch n := n.(type) {
	case *ast.BlockStmt:
		statements = n.List
	case *ast.CaseClause:
		statements = n.Body
		empty(n.Body)
	case *ast.IfStmt:
		empty(n.Body.List)
		hold(n.Cond, "true", "||")
		if n.Else != nil {
			hold(n.Cond, "false", "&&")
		}
		if block, ok := n.Else.(*ast.BlockStmt); ok {
			empty(block.List)
		}
	case *ast.SwitchStmt:
		for _, s := range n.Body.List {
			for _, cond := range s.(*ast.CaseClause).List {
				if n.Tag == nil {
					hold(cond, "true", "||")
					hold(cond, "false", "&&")
				}
			}
		}
	}
	for _, s := range statements {
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
			remove(s, s, "%s")
		}
	}
}

// compiles reports whether the package compiles with a mutant.
func (p *source) compiles(m *mutant) bool {
	changed, err := parser.ParseFile(p.Fset, "", p.mutated(m, m.file.FileStart, m.file.FileEnd), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := slices.Clone(p.Syntax)
	files[slices.Index(files, m.file)] = changed
	config := types.Config{Importer: p}
	_, err = config.Check(p.PkgPath, p.Fset, files, nil)
	return err == nil
}

// Import finds the packages that this one imports, for the type checker.
func (p *source) Import(path string) (*types.Package, error) { return p.Imports[path].Types, nil }
