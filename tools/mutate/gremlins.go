package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
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
	Status string
	Line   int
	Column int
}

// testGremlins lets gremlins test a package, drops the mutants that do not compile
// and tests again those that gremlins did not see killed.
func (r *runner) testGremlins(p *sourcePackage, reports string) ([]*mutant, error) {
	name := filepath.Join(reports, p.name+".json")
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if err := r.gremlins(p, name); err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all report
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var mutants, left []*mutant
	for _, file := range all.Files {
		for _, found := range file.Mutations {
			m, err := p.swapped(path.Base(file.Name), found)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if !p.viable(m.change) {
				continue
			}
			mutants = append(mutants, m)
			if found.Status == "KILLED" {
				m.verdict = killed
			} else {
				left = append(left, m)
			}
		}
	}
	fmt.Fprintf(r.out, "%s: %d mutants of gremlins, which has killed all but %d\n", p.name, len(mutants), len(left))
	return mutants, r.testAgain(p, left)
}

// gremlins runs gremlins on one package. Its timeouts rest on how long the tests take,
// so they must not come from the cache.
func (r *runner) gremlins(p *sourcePackage, report string) error {
	tool := exec.Command("go", "tool", "-n", "gremlins")
	tool.Dir = r.here
	program, err := tool.Output()
	if err != nil {
		return fmt.Errorf("go tool -n gremlins: %w", err)
	}
	args := []string{"unleash", "--config", filepath.Join(r.here, "gremlins.yaml"), "--output", report,
		"--workers", fmt.Sprint(r.workers)}
	if p.dir == "." {
		args = append(args, "--exclude-files", "/")
	}
	cmd := exec.Command(strings.TrimSpace(string(program)), append(args, filepath.Join(r.root, p.dir))...)
	cmd.Dir = r.root
	flags := fmt.Sprintf("%s -vet=off -count=1 -exec=%s", os.Getenv("GOFLAGS"), filepath.Join(r.here, "runtest.sh"))
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(flags))
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gremlins: %w\n%s", err, output)
	}
	return nil
}

// testAgain tests mutants each with binaries of its own.
func (r *runner) testAgain(p *sourcePackage, mutants []*mutant) error {
	dirs := []string{p.dir}
	if p.dir != "." {
		dirs = append(dirs, ".")
	}
	for _, dir := range dirs {
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
		c, ok := p.swap(f, pos, swaps[found.Type])
		if !ok {
			break
		}
		was, becomes := c.describe()
		return &mutant{
			place:  place{p.name, f.name, p.functionAt(f, p.offset(pos)), found.Type, was, becomes},
			change: c,
		}, nil
	}
	return nil, fmt.Errorf("no operator for %s at %s:%d:%d: is the report older than the source?",
		found.Type, file, found.Line, found.Column)
}

// swap returns the change of the operator at a place. Gremlins changes the syntax
// tree, where an operator keeps its operands. So that it keeps them in the text too,
// the whole expression is printed anew.
func (p *sourcePackage) swap(f *sourceFile, pos token.Pos, by map[token.Token]token.Token) (change, bool) {
	var outermost *ast.BinaryExpr // around the node at hand
	var out change
	var found bool
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if n == nil || pos < n.Pos() || pos >= n.End() || found {
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
		found = true
		was := *op
		out = change{f, p.offset(pos), p.offset(pos) + len(was.String()), becomes.String()}
		if outermost != nil {
			*op = becomes
			out.start, out.end, out.text = p.offset(outermost.Pos()), p.offset(outermost.End()), p.print(outermost)
			*op = was
		}
		return false
	})
	return out, found
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
