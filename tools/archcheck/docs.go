package main

import (
	"go/ast"
	"path"
	"strings"
)

const documentation = "documentation"

// checkDocs sees to it that a package has an overview, an example that says what
// it prints, and a comment for each exported name. Commands and internal packages
// are in no documentation, and need no example.
func (r *repository) checkDocs(p sourcePackage, out *findings) {
	first := p.files[0]
	name := first.tree.Name.Name
	overview := false
	for _, f := range p.files {
		overview = overview || f.tree.Doc != nil
		for _, decl := range f.tree.Decls {
			for _, bare := range uncommented(decl) {
				out.add(f.at(bare.Pos()), documentation, "%s has no comment that begins with its name", bare.Name)
			}
		}
	}
	if !overview {
		out.add(first.at(first.tree.Package), documentation, "package %s has no overview", name)
	}
	if name != "main" && !strings.HasPrefix(p.dir, "internal/") && !r.hasExample(p.dir) {
		out.add(first.at(first.tree.Package), documentation, "package %s has no Example with an output", name)
	}
}

// hasExample reports whether a test in a folder has an Example with an output.
func (r *repository) hasExample(dir string) bool {
	for _, f := range r.files {
		if !f.test || path.Clean(f.dir) != dir {
			continue
		}
		for _, decl := range f.tree.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "Example") {
				continue
			}
			for _, comment := range f.tree.Comments {
				text := strings.ToLower(comment.Text())
				if comment.Pos() > fn.Pos() && comment.End() < fn.End() && (strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")) {
					return true
				}
			}
		}
	}
	return false
}

// uncommented returns the exported names of a declaration that lack a comment. One
// comment is enough for a group of constants or variables.
func uncommented(decl ast.Decl) (bare []*ast.Ident) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && onExported(d.Recv) && !tells(d.Name.Name, d.Doc) {
			bare = append(bare, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && !tells(s.Name.Name, s.Doc, d.Doc) {
					bare = append(bare, s.Name)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
						bare = append(bare, name)
					}
				}
			}
		}
	}
	return bare
}

// onExported reports whether a function is one, or the method of an exported type.
func onExported(receiver *ast.FieldList) bool {
	if receiver == nil {
		return true
	}
	t := receiver.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	name, ok := t.(*ast.Ident)
	return ok && name.IsExported()
}

// tells reports whether the first of the comments that is there begins with a name,
// perhaps after an article.
func tells(name string, comments ...*ast.CommentGroup) bool {
	for _, comment := range comments {
		if comment == nil {
			continue
		}
		words := strings.Fields(comment.Text())
		if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
			words = words[1:]
		}
		return len(words) > 0 && strings.TrimRight(words[0], ",:.") == name
	}
	return false
}
