package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strconv"
)

// impurity looks for what a package that decides may not do.
type impurity struct {
	file *sourceFile
	info *types.Info
	pkg  *types.Package
	out  *findings
}

// checkPurity looks at the non-test files of a package that decides.
func checkPurity(fset *token.FileSet, p sourcePackage, out *findings) {
	info := &types.Info{
		Uses:       map[*ast.Ident]types.Object{},
		Types:      map[ast.Expr]types.TypeAndValue{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	trees := make([]*ast.File, len(p.files))
	for i, f := range p.files {
		trees[i] = f.tree
	}
	// Other packages stay unknown, and so the checker reports errors. What is
	// of interest, which name is which object of this package, it finds out all
	// the same.
	conf := types.Config{Importer: noImporter{}, Error: func(error) {}}
	pkg, _ := conf.Check(importPath(p.dir), fset, trees, info)
	for _, f := range p.files {
		i := impurity{file: f, info: info, pkg: pkg, out: out}
		i.checkImports()
		for _, decl := range f.tree.Decls {
			i.checkDecl(decl)
		}
	}
}

// noImporter gives packages of which nothing is known but the name.
type noImporter struct{}

func (noImporter) Import(importPath string) (*types.Package, error) {
	p := types.NewPackage(importPath, path.Base(importPath))
	p.MarkComplete()
	return p, nil
}

func (i impurity) add(pos token.Pos, rule, format string, args ...any) {
	i.out.add(i.file.at(pos), rule, format, args...)
}

func (i impurity) checkImports() {
	for _, spec := range i.file.tree.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value)
		if why := bannedImport(importPath); why != "" {
			i.add(spec.Pos(), "purity", "imports %s: %s", importPath, why)
		}
		if spec.Name != nil && spec.Name.Name == "." {
			i.add(spec.Pos(), "purity", "imports %s with a dot: its names would escape this check", importPath)
		}
	}
}

func (i impurity) checkDecl(decl ast.Decl) {
	mayPanic := false
	if fn, ok := decl.(*ast.FuncDecl); ok {
		mayPanic = allowedToPanic(fn.Name.Name)
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			i.add(n.Pos(), "purity", "starts a goroutine: nothing is shared and nothing waits")
		case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
			i.add(n.Pos(), "purity", "uses a channel: nothing is shared and nothing waits")
		case *ast.SelectorExpr:
			if of, name := i.imported(n); of != "" {
				if why := bannedName(of, name); why != "" {
					i.add(n.Pos(), "purity", "uses %s.%s: %s", path.Base(of), name, why)
				}
			}
		case *ast.CallExpr:
			if !mayPanic && i.builtin(n) == "panic" {
				i.add(n.Pos(), "panic", "panics, and is no Must function: nothing panics on any input")
			}
		}
		i.checkWrite(n)
		return true
	})
}

// imported returns the package and the name when a selector names something of
// an imported package.
func (i impurity) imported(sel *ast.SelectorExpr) (importPath, name string) {
	if x, ok := sel.X.(*ast.Ident); ok {
		if p, ok := i.info.Uses[x].(*types.PkgName); ok {
			return p.Imported().Path(), sel.Sel.Name
		}
	}
	return "", ""
}

// builtin returns the name of the builtin function that a call calls, if any.
func (i impurity) builtin(call *ast.CallExpr) string {
	if name, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if b, ok := i.info.Uses[name].(*types.Builtin); ok {
			return b.Name()
		}
	}
	return ""
}
