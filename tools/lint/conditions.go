package main

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// conditions finds statements that change something in the header of an if, and those before the cases of a switch
// without a tag: a reader who looks for what happens does not look there.
var conditions = ofDeciding(&analysis.Analyzer{
	Name:     "conditions",
	Doc:      "conditions finds statements in the headers of if and switch",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		headers := []ast.Node{(*ast.IfStmt)(nil), (*ast.SwitchStmt)(nil)}
		pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Preorder(headers, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.IfStmt:
				if a, ok := n.Init.(*ast.AssignStmt); n.Init != nil && (!ok || a.Tok != token.DEFINE) {
					pass.Reportf(n.Pos(), "hides a statement in a condition: write it before")
				}
			case *ast.SwitchStmt:
				if n.Init != nil && n.Tag == nil {
					pass.Reportf(n.Pos(), "begins a switch without a tag with a statement: write it before")
				}
			}
		})
		return nil, nil
	},
})
