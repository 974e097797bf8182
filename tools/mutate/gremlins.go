package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// swaps are the operators that gremlins puts in place of others, by the names of its
// mutators.
var swaps = map[string]map[token.Token]token.Token{
	"ARITHMETIC_BASE": {
		token.ADD: token.SUB, token.SUB: token.ADD,
		token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	},
	"CONDITIONALS_BOUNDARY": {
		token.GEQ: token.GTR, token.GTR: token.GEQ, token.LEQ: token.LSS, token.LSS: token.LEQ,
	},
	"CONDITIONALS_NEGATION": {
		token.EQL: token.NEQ, token.NEQ: token.EQL,
		token.GEQ: token.LSS, token.LSS: token.GEQ, token.GTR: token.LEQ, token.LEQ: token.GTR,
	},
	"INCREMENT_DECREMENT": {token.INC: token.DEC, token.DEC: token.INC},
	"INVERT_ASSIGNMENTS": {
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
		token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
		token.REM_ASSIGN: token.REM_ASSIGN,
	},
	"INVERT_BITWISE": {
		token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND,
		token.SHL: token.SHR, token.SHR: token.SHL,
	},
	"INVERT_BWASSIGN": {
		token.AND_ASSIGN: token.OR_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN,
		token.XOR_ASSIGN: token.AND_ASSIGN, token.AND_NOT_ASSIGN: token.AND_ASSIGN,
		token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
	},
	"INVERT_LOGICAL":   {token.LAND: token.LOR, token.LOR: token.LAND},
	"INVERT_LOOPCTRL":  {token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK},
	"INVERT_NEGATIVES": {token.SUB: token.ADD},
	"REMOVE_SELF_ASSIGNMENTS": {
		token.ADD_ASSIGN: token.ASSIGN, token.SUB_ASSIGN: token.ASSIGN, token.MUL_ASSIGN: token.ASSIGN,
		token.QUO_ASSIGN: token.ASSIGN, token.REM_ASSIGN: token.ASSIGN, token.AND_ASSIGN: token.ASSIGN,
		token.OR_ASSIGN: token.ASSIGN, token.XOR_ASSIGN: token.ASSIGN, token.AND_NOT_ASSIGN: token.ASSIGN,
		token.SHL_ASSIGN: token.ASSIGN, token.SHR_ASSIGN: token.ASSIGN,
	},
}

// report is what gremlins says, as far as we read it.
type report struct {
	Files []struct {
		Name      string `json:"file_name"`
		Mutations []finding
	}
}

// finding is a mutant of gremlins.
type finding struct {
	Type   string
	Line   int
	Column int
}

// testGremlins lets gremlins find the mutants of a package, drops those that do not
// compile and tests the others.
func (r *runner) testGremlins(p *sourcePackage) ([]*mutant, error) {
	all, err := r.gremlins(p)
	if err != nil {
		return nil, err
	}
	var mutants []*mutant
	for _, file := range all.Files {
		for _, found := range file.Mutations {
			m, err := p.swapped(path.Base(file.Name), found)
			if err != nil {
				return nil, err
			}
			if p.wanted(m.place) && p.viable(m.change) {
				if !m.condition {
					m.choice, m.defines = p.choice(m.change)
				}
				mutants = append(mutants, m)
			}
		}
	}
	p.leaveOut(mutants)
	rounds, single := inRounds(mutants)
	fmt.Fprintf(r.out, "%s: %d mutants of gremlins, in %d test binaries\n", p.name, len(mutants), len(rounds)+len(single))
	for _, round := range rounds {
		if err := r.testSwitched(p, p.chosen(round), round); err != nil {
			return nil, err
		}
	}
	return mutants, r.testSingle(p, single)
}

