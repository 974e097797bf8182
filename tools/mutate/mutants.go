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
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// source is a package of the main module, without its tests.
type source struct {
	*build.Package
	options
	dir     string // in the main module
	name    string // in docs/mutants.md: the folder, and of the root the package
	work    string // a folder for what is built
	fset    *token.FileSet
	files   []*ast.File
	texts   map[string]string // of the files
	mutants []*mutant
}

// A mutant is a small mistake: a part of the source becomes another text.
type mutant struct {
	pkg, function, change string // as docs/mutants.md names them
	from, to              token.Pos
	text                  string
	body                  *ast.BlockStmt // of the innermost function; nil outside of functions
	signature             string         // of that function, without parameters
	verdict               string         // survived, killed, or not run: the tests do not come there
}

func (m *mutant) String() string { return fmt.Sprintf("%s - `%s`: %s: ", m.pkg, m.function, m.change) }

func (o options) load(dir string) (*source, error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return nil, err
	}
	o.root = root
	dir = filepath.Clean(dir)
	p := &source{options: o, dir: dir, name: filepath.ToSlash(dir), fset: token.NewFileSet(), texts: map[string]string{}}
	if p.Package, err = build.ImportDir(filepath.Join(root, dir), 0); err != nil {
		return nil, err
	}
	if p.name == "." {
		p.name = p.Package.Name
	}
	for _, name := range p.GoFiles {
		name = filepath.Join(p.Dir, name)
		file, e := parser.ParseFile(p.fset, name, nil, parser.SkipObjectResolution)
		text, e2 := os.ReadFile(name)
		p.files, p.texts[name], err = append(p.files, file), string(text), errors.Join(err, e, e2)
	}
	if err == nil {
		p.work, err = os.MkdirTemp("", "mutate-")
	}
	return p, err
}

// print returns a part of the source as gofmt writes it alone.
func (p *source) print(n ast.Node) string {
	var out strings.Builder
	if err := printer.Fprint(&out, p.fset, n); err != nil {
		return err.Error() // which does not compile
	}
	return out.String()
}

// between returns a part of the source.
func (p *source) between(from, to token.Pos) string {
	start, end := p.fset.Position(from), p.fset.Position(to)
	return p.texts[start.Filename][start.Offset:end.Offset]
}

// mutated returns the part of the source around a mutant, with the mutant in it: from there on the
// compiler names the mutant in place of the file.
func (p *source) mutated(m *mutant, number int, from, to token.Pos) string {
	return fmt.Sprintf("%s/*line mutant%d:1:1*/ %s%s", p.between(from, m.from), number, m.text, p.between(m.to, to))
}

// findMutants makes the mutants of the package: of the share, those that compile, but for
// functions that the reasons leave out.
func (p *source) findMutants(why reasons) error {
	mutators, err := p.gremlins()
	if err != nil {
		return err
	}
	for _, file := range p.files {
		ast.PreorderStack(file, nil, func(n ast.Node, around []ast.Node) bool {
			place := p.place(around)
			p.swapOperator(place, n, mutators)
			p.breakStatements(place, n)
			return true
		})
	}
	p.mutants = slices.DeleteFunc(p.mutants, func(m *mutant) bool {
		hash := fnv.New32a() // so that the share is the same in every run
		hash.Write([]byte(m.String()))
		return hash.Sum32()%100 >= uint32(p.share) || why[fmt.Sprintf("%s - `%s`: all: ", m.pkg, m.function)]
	})
	return nil
}

// place returns a mutant within some nodes that changes nothing yet.
func (p *source) place(around []ast.Node) mutant {
	m := mutant{pkg: p.name, function: "-", verdict: "survived"}
	for _, n := range around {
		var signature *ast.FuncType
		switch fn := n.(type) {
		case *ast.FuncLit:
			m.body, signature = fn.Body, fn.Type
		case *ast.FuncDecl:
			m.body, signature, m.function = fn.Body, fn.Type, fn.Name.Name
			if fn.Recv != nil {
				m.function = strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + m.function
			}
		}
		if signature != nil {
			m.signature = p.print(&ast.FuncType{Params: &ast.FieldList{}, Results: signature.Results})
		}
	}
	return m
}

// add makes a mutant of what is from one node to another.
func (p *source) add(place mutant, from, to ast.Node, text, was, becomes string) {
	oneLine := func(text string) string {
		return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'")
	}
	place.from, place.to, place.text = from.Pos(), to.End(), text
	place.change = strings.ReplaceAll(fmt.Sprintf("`%s` → `%s`", oneLine(was), oneLine(becomes)), "``", "nothing")
	p.mutants = append(p.mutants, &place)
}

