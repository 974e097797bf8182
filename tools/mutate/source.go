package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// sourceFile is a Go file of the package under test.
type sourceFile struct {
	path string // absolute
	name string // without the folder
	text string
	tree *ast.File
}

// sourcePackage is a package under test, without its tests.
type sourcePackage struct {
	dir   string // from the root of the module
	name  string
	fset  *token.FileSet
	files []*sourceFile

	imports types.Importer
	reasons reasons
	only    *regexp.Regexp
	share   uint32
	blocks  []block // of the code, if the tests need not run all of it
}

// title is what explanations call the package: its folder, and the root by its name.
func (p *sourcePackage) title() string {
	if p.dir == "." {
		return p.name
	}
	return p.dir
}

// loadPackage reads a package of the main module.
func (r *runner) loadPackage(dir string) (*sourcePackage, error) {
	listed, err := r.goCommand("list", "-f", `{{.Name}} {{join .GoFiles " "}}`, "./"+dir)
	if err != nil {
		return nil, err
	}
	names := strings.Fields(listed)
	p := &sourcePackage{dir: dir, name: names[0], fset: token.NewFileSet(), reasons: r.reasons, only: r.only, share: r.share}
	for _, name := range names[1:] {
		path := filepath.Join(r.root, dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(p.fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, &sourceFile{path: path, name: name, text: string(text), tree: tree})
	}
	if p.imports, err = r.importer(p); err != nil {
		return nil, err
	}
	if err := p.check(nil, ""); err != nil {
		return nil, fmt.Errorf("does not compile: %w", err)
	}
	if r.tests != "" {
		p.blocks, err = r.runTests(p, r.tests)
	}
	return p, err
}

// importer returns what finds the types of the imported packages, in the files that
// the compiler writes.
func (r *runner) importer(p *sourcePackage) (types.Importer, error) {
	listed, err := r.goCommand("list", "-deps", "-export", "-f", "{{.ImportPath}}\t{{.Export}}", "./"+p.dir)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for line := range strings.Lines(listed) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	}), nil
}

// wanted reports whether a mutant is to be made.
func (p *sourcePackage) wanted(at place) bool {
	return !p.reasons.leavesOut(at) && p.only.MatchString(at.String()) && p.drawn(at)
}

// drawn reports whether a mutant is among the share to test: its own text decides, so
// that it is the same ones each time.
func (p *sourcePackage) drawn(at place) bool {
	hash := fnv.New32a()
	io.WriteString(hash, at.pkg+" "+at.String())
	return hash.Sum32()%100 < p.share
}

// viable reports whether the package compiles with the change.
func (p *sourcePackage) viable(c change) bool { return p.check(c.file, c.apply()) == nil }

// check looks for errors that the compiler would find, given another text for one
// of the files.
func (p *sourcePackage) check(changed *sourceFile, text string) error {
	fset, trees := token.NewFileSet(), make([]*ast.File, len(p.files))
	for i, f := range p.files {
		source := f.text
		if f == changed {
			source = text
		}
		tree, err := parser.ParseFile(fset, f.path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		trees[i] = tree
	}
	config := types.Config{Importer: p.imports}
	_, err := config.Check(p.dir, fset, trees, nil)
	return err
}

func (p *sourcePackage) offset(pos token.Pos) int { return p.fset.Position(pos).Offset }

// functionAt returns the name of the function around a place in the file, a method
// with its type; empty outside of functions.
func (p *sourcePackage) functionAt(f *sourceFile, offset int) string {
	for _, decl := range f.tree.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || offset < p.offset(fn.Pos()) || offset >= p.offset(fn.End()) {
			continue
		}
		if fn.Recv == nil {
			return fn.Name.Name
		}
		receiver := types.ExprString(fn.Recv.List[0].Type)
		return strings.TrimPrefix(receiver, "*") + "." + fn.Name.Name
	}
	return ""
}
