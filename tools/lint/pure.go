package main

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

// pure looks in what decides for goroutines, channels, panics, output, and changes of
// package-level variables. A table that is only read is no state; one whose address is
// taken could be changed from anywhere.
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
		instructions(pass, func(fn *ssa.Function, in ssa.Instruction) {
			checkPure(pass, fn, in)
			checkState(pass, fn, in)
		})
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
		if name, _ := called(in.Common()); strings.HasPrefix(name, "print") {
			pass.Reportf(in.Pos(), "prints: a decision does no I/O")
		}
	}
}

// checkState looks at one instruction for changes of package-level variables, but for their
// initial values.
func checkState(pass *analysis.Pass, fn *ssa.Function, in ssa.Instruction) {
	to, how := written(in)
	if v := global(to, true, nil); v != nil && fn.Synthetic == "" {
		pass.Reportf(in.Pos(), "%s the package-level variable %s: nothing is remembered between two calls", how, v.Name())
	}
	switch in.(type) {
	case *ssa.UnOp, *ssa.FieldAddr, *ssa.IndexAddr:
		return // what comes of it is looked at
	}
	for _, operand := range in.Operands(nil) {
		if v := global(*operand, false, nil); v != nil && *operand != to {
			pass.Reportf(in.Pos(), "takes the address of the package-level variable %s: nothing is remembered between two calls", v.Name())
		}
	}
}

// global returns the package-level variable that an address lies in, if any; with deep also the
// one that it was reached from.
func global(v ssa.Value, deep bool, seen []ssa.Value) *ssa.Global {
	if g, ok := v.(*ssa.Global); ok || v == nil || slices.Contains(seen, v) {
		return g
	}
	of, deeper := origins(v)
	for _, o := range of {
		if g := global(o, deep, append(seen, v)); g != nil && (deep || !deeper) {
			return g
		}
	}
	return nil
}
