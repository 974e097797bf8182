package main

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

// pure looks in what decides for goroutines, channels, panics, output, and for addresses of
// package-level variables: they could be changed from anywhere. A table that is only read is no
// state; inputs looks for writes to it.
var pure = ofDeciding(&analysis.Analyzer{
	Name:     "pure",
	Doc:      "pure finds what a decision may not do",
	Requires: []*analysis.Analyzer{buildssa.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		for e, t := range pass.TypesInfo.Types {
			if _, ok := t.Type.Underlying().(*types.Chan); ok {
				pass.Reportf(e.Pos(), "uses a channel: nothing is shared and nothing waits")
			}
		}
		for fn, in := range instructions(pass) {
			checkPure(pass, fn, in)
		}
		return nil, nil
	},
})

// checkPure looks at one instruction; Must functions may panic.
func checkPure(pass *analysis.Pass, fn *ssa.Function, in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.Go:
		pass.Reportf(in.Pos(), "starts a goroutine: nothing is shared and nothing waits")
	case *ssa.Select:
		pass.Reportf(in.Pos(), "uses a channel: nothing is shared and nothing waits")
	case *ssa.Panic:
		if in.Pos().IsValid() && !strings.HasPrefix(fn.Name(), "Must") {
			pass.Reportf(in.Pos(), "panics, and is no Must function: nothing panics on any input")
		}
	case *ssa.Call:
		if strings.HasPrefix(called(in.Common()), "print") {
			pass.Reportf(in.Pos(), "prints: a decision does no I/O")
		}
	case *ssa.UnOp, *ssa.FieldAddr, *ssa.IndexAddr:
		return // a read, or an address whose use is looked at
	}
	to, _ := written(in)
	for _, operand := range in.Operands(nil) {
		if v := variableAt(*operand); v != nil && *operand != to {
			pass.Reportf(in.Pos(), "takes the address of the package-level variable %s: nothing is remembered between two calls", v.Name())
		}
	}
}

// variableAt returns the package-level variable that an address lies in, if any.
func variableAt(address ssa.Value) *ssa.Global {
	switch v := address.(type) {
	case *ssa.Global:
		return v
	case *ssa.FieldAddr:
		return variableAt(v.X)
	case *ssa.IndexAddr:
		return variableAt(v.X)
	}
	return nil
}
