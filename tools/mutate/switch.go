package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// switches writes copies of the packages that have all mutants, each behind a switch, so that one compilation
// serves all of them. The folder gets the files, and overlay.json, which puts them in place of the originals. The
// mutants get their numbers, from 1 on; those that do not compile behind a switch have none.
func switches(folder string, sources []*source) {
	list, file := filepath.Join(folder, "overlay.json"), must(filepath.Abs("internal/mutant/mutant.go"))
	overlay := map[string]string{file: filepath.Join(folder, "mutant.go")}
	write := func() {
		data, err := json.Marshal(map[string]any{"Replace": overlay})
		check(errors.Join(err, os.WriteFile(list, data, 0o600)))
	}
	check(os.WriteFile(overlay[file], []byte(switchText), 0o600))
	write()
	path, last := switchPackage(), 0
	exports := exportsOf(sources, path, list)
	for _, s := range sources {
		c, parts := newCopier(s.dir, path, exports), map[string][]part{}
		for _, m := range s.mutants {
			if c.compiles(m) {
				last++
				m.number = last
				parts[m.path] = append(parts[m.path], c.part(m, last))
			}
		}
		for file := range parts {
			overlay[file] = filepath.Join(folder, fmt.Sprint(len(overlay), ".go"))
			check(os.WriteFile(overlay[file], []byte(c.switched(file, parts[file]...)), 0o600))
		}
	}
	write()
}

// switchPackage returns the path of a package that exists only in the overlay. Its function Is reports whether a
// mutant is switched on: that of an environment variable. All modules below the main one can import it.
func switchPackage() string {
	return modfile.ModulePath(must(os.ReadFile("go.mod"))) + "/internal/mutant"
}

const switchText = `package mutant

import (
	"os"
	"strconv"
)

var on, _ = strconv.Atoi(os.Getenv("MUTANT"))

func Is(n int) bool { return n == on }
`

// exportsOf returns the files with the types of all that the packages import, and of the switches.
func exportsOf(sources []*source, switches, overlay string) map[string]string {
	list := exec.Command("go", "list", "-export", "-deps", "-overlay", overlay,
		"-f", "{{.ImportPath}}\t{{.Export}}", switches)
	for _, s := range sources {
		for _, path := range must(build.ImportDir(s.dir, 0)).Imports {
			if path != "C" {
				list.Args = append(list.Args, path)
			}
		}
	}
	list.Stderr = os.Stderr
	exports := map[string]string{}
	for line := range strings.Lines(string(must(list.Output()))) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return exports
}

// copier makes the copy of a package.
type copier struct {
	types.Config
	dir      string
	switches string // the path of the package with the switches
	fset     *token.FileSet
	texts    map[string]string // of the files, by path
	files    map[string]*ast.File
	kinds    map[place]string // the types of the expressions
}

type place struct {
	path     string
	from, to int
}

func newCopier(dir, switches string, exports map[string]string) *copier {
	c := &copier{dir: dir, switches: switches, fset: token.NewFileSet(), texts: map[string]string{},
		files: map[string]*ast.File{}, kinds: map[place]string{}}
	c.Importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for _, name := range must(build.ImportDir(dir, 0)).GoFiles {
		path := must(filepath.Abs(filepath.Join(dir, name)))
		text := must(os.ReadFile(path))
		c.texts[path] = string(text)
		c.files[path] = must(parser.ParseFile(c.fset, path, text, parser.SkipObjectResolution))
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	of := must(c.Check(dir, c.fset, slices.Collect(maps.Values(c.files)), info))
	for expr, is := range info.Types {
		from, to := c.fset.Position(expr.Pos()), c.fset.Position(expr.End())
		name := types.TypeString(is.Type, func(p *types.Package) string {
			if p == of {
				return ""
			}
			return p.Name()
		})
		c.kinds[place{from.Filename, from.Offset, to.Offset}] = name
	}
	return c
}

// compiles reports whether the package compiles with the switch of a mutant.
func (c *copier) compiles(m *mutant) bool {
	text := c.switched(m.path, c.part(m, 1))
	file, err := parser.ParseFile(c.fset, m.path, text, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := maps.Clone(c.files)
	files[m.path] = file
	_, err = c.Check(c.dir, c.fset, slices.Collect(maps.Values(files)), nil)
	return err == nil
}

// part is a part of a file, and the text before and after it that gives it a switch.
type part struct {
	from, to      int
	before, after string
}

// part returns the part that a mutant changes, with the switch of that number.
func (c *copier) part(m *mutant, number int) part {
	p, is := part{from: m.from, to: m.to}, fmt.Sprintf("mutant.Is(%d)", number)
	switch m.swapped.(type) {
	case nil: // a statement is removed, or a condition is held
		for _, form := range [][3]string{{"if false { ", "if !%s { ", " }"}, {"true || (", "%s || (", ")"},
			{"false && (", "!%s && (", ")"}} {
			if strings.HasPrefix(m.becomes, form[0]) {
				p.before, p.after = fmt.Sprintf(form[1], is), form[2]
			}
		}
	case *ast.BranchStmt:
		p.before, p.after = "if "+is+" { "+m.becomes+" } else { ", " }"
	case ast.Stmt: // which may be that of a loop
		p.before, p.after = "func() { if "+is+" { "+m.becomes+" } else { ", " } }()"
	default:
		switch kind := c.kinds[place{m.path, m.from, m.to}]; kind {
		case "bool", "untyped bool":
			p.before, p.after = "("+is+" && "+m.becomes+" || !"+is+" && (", "))"
		default:
			p.before, p.after = "func() "+kind+" { if "+is+" { return "+m.becomes+" }; return ", " }()"
		}
	}
	return p
}

// switched returns a file with these parts, which imports the switches. Two parts are nested or disjoint.
func (c *copier) switched(path string, parts ...part) string {
	// A text at an offset. Those after a part come first, the inner part before the outer one; then those before a
	// part, the outer part first. Parts with the same place are nested in their order.
	type insert struct {
		at, rank, order int
		text            string
	}
	name := c.files[path].Name
	end := c.fset.Position(name.End()).Offset
	inserts := []insert{{end, 0, 0, fmt.Sprintf("; import %q", c.switches)}}
	for i, p := range parts {
		inserts = append(inserts, insert{p.from, -p.to, i, p.before}, insert{p.to, -p.from - 1<<40, -i, p.after})
	}
	slices.SortFunc(inserts, func(a, b insert) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank), cmp.Compare(a.order, b.order))
	})
	var out strings.Builder
	at := 0
	for _, in := range inserts {
		out.WriteString(c.texts[path][at:in.at] + in.text)
		at = in.at
	}
	return out.String() + c.texts[path][at:]
}
