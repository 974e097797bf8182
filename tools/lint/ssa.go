package main

import (
	"go/token"
	"go/types"
	"iter"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

// ofDeciding lets an analyzer look at the packages that decide, but not at their tests.
func ofDeciding(a *analysis.Analyzer) *analysis.Analyzer {
	of, run := *a, a.Run
	of.Run = func(pass *analysis.Pass) (any, error) {
		name := strings.TrimSuffix(pass.Pkg.Path(), "_test")
		if !slices.ContainsFunc(strings.Fields(deciding), func(d string) bool { return path.Join(mainModule, d) == name }) {
			return nil, nil
		}
		within := *pass
		within.Report = func(d analysis.Diagnostic) {
			if !inTest(pass, d.Pos) {
				pass.Report(d)
			}
		}
		return run(&within)
	}
	return &of
}

func inTest(pass *analysis.Pass, pos token.Pos) bool {
	return strings.HasSuffix(pass.Fset.Position(pos).Filename, "_test.go")
}

// instructions yields each instruction of a package, but for its tests.
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

// written returns the value that refers to the memory that an instruction changes, if it does.
func written(in ssa.Instruction) (to ssa.Value, how string) {
	switch in := in.(type) {
	case *ssa.Store:
		return in.Addr, "assigns to"
	case *ssa.MapUpdate:
		return in.Map, "assigns to"
	case ssa.CallInstruction:
		call := in.Common()
		name, fn := called(call)
		sets := fn != nil && !call.IsInvoke() && fn.Signature().Recv() != nil && strings.HasPrefix(name, "Set")
		if sets || slices.Contains(rules.Mutators, name) && (name != "append" || !clipped(call.Args[0])) {
			return call.Args[0], "changes"
		}
	}
	return nil, ""
}

// called returns the function that is called: its name, of others than methods with the package,
// and, unless it is builtin, itself. Both are empty if it is not known.
func called(call *ssa.CallCommon) (string, *types.Func) {
	if b, ok := call.Value.(*ssa.Builtin); ok {
		return b.Name(), nil
	}
	if static := call.StaticCallee(); static != nil && static.Object() != nil {
		fn := static.Object().(*types.Func)
		if fn.Signature().Recv() == nil {
			return fn.FullName(), fn
		}
		return fn.Name(), fn
	}
	return "", nil
}

// clipped reports whether a slice has no room, so that append copies it.
func clipped(v ssa.Value) bool {
	if call, ok := v.(*ssa.Call); ok {
		name, _ := called(call.Common())
		return name == "slices.Clip"
	}
	slice, ok := v.(*ssa.Slice)
	return ok && slice.Max != nil
}

// origins returns the values that a value is made of without a copy: it refers to their memory, or,
// if deeper, to what that refers to.
func origins(v ssa.Value) (of []ssa.Value, deeper bool) {
	switch v := v.(type) {
	case *ssa.Call:
		if name, _ := called(v.Common()); slices.Contains(rules.Mutators, name) {
			of = v.Call.Args[:1]
		}
		return of, false
	case *ssa.MakeClosure:
		return nil, false
	case *ssa.UnOp, *ssa.Field, *ssa.Lookup, *ssa.Index, *ssa.Next:
		deeper = true
	}
	if in, ok := v.(ssa.Instruction); ok {
		for _, operand := range in.Operands(nil) {
			if *operand != nil && refers((*operand).Type()) {
				of = append(of, *operand)
			}
		}
	}
	return of, deeper
}
