package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// checkWrite looks for changes of package-level variables. A table that is only
// read is no state; one whose address is taken could be changed from anywhere.
func (i impurity) checkWrite(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			i.changed("assigns to", n.Lhs...)
		}
	case *ast.IncDecStmt:
		i.changed("assigns to", n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			i.changed("assigns to", n.Key, n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			i.changed("takes the address of", n.X)
		}
	case *ast.SliceExpr:
		if i.is(n.X, isArray) {
			i.changed("takes the address of", n.X)
		}
	case *ast.CallExpr:
		i.checkCall(n)
	}
}

func (i impurity) checkCall(call *ast.CallExpr) {
	switch i.builtin(call) {
	case "copy", "clear", "delete":
		i.changed("changes", call.Args[:min(1, len(call.Args))]...)
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}
	if mutates(i.imported(sel)) {
		i.changed("changes", call.Args[:min(1, len(call.Args))]...)
	}
	if s := i.info.Selections[sel]; s != nil && hasPointerReceiver(s.Obj()) {
		i.changed("calls a method that may change", sel.X)
	}
}

// changed reports those of the expressions that are package-level variables, or
// part of one.
func (i impurity) changed(how string, exprs ...ast.Expr) {
	for _, e := range exprs {
		if name := i.packageVariable(e); name != "" {
			i.add(e.Pos(), "state", "%s the package-level variable %s: nothing is remembered between two calls", how, name)
		}
	}
}

// packageVariable returns the package-level variable that an expression is a part
// of, by name; empty when it is part of none.
func (i impurity) packageVariable(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			if of, name := i.imported(x); of != "" {
				return of + "." + name
			}
			e = x.X
		case *ast.Ident:
			if v, ok := i.info.Uses[x].(*types.Var); ok && i.pkg != nil && v.Parent() == i.pkg.Scope() {
				return v.Name()
			}
			return ""
		default:
			return ""
		}
	}
}

func (i impurity) is(e ast.Expr, test func(types.Type) bool) bool {
	t, ok := i.info.Types[e]
	return ok && t.Type != nil && test(t.Type.Underlying())
}

func isArray(t types.Type) bool { _, ok := t.(*types.Array); return ok }

func hasPointerReceiver(obj types.Object) bool {
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return false
	}
	_, pointer := fn.Signature().Recv().Type().(*types.Pointer)
	return pointer
}
