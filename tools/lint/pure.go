package main

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

// pure finds goroutines, channels, panics and output in the packages that decide. Only Must
// functions may panic. The analyzer inputs finds state: writes to package-level variables.
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
			switch in := in.(type) {
			case *ssa.Go, *ssa.Select:
				pass.Reportf(in.Pos(), "starts a goroutine or waits: nothing is shared and nothing waits")
			case *ssa.Panic:
				if in.Pos().IsValid() && !strings.HasPrefix(fn.Name(), "Must") {
					pass.Reportf(in.Pos(), "panics, and is no Must function: nothing panics on any input")
				}
			case *ssa.Call:
				if strings.HasPrefix(called(in.Common()), "print") {
					pass.Reportf(in.Pos(), "prints: a decision does no I/O")
				}
			}
		}
		return nil, nil
	},
})
