package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// pure looks in what decides for goroutines, channels, panics, output, and changes of
// package-level variables. A table that is only read is no state; one whose address is
// taken could be changed from anywhere.
var pure = &analysis.Analyzer{
	Name: "pure",
	Doc:  "pure finds what a decision may not do",
	Run: func(pass *analysis.Pass) (any, error) {
		if !decides(pass) {
			return nil, nil
		}
		for _, f := range sources(pass) {
			for _, decl := range f.Decls {
				fn, _ := decl.(*ast.FuncDecl)
				must := fn != nil && strings.HasPrefix(fn.Name.Name, "Must")
				ast.Inspect(decl, func(n ast.Node) bool {
					checkPure(pass, n, must)
					return true
				})
			}
		}
		return nil, nil
	},
}

// checkPure looks at one node; Must functions may panic.
func checkPure(pass *analysis.Pass, n ast.Node, must bool) {
	switch n := n.(type) {
	case *ast.GoStmt:
		pass.Reportf(n.Pos(), "starts a goroutine: nothing is shared and nothing waits")
	case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
		pass.Reportf(n.Pos(), "uses a channel: nothing is shared and nothing waits")
	case *ast.CallExpr:
		switch name := builtin(pass.TypesInfo, n); {
		case name == "panic" && !must:
			pass.Reportf(n.Pos(), "panics, and is no Must function: nothing panics on any input")
		case name == "print" || name == "println":
			pass.Reportf(n.Pos(), "prints: a decision does no I/O")
		}
	}
	for _, c := range changes(pass.TypesInfo, n) {
		if v, ok := rootOf(pass.TypesInfo, c.expr); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			pass.Reportf(c.expr.Pos(), "%s the package-level variable %s: nothing is remembered between two calls", c.how, v.Name())
		}
	}
}

// A change is an expression whose memory a node changes, or may change: that of the
// expression, or, if referred, what its value refers to.
type change struct {
	how             string
	expr            ast.Expr
	may, referredTo bool // it may change, what its value refers to
}

// changes returns what a node changes.
func changes(info *types.Info, n ast.Node) (out []change) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, e := range n.Lhs {
				out = append(out, change{how: "assigns to", expr: e})
			}
		}
	case *ast.IncDecStmt:
		out = append(out, change{how: "assigns to", expr: n.X})
	case *ast.RangeStmt:
		for _, e := range []ast.Expr{n.Key, n.Value} {
			if e != nil && n.Tok == token.ASSIGN {
				out = append(out, change{how: "assigns to", expr: e})
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			out = append(out, change{how: "takes the address of", expr: n.X, may: true})
		}
	case *ast.SliceExpr:
		if _, array := info.TypeOf(n.X).Underlying().(*types.Array); array {
			out = append(out, change{how: "takes the address of", expr: n.X, may: true})
		}
	case *ast.CallExpr:
		name := builtin(info, n)
		fn, _ := typeutil.Callee(info, n).(*types.Func)
		if mutates(fn) || name == "copy" || name == "clear" || name == "delete" || name == "append" && !clipped(n.Args[0]) {
			out = append(out, change{how: "changes", expr: n.Args[0], referredTo: true})
		}
		if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && fn != nil && fn.Signature().Recv() != nil {
			_, changes := fn.Signature().Recv().Type().(*types.Pointer)
			if _, pointer := info.TypeOf(sel.X).(*types.Pointer); changes && (!pointer || strings.HasPrefix(fn.Name(), "Set")) {
				sets := strings.HasPrefix(fn.Name(), "Set")
				out = append(out, change{how: "calls a method that may change", expr: sel.X, may: !sets, referredTo: sets})
			}
		}
	}
	return out
}

// mutates reports whether a function changes what its first argument refers to.
func mutates(of types.Object) bool {
	fn, ok := of.(*types.Func)
	return ok && fn != nil && fn.Pkg() != nil && slices.Contains(mutators[fn.Pkg().Path()], fn.Name())
}

// clipped reports whether a slice has no room, so that append copies it.
func clipped(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.SliceExpr:
		return e.Slice3
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Clip"
	}
	return false
}

// builtin returns the name of the builtin function that a call calls, if any.
func builtin(info *types.Info, call *ast.CallExpr) string {
	if b, ok := typeutil.Callee(info, call).(*types.Builtin); ok {
		return b.Name()
	}
	return ""
}

// rootOf returns the variable that an expression is a part of, or refers to.
func rootOf(info *types.Info, e ast.Expr) (v *types.Var, ok bool) {
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
		case *ast.UnaryExpr:
			e = x.X
		case *ast.SelectorExpr:
			if v, ok = info.Uses[x.Sel].(*types.Var); ok && !v.IsField() {
				return v, true
			}
			e = x.X
		case *ast.Ident:
			v, ok = info.ObjectOf(x).(*types.Var)
			return v, ok
		default:
			return nil, false
		}
	}
}
