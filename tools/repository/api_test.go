package repository

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// api/jobfate.txt lists the exported declarations of the public packages of the main module.
func TestAPI(t *testing.T) {
	sources, fset := read(t)
	var all strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(sources)) {
		if s := sources[dir]; s.public() {
			all.WriteString("# " + dir + "\n\n" + strings.Join(exported(t, fset, s.files), "\n") + "\n\n")
		}
	}
	golden(t, root+"/api/jobfate.txt", "", "", all.String())
}

var gaps = regexp.MustCompile(`\n\s*\n`)

// exported returns the exported declarations of a package, without the bodies of functions.
func exported(t *testing.T, fset *token.FileSet, files []*ast.File) (out []string) {
	t.Helper()
	for _, file := range files {
		ast.FileExports(file)
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				d.Body = nil
			case *ast.GenDecl:
				if d.Tok == token.IMPORT {
					continue
				}
			}
			var b bytes.Buffer
			check(format.Node(&b, fset, decl))
			text := must(format.Source(gaps.ReplaceAll(b.Bytes(), []byte("\n")))) // aligned as if there were no comments
			out = append(out, string(text))
		}
	}
	slices.Sort(out)
	return out
}

// Each public package has an example whose output is checked.
func TestExamples(t *testing.T) {
	sources, fset := read(t)
	for dir, s := range sources {
		if !s.public() {
			continue
		}
		tests, _ := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		found := false
		for _, name := range tests {
			for _, example := range doc.Examples(must(parser.ParseFile(fset, name, nil, parser.ParseComments))) {
				found = found || example.Output != "" || example.EmptyOutput
			}
		}
		if !found {
			t.Errorf("%s has no Example with an output", dir)
		}
	}
}
