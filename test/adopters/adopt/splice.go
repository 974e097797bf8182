package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/imports"
)

// source is a Go file and its declarations.
type source struct {
	text  []byte
	files *token.FileSet
	file  *ast.File
}

func parse(name string, text []byte) (*source, error) {
	s := &source{text: text, files: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return s, err
}

// offset returns the position of a byte.
func (s *source) offset(p token.Pos) int { return s.files.Position(p).Offset }

// span returns where a declaration is, with its comment.
func (s *source) span(d ast.Decl) (from, to int) {
	from, to = s.offset(d.Pos()), s.offset(d.End())
	var doc *ast.CommentGroup
	switch d := d.(type) {
	case *ast.FuncDecl:
		doc = d.Doc
	case *ast.GenDecl:
		doc = d.Doc
	}
	if doc != nil {
		from = s.offset(doc.Pos())
	}
	return from, to
}

// nameOf returns the name of a declaration, as Type.Method for a method and that of the first name for a group; the
// empty text for imports.
func nameOf(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		t := d.Recv.List[0].Type
		if pointer, ok := t.(*ast.StarExpr); ok {
			t = pointer.X
		}
		return fmt.Sprint(t, ".", d.Name.Name)
	case *ast.GenDecl:
		switch spec := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return spec.Name.Name
		case *ast.ValueSpec:
			return spec.Names[0].Name
		}
	}
	return ""
}

// edit replaces a part of a text.
type edit struct {
	from, to int
	with     []byte
}

// splice returns a file of theirs with our declarations, except those to skip, in the place of those with the same
// name, without those to drop, and with the imports that it then needs. A declaration of ours that they do not have
// stands before the next one that they have, or at the end.
func splice(name string, theirText, ourText []byte, drop, skip []string) ([]byte, error) {
	theirs, err := parse(name, theirText)
	if err != nil {
		return nil, err
	}
	ours, err := parse(name, ourText)
	if err != nil {
		return nil, err
	}
	places := map[string]ast.Decl{}
	for _, d := range theirs.file.Decls {
		places[nameOf(d)] = d
	}
	var edits []edit
	var next edit
	for _, d := range ours.file.Decls {
		if nameOf(d) == "" || slices.Contains(skip, nameOf(d)) {
			continue // imports have no name
		}
		from, to := ours.span(d)
		next.with = slices.Concat(next.with, []byte("\n\n"), ours.text[from:to])
		if place, found := places[nameOf(d)]; found {
			next.from, next.to = theirs.span(place)
			edits, next = append(edits, next), edit{}
		}
	}
	if next.with != nil {
		next.from, next.to = len(theirText), len(theirText)
		edits = append(edits, next)
	}
	for _, name := range drop {
		if place, found := places[name]; found {
			from, to := theirs.span(place)
			edits = append(edits, edit{from, to, nil})
		}
	}
	edits = append(edits, importsOf(theirs, ours)...)
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	text := slices.Clone(theirText)
	for _, e := range edits {
		text = slices.Concat(text[:e.from], e.with, text[e.to:])
	}
	return imports.Process(name, text, nil)
}

// copied returns a line of ours that is one of theirs, other than an import or the signature of a function.
func copied(theirs, ours []byte) string {
	for line := range bytes.Lines(ours) {
		text := bytes.TrimSpace(line)
		needed := bytes.HasPrefix(text, []byte("func ")) || bytes.HasSuffix(text, []byte(`"`))
		if len(text) > 40 && !needed && bytes.Contains(theirs, line) {
			return string(text)
		}
	}
	return ""
}

// importsOf adds our imports to the groups of theirs: those of the standard library to the first, others beside the API
// of Jobs. Those that are superfluous are removed later.
func importsOf(theirs, ours *source) (edits []edit) {
	position := func(path string) int {
		return slices.IndexFunc(theirs.file.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == path })
	}
	for _, spec := range ours.file.Imports {
		if position(spec.Path.Value) >= 0 {
			continue
		}
		beside := max(position(`"k8s.io/api/batch/v1"`), 0)
		if host, _, _ := strings.Cut(spec.Path.Value, "/"); !strings.Contains(host, ".") {
			beside = 0
		}
		end := theirs.offset(theirs.file.Imports[beside].End())
		text := ours.text[ours.offset(spec.Pos()):ours.offset(spec.End())]
		edits = append(edits, edit{end, end, slices.Concat([]byte("\n\t"), text)})
	}
	return edits
}