// gremlins asks gremlins for the mutants of one package.
func (r *runner) gremlins(p *sourcePackage) (report, error) {
	var found report
	tool := exec.Command("go", "tool", "-n", "gremlins")
	tool.Dir = r.here
	program, err := tool.Output()
	if err != nil {
		return found, fmt.Errorf("go tool -n gremlins: %w", err)
	}
	name := filepath.Join(r.work, p.name+".json")
	args := []string{"unleash", "--dry-run", "--config", filepath.Join(r.here, "gremlins.yaml"), "--output", name}
	if p.dir == "." {
		args = append(args, "--exclude-files", "/")
	}
	cmd := exec.Command(strings.TrimSpace(string(program)), append(args, filepath.Join(r.root, p.dir))...)
	cmd.Dir = r.root
	if output, err := cmd.CombinedOutput(); err != nil {
		return found, fmt.Errorf("gremlins: %w\n%s", err, output)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(text, &found)
}

// inRounds puts mutants together that a variable can choose, and that do not overlap:
// each round fits into one test binary. The others need one each.
func inRounds(mutants []*mutant) (rounds [][]*mutant, single []*mutant) {
	for _, m := range mutants {
		if !m.condition && m.choice.file == nil {
			single = append(single, m)
			continue
		}
		at := slices.IndexFunc(rounds, func(round []*mutant) bool {
			return !slices.ContainsFunc(round, func(o *mutant) bool { return m.switched().overlaps(o.switched()) })
		})
		if at < 0 {
			at, rounds = len(rounds), append(rounds, nil)
		}
		rounds[at] = append(rounds[at], m)
	}
	return rounds, single
}

// chosen returns the files of the package with the mutants of a round in them.
func (p *sourcePackage) chosen(round []*mutant) map[string]string {
	texts := p.withSwitch()
	for _, c := range chosen(round) {
		text := texts[c.file.path]
		texts[c.file.path] = text[:c.start] + c.text + text[c.end:]
	}
	return texts
}

// testSingle tests mutants each with binaries of its own.
func (r *runner) testSingle(p *sourcePackage, mutants []*mutant) error {
	for _, dir := range r.testsOf(p) {
		usual, err := r.build(dir, nil)
		if err != nil {
			return err
		}
		usual, err = r.calibrate(usual)
		usual.remove()
		if err != nil {
			return err
		}
		err = r.each(mutants, func(_ int, m *mutant) error {
			if m.verdict != survived {
				return nil
			}
			b, err := r.build(dir, map[string]string{m.change.file.path: m.change.apply()})
			if err != nil {
				return err
			}
			defer b.remove()
			b.limit = usual.limit
			m.verdict, _, err = r.run(b, 0)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// swapped makes the mutant that gremlins has found.
func (p *sourcePackage) swapped(file string, found finding) (*mutant, error) {
	for _, f := range p.files {
		if f.name != file {
			continue
		}
		pos := p.fset.File(f.tree.Pos()).LineStart(found.Line) + token.Pos(found.Column-1)
		m, ok := p.swap(f, pos, swaps[found.Type])
		if !ok {
			break
		}
		m.mutator, m.pkg, m.function = found.Type, p.title(), p.functionAt(f, p.offset(pos))
		return m, nil
	}
	return nil, fmt.Errorf("gremlins has found %s at %s:%d:%d, where there is no such operator",
		found.Type, file, found.Line, found.Column)
}

// swap makes the mutant with another operator at a place. Gremlins changes the syntax
// tree, where an operator keeps its operands. So that it keeps them in the text too,
// the whole expression is printed anew.
func (p *sourcePackage) swap(f *sourceFile, pos token.Pos, by map[token.Token]token.Token) (*mutant, bool) {
	var outermost *ast.BinaryExpr // around the node at hand
	var out *mutant
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if n == nil || pos < n.Pos() || pos >= n.End() || out != nil {
			return false
		}
		if b, ok := n.(*ast.BinaryExpr); !ok {
			outermost = nil
		} else if outermost == nil {
			outermost = b
		}
		op, at := operator(n)
		if at != pos || op == nil {
			return true
		}
		becomes, ok := by[*op]
		if !ok {
			return false
		}
		was := *op
		out = &mutant{change: change{f, p.offset(pos), p.offset(pos) + len(was.String()), becomes.String()}}
		out.was = inOneLine(p.print(n))
		*op = becomes
		out.becomes = inOneLine(p.print(n))
		if outermost != nil {
			out.change = change{f, p.offset(outermost.Pos()), p.offset(outermost.End()), p.print(outermost)}
		}
		*op = was
		out.condition = outermost != nil && isCondition(outermost.Op)
		return false
	})
	return out, out != nil
}

// isCondition reports whether an operator makes a condition.
func isCondition(op token.Token) bool {
	switch op {
	case token.LAND, token.LOR, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	}
	return false
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

func (p *sourcePackage) print(n ast.Node) string {
	var out bytes.Buffer
	if err := printer.Fprint(&out, p.fset, n); err != nil {
		return err.Error() // which does not compile
	}
	return out.String()
}
