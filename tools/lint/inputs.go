package main

import (
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

// inputs finds writes to memory that may be the caller's, and to package-level variables after
// their initialization. It computes which memory each value of a package may refer to, ignoring the
// order of statements. The memory of the caller is
//   - what a parameter refers to, unless its type is one of the module, or asserted to be one. If it
//     is named out, the function may write to the memory it refers to, but no further. Callers must
//     pass something new, so an exported function of a public package has no such parameter;
//   - what another package of the module returns, unless its type is one of the module;
//   - what an exported field refers to that only other packages set.
var inputs = ofDeciding(&analysis.Analyzer{
	Name:     "inputs",
	Doc:      "inputs finds writes to what the caller has passed",
	Requires: []*analysis.Analyzer{buildssa.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		m := &memory{Pass: pass, sets: map[any]places{in{given{}}: {given{}: true}}, stored: places{}}
		for _, i := range instructions(pass) {
			if store, ok := i.(*ssa.Store); ok {
				a, ok := store.Addr.(*ssa.FieldAddr)
				if _, isNil := store.Val.(*ssa.Const); ok && !isNil {
					m.stored[field(a.X, a.Field)] = true
				}
			}
		}
		for m.changed = true; m.changed; {
			m.changed = false
			for fn, in := range instructions(pass) {
				m.note(fn, in)
			}
		}
		for fn, in := range instructions(pass) {
			m.check(fn, in)
		}
		return nil, nil
	},
})

// A place is some memory: the value that allocates it, a parameter named out, a field of a type of
// the module (*types.Var) in all values of the type at once, or given: all memory of the caller.
type place any

type given struct{}

type places map[place]bool

var theirs = places{given{}: true}

// memory holds the facts about a package so far.
type memory struct {
	*analysis.Pass
	// sets has the places that values refer to, also those that functions return
	// (*ssa.Function), and those that are referred to in a place (in).
	sets    map[any]places
	stored  places // the fields to which the package assigns
	changed bool
}

// in is the key of what is in a place.
type in struct{ place }

func (m *memory) add(to any, more places) {
	if m.sets[to] == nil {
		m.sets[to] = places{}
	}
	before := len(m.sets[to])
	maps.Copy(m.sets[to], more)
	m.changed = m.changed || len(m.sets[to]) > before
}

// note records what an instruction stores, returns or results in.
func (m *memory) note(fn *ssa.Function, i ssa.Instruction) {
	switch i := i.(type) {
	case *ssa.Store:
		m.store(i.Addr, m.of(i.Val))
	case *ssa.MapUpdate:
		m.store(i.Map, m.of(i.Value))
	case *ssa.MakeClosure:
		for n, v := range i.Bindings {
			m.add(i.Fn.(*ssa.Function).FreeVars[n], m.of(v))
		}
	case *ssa.Return:
		for _, v := range i.Results {
			m.add(fn, m.of(v))
		}
	case ssa.CallInstruction:
		if call := i.Common(); mutates(call) {
			for _, v := range call.Args[1:] {
				m.store(call.Args[0], m.within(m.of(v)))
			}
		}
	}
	if v, ok := i.(ssa.Value); ok {
		m.add(v, m.found(v))
	}
}

func (m *memory) store(to ssa.Value, what places) {
	for p := range m.of(to) {
		m.add(in{p}, what)
	}
}

// of returns the places that a value may refer to; none if it cannot refer to the caller's.
func (m *memory) of(v ssa.Value) places {
	if _, basic := v.Type().Underlying().(*types.Basic); basic {
		return nil
	}
	p, ok := v.(*ssa.Parameter)
	_, global := v.(*ssa.Global)
	switch {
	case ok && p.Name() == "out" && (!token.IsExported(p.Parent().Name()) ||
		strings.Contains(m.Pkg.Path(), "/internal/")):
		m.add(in{v}, theirs)
		return places{v: true}
	case global, ok && !ofModule(v.Type()):
		return theirs
	}
	return m.sets[v]
}

// within returns the places that are referred to in some places.
func (m *memory) within(some places) places {
	all := places{}
	for p := range some {
		maps.Copy(all, m.sets[in{p}])
	}
	return all
}

// found returns the places that a value refers to, given those that its operands refer to.
func (m *memory) found(v ssa.Value) places {
	all := places{}
	for _, operand := range v.(ssa.Instruction).Operands(nil) {
		if *operand != nil {
			maps.Copy(all, m.of(*operand))
		}
	}
	switch v := v.(type) {
	case *ssa.Alloc, *ssa.MakeMap, *ssa.MakeSlice:
		return places{v: true}
	case *ssa.MakeClosure:
		return nil
	case *ssa.FieldAddr:
		if f := field(v.X, v.Field); f != nil && !all[given{}] {
			m.fill(f)
			return places{f: true}
		}
	case *ssa.Field:
		if f := field(v.X, v.Field); f != nil {
			m.fill(f)
			return m.within(places{f: true})
		}
	case *ssa.TypeAssert:
		if _, ok := v.X.(*ssa.Parameter); ok && ofModule(v.AssertedType) {
			return nil
		}
	case *ssa.UnOp, *ssa.Lookup, *ssa.Next:
		return m.within(all)
	case *ssa.Call:
		if _, several := v.Type().(*types.Tuple); several || !ofModule(v.Type()) {
			return m.returned(v, all)
		}
		return nil
	case *ssa.Extract:
		if _, ok := v.Tuple.(*ssa.Call); ok && ofModule(v.Type()) {
			return nil
		}
	}
	return all
}

// field returns a field of a type of the module; nil for other types.
func field(v ssa.Value, i int) *types.Var {
	t := v.Type()
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if !ofModule(t) {
		return nil
	}
	return t.Underlying().(*types.Struct).Field(i).Origin()
}

// fill records that a field that only callers set may hold the caller's memory.
func (m *memory) fill(f *types.Var) {
	if f.Exported() && !ofModule(f.Type()) && (f.Pkg() != m.Pkg || !m.stored[f]) {
		m.add(in{f}, theirs)
	}
}

var (
	// copies matches the functions whose result is new, but refers to what the arguments refer to.
	copies = regexp.MustCompile(`^append$|^(slices|maps)\.(Clone|Collect|Sorted|Concat)`)
	// fresh matches the functions whose result is new, and all that it refers to.
	fresh = regexp.MustCompile(`\)\.DeepCopy\w*$|/validation\.`)
)

// returned returns the places that a call returns, given those that its arguments refer to.
func (m *memory) returned(v *ssa.Call, args places) places {
	name, static := called(&v.Call), v.Call.StaticCallee()
	if static != nil && static.Origin() != nil {
		static = static.Origin()
	}
	switch {
	case copies.MatchString(name):
		m.add(in{v}, m.within(args))
		all := places{v: true}
		if name == "append" {
			maps.Copy(all, m.of(v.Call.Args[0]))
		}
		return all
	case fresh.MatchString(name):
		return nil
	case mutates(&v.Call):
		return m.of(v.Call.Args[0])
	case static != nil && static.Pkg != nil && static.Pkg.Pkg == m.Pkg:
		return m.sets[static]
	case name == "", strings.Contains(name, mainModule):
		return theirs
	}
	all := places{}
	for _, arg := range v.Call.Args {
		if some := m.of(arg); types.Identical(arg.Type(), v.Type()) {
			maps.Copy(all, some)
		} else {
			maps.Copy(all, m.within(some))
		}
	}
	return all
}

// check reports a write to the caller's memory, and what lets another function write to it.
func (m *memory) check(fn *ssa.Function, i ssa.Instruction) {
	if to, how := written(i); to != nil && m.of(to)[given{}] && fn.Synthetic == "" {
		m.Reportf(i.Pos(), "%s what may be the caller's, or a package-level variable: copy it first", how)
	}
	_, closure := i.(*ssa.MakeClosure)
	call, ok := i.(ssa.CallInstruction)
	if ok {
		args, params := call.Common().Args, call.Common().Signature().Params()
		for n, v := range args[len(args)-params.Len():] {
			if params.At(n).Name() == "out" && m.of(v)[given{}] {
				m.Reportf(i.Pos(), "passes as out what may be the caller's: copy it first")
			}
		}
	}
	for _, v := range i.Operands(nil) {
		if (ok || closure) && *v != nil && strings.HasPrefix((*v).Type().String(), "*"+mainModule) &&
			m.of(*v)[given{}] {
			m.Reportf(i.Pos(), "passes the address of what may be a package-level variable: nothing is "+
				"remembered between two calls")
		}
	}
}

// ofModule reports whether a type is one of the module, or of lists, maps or pointers of them.
func ofModule(t types.Type) bool {
	return strings.Contains(t.String(), mainModule)
}