// swaps are the operators that gremlins puts in place of others, by the names of its mutators. One
// that begins with another comes before that. INVERT_NEGATIVES is absent: it swaps each minus once
// more.
var swaps = map[string]*strings.Replacer{
	"ARITHMETIC_BASE":         strings.NewReplacer("+", "-", "-", "+", "*", "/", "/", "*", "%", "*"),
	"CONDITIONALS_BOUNDARY":   strings.NewReplacer(">=", ">", ">", ">=", "<=", "<", "<", "<="),
	"CONDITIONALS_NEGATION":   strings.NewReplacer("==", "!=", "!=", "==", ">=", "<", "<=", ">", "<", ">=", ">", "<="),
	"INCREMENT_DECREMENT":     strings.NewReplacer("++", "--", "--", "++"),
	"INVERT_ASSIGNMENTS":      strings.NewReplacer("+", "-", "-", "+", "*", "/", "/", "*", "%", "*"),
	"INVERT_BITWISE":          strings.NewReplacer("&^", "&", "&", "|", "|", "&", "^", "&", "<<", ">>", ">>", "<<"),
	"INVERT_BWASSIGN":         strings.NewReplacer("&^", "&", "&", "|", "|", "&", "^", "&", "<<", ">>", ">>", "<<"),
	"INVERT_LOGICAL":          strings.NewReplacer("&&", "||", "||", "&&"),
	"INVERT_LOOPCTRL":         strings.NewReplacer("break", "continue", "continue", "break"),
	"REMOVE_SELF_ASSIGNMENTS": strings.NewReplacer("+", "", "-", "", "*", "", "/", "", "%", "", "&", "", "|", "", "^", "", "<", "", ">", ""),
}

var found = regexp.MustCompile(`(\w+) at (\S+)`)

// gremlins returns the names of the mutators that change an operator, by where it is: the file
// without the folder, the line and the column.
func (p *source) gremlins() (map[string][]string, error) {
	out, err := command(".", "go", "tool", "gremlins", "unleash", "--dry-run",
		"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl",
		"--remove-self-assignments", "--invert-negatives=false", "--exclude-files", "/", p.Dir)
	mutators := map[string][]string{}
	for _, at := range found.FindAllStringSubmatch(out, -1) {
		mutators[at[2]] = append(mutators[at[2]], at[1])
	}
	return mutators, err
}

// swapOperator adds the mutants that gremlins makes of a node with an operator.
func (p *source) swapOperator(place mutant, n ast.Node, mutators map[string][]string) {
	var op token.Token
	var pos token.Pos
	switch n := n.(type) {
	case *ast.BinaryExpr:
		op, pos = n.Op, n.OpPos
	case *ast.UnaryExpr:
		if n.Op != token.AND { // which takes an address
			op, pos = n.Op, n.OpPos
		}
	case *ast.IncDecStmt:
		op, pos = n.Tok, n.TokPos
	case *ast.AssignStmt:
		op, pos = n.Tok, n.TokPos
	case *ast.BranchStmt:
		op, pos = n.Tok, n.TokPos
	}
	at := p.fset.Position(pos)
	at.Filename = filepath.Base(at.Filename)
	for _, mutator := range mutators[at.String()] {
		becomes := swaps[mutator].Replace(op.String())
		swapped := p.between(n.Pos(), pos) + becomes + p.between(pos+token.Pos(len(op.String())), n.End())
		text := swapped
		if binary, ok := n.(*ast.BinaryExpr); ok { // whose operands may need parentheses now
			like, _ := parser.ParseExpr("x" + becomes + "y")
			binary := *binary
			binary.Op = like.(*ast.BinaryExpr).Op
			swapped = p.print(&binary)
			text = "(" + swapped + ")"
		}
		p.add(place, n, n, text, p.print(n), swapped)
	}
}

// breakStatements adds the mutants of a node that gremlins lacks. None of them does the same as
// another: an if is neither deleted nor held at false when it has no else, since emptying it does
// that, and a body of one statement is not emptied, since deleting the statement does that.
func (p *source) breakStatements(place mutant, n ast.Node) {
	// What is deleted stands in a branch that does not run, which keeps in use what it uses:
	// without that most mutants would not compile.
	remove := func(from, to ast.Stmt, form string) {
		was, _, _ := strings.Cut(p.print(from), "\n")
		p.add(place, from, to, "if false { "+p.between(from.Pos(), to.End())+" }", fmt.Sprintf(form, was), "")
	}
	empty := func(body []ast.Stmt) {
		if len(body) > 1 {
			remove(body[0], body[len(body)-1], "{ %s }")
		}
	}
	hold := func(cond ast.Expr, value, operator string) {
		p.add(place, cond, cond, value+operator+"("+p.print(cond)+")", p.print(cond), value)
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
