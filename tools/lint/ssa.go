package main

import (
	"go/token"
	"go/types"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

// ofDeciding limits an analyzer to the packages that decide, without their tests.
func ofDeciding(a *analysis.Analyzer) *analysis.Analyzer {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		name := strings.TrimSuffix(pass.Pkg.Path(), "_test")
		if !slices.ContainsFunc(deciding,
			func(d string) bool { return path.Join(mainModule, d) == name }) {
			return nil, nil
		}
		within := *pass
		within.Report = func(d analysis.Diagnostic) {
			d.Category = "" // lintcmd shows only findings in the category of their analyzer
			if !inTest(pass, d.Pos) {
				pass.Report(d)
			}
		}
		return run(&within)
	}
	return a
}

func inTest(pass *analysis.Pass, pos token.Pos) bool {
	return strings.HasSuffix(pass.Fset.Position(pos).Filename, "_test.go")
}

// instructions yields the instructions of a package except for its tests.
func instructions(pass *analysis.Pass) iter.Seq2[*ssa.Function, ssa.Instruction] {
	built := pass.ResultOf[buildssa.Analyzer].(*buildssa.SSA)
	fns := []*ssa.Function{built.Pkg.Func("init")} // which gives package-level variables their values
	for i := 0; i < len(fns); i++ {
		fns = append(fns, fns[i].AnonFuncs...)
	}
	return func(yield func(*ssa.Function, ssa.Instruction) bool) {
		for _, fn := range append(fns, built.SrcFuncs...) {
			for _, block := range fn.Blocks {
				for _, in := range block.Instrs {
					if !inTest(pass, fn.Pos()) && !yield(fn, in) {
						return
					}
				}
			}
		}
	}
}

// called returns the full name of the function that is called, or the name of a builtin; it is
// empty for a value or a method of an interface.
func called(call *ssa.CallCommon) string {
	if b, ok := call.Value.(*ssa.Builtin); ok {
		return b.Name()
	}
	if static := call.StaticCallee(); static != nil && static.Object() != nil {
		return static.Object().(*types.Func).FullName()
	}
	return ""
}

var setter = regexp.MustCompile(`\)\.Set\w*$`)

// mutates reports whether a function writes through its first argument.
func mutates(call *ssa.CallCommon) bool {
	name := called(call)
	return setter.MatchString(name) || slices.Contains(rules.Mutators, name)
}

// written returns the value that refers to the memory that an instruction changes, if it does.
func written(in ssa.Instruction) (to ssa.Value, how string) {
	switch in := in.(type) {
	case *ssa.Store:
		return in.Addr, "assigns to"
	case *ssa.MapUpdate:
		return in.Map, "assigns to"
	case ssa.CallInstruction:
		if call := in.Common(); mutates(call) && (called(call) != "append" || !clipped(call.Args[0])) {
			return call.Args[0], "changes"
		}
	}
	return nil, ""
}

// clipped reports whether a slice has no spare capacity, so that append copies it.
func clipped(v ssa.Value) bool {
	call, ok := v.(*ssa.Call)
	slice, is := v.(*ssa.Slice)
	return ok && called(&call.Call) == "slices.Clip" || is && slice.Max != nil
}
