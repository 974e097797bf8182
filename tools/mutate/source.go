package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// source is a package of the main module, without its tests.
type source struct {
	*packages.Package
	options
	work    string            // a folder for what is built
	texts   map[string]string // of the files
	mutants []*mutant
}

const mode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
	packages.NeedTypesInfo | packages.NeedImports

func (o options) load(dir string) (*source, error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return nil, err
	}
	o.root = root
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: root}, "./"+dir)
	if err != nil {
		return nil, err
	}
	p := &source{Package: loaded[0], options: o, texts: map[string]string{}}
	for _, err := range p.Errors {
		return nil, err
	}
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		p.texts[name] = string(text)
	}
	p.work, err = os.MkdirTemp("", "mutate-")
	return p, err
}

// title is what docs/mutants.md calls the package: its folder, and the root by its name.
func (p *source) title() string {
	if p.Dir == p.root {
		return p.Name
	}
	return filepath.ToSlash(strings.TrimPrefix(p.Dir, p.root)[1:])
}

// compiles reports whether the package compiles with a mutant.
func (p *source) compiles(m *mutant) bool {
	name := m.from.Filename
	changed, err := parser.ParseFile(p.Fset, name, p.texts[name][:m.from.Offset]+m.text+p.texts[name][m.to.Offset:], parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := []*ast.File{changed}
	for _, f := range p.Syntax {
		if p.Fset.Position(f.Package).Filename != name {
			files = append(files, f)
		}
	}
	config := types.Config{Importer: p}
	_, err = config.Check(p.PkgPath, p.Fset, files, nil)
	return err == nil
}

// Import finds the packages that this one imports, for the type checker.
func (p *source) Import(path string) (*types.Package, error) {
	if imported := p.Imports[path]; imported != nil {
		return imported.Types, nil
	}
	return nil, fmt.Errorf("%s is not imported", path)
}

func (p *source) print(n ast.Node) string {
	var out bytes.Buffer
	if err := printer.Fprint(&out, p.Fset, n); err != nil {
		return err.Error() // which does not compile
	}
	return out.String()
}

// place returns the place of a node. Of a function it is the body.
func (p *source) place(n ast.Node) (out place) {
	of := func(body *ast.BlockStmt, t *ast.FuncType) {
		n, out.results = body, p.print(&ast.FuncType{Params: &ast.FieldList{}, Results: t.Results})
	}
	switch fn := n.(type) {
	case *ast.FuncDecl:
		of(fn.Body, fn.Type)
	case *ast.FuncLit:
		of(fn.Body, fn.Type)
	}
	out.node, out.from, out.to = n, p.Fset.Position(n.Pos()), p.Fset.Position(n.End())
	return out
}
