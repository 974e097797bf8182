package main

import (
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

// inputs finds writes to objects that the caller has passed, and to package-level variables, but for
// their initial values. A function may write to a parameter only if it is named out: to what it
// refers to, but not to what that refers to. Those who call it must pass something new there; callers
// outside the module need not know that. What comes from another package is the caller's, unless the
// result is named made: then it is new, and all that it refers to. The analyzer looks at each package
// as a whole, without the order of statements: a variable or a field is as much the caller's as the
// least that is ever stored in it.
var inputs = ofDeciding(&analysis.Analyzer{
	Name:     "inputs",
	Doc:      "inputs finds writes to what the caller has passed",
	Requires: []*analysis.Analyzer{buildssa.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		o := &ownership{Pass: pass, levels: map[any]level{}, captured: map[ssa.Value]ssa.Value{}}
		for _, in := range instructions(pass) {
			if store, ok := in.(*ssa.Store); ok && o.cell(store.Addr) != nil && !isNil(store.Val) {
				o.levels[o.cell(store.Addr)] = made
			}
		}
		for o.changed = true; o.changed; {
			o.changed = false
			for fn, in := range instructions(pass) {
				o.look(fn, in)
			}
		}
		for fn, in := range instructions(pass) {
			o.check(fn, in)
		}
		return nil, nil
	},
})

// A level is how much of what a value refers to is the package's own.
type level int

const (
	given  level = iota // the caller's, or it may be
	copied              // new, but it may refer to what is the caller's
	made                // new, and all that it refers to
)

// ownership is what is known of the values of a package. A cell is a variable in memory, or a
// field of a type of the module, of all values of the type at once.
type ownership struct {
	*analysis.Pass
	levels   map[any]level           // of values, of what is in cells, and of what functions return; made if absent
	captured map[ssa.Value]ssa.Value // the variables that function literals refer to
	changed  bool
}

// look takes note of what an instruction stores and returns.
func (o *ownership) look(fn *ssa.Function, in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.Store:
		o.store(in.Addr, in.Val)
	case *ssa.MapUpdate:
		o.store(in.Map, in.Value)
	case *ssa.MakeClosure:
		for i, v := range in.Bindings {
			o.captured[in.Fn.(*ssa.Function).FreeVars[i]] = v
		}
	case *ssa.Return:
		for _, v := range in.Results {
			o.lower(fn, v.Type(), o.level(v))
		}
	}
	if v, ok := in.(ssa.Value); ok {
		o.lower(v, v.Type(), o.found(v))
	}
}

// check reports what an instruction writes to, or lets another function write to, if that is not new.
func (o *ownership) check(fn *ssa.Function, in ssa.Instruction) {
	if to, how := written(in); to != nil && o.level(to) == given && fn.Synthetic == "" {
		o.Reportf(in.Pos(), "%s what may be the caller's, or a package-level variable: copy it first", how)
	}
	results := fn.Signature.Results()
	if r, ok := in.(*ssa.Return); ok {
		for i, v := range r.Results {
			if results.At(i).Name() == "made" && o.level(v) < made {
				o.Reportf(in.Pos(), "returns as made what may be the caller's: copy it first")
			}
		}
	}
	if call, ok := in.(ssa.CallInstruction); ok {
		args, params := call.Common().Args, call.Common().Signature().Params()
		for i := range params.Len() {
			if params.At(i).Name() == "out" && o.level(args[len(args)-params.Len()+i]) == given {
				o.Reportf(in.Pos(), "passes as out what may be the caller's: copy it first")
			}
		}
	}
}

func (o *ownership) lower(key any, t types.Type, to level) {
	if l, ok := o.levels[key]; (!ok || to < l) && to < made && refers(t) {
		o.levels[key], o.changed = to, true
	}
}

// store notes that a value is stored: a cell is then no more than the value, and what holds
// another place no more than a copy.
func (o *ownership) store(to, value ssa.Value) {
	if c := o.cell(to); c != nil {
		o.lower(c, value.Type(), o.level(value))
	} else if o.level(value) < made && refers(value.Type()) {
		o.hold(to)
	}
}

// hold notes that what a value refers to holds what is the caller's.
func (o *ownership) hold(v ssa.Value) {
	if o.level(v) < made {
		return
	}
	o.lower(v, v.Type(), copied)
	of, _ := origins(v)
	for _, c := range []any{o.cell(v), o.content(v)} {
		if c != nil {
			o.lower(c, v.Type(), copied)
			of = nil
		}
	}
	for _, v := range of {
		o.hold(v)
	}
}

// cell returns the cell that has an address, nil for other memory.
func (o *ownership) cell(v ssa.Value) any {
	switch v := v.(type) {
	case *ssa.Alloc:
		return v
	case *ssa.FreeVar:
		return o.cell(o.captured[v])
	case *ssa.FieldAddr:
		return o.field(v.X, v.Field)
	}
	return nil
}

// content returns the cell that a value was in, nil for other values.
func (o *ownership) content(v ssa.Value) any {
	switch v := v.(type) {
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return o.cell(v.X)
		}
	case *ssa.Field:
		return o.field(v.X, v.Field)
	}
	return nil
}

// field returns a field of a type of the module. It is nil for other types, and for what is not
// the package's own.
func (o *ownership) field(of ssa.Value, i int) any {
	t := of.Type()
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if !strings.HasPrefix(t.String(), mainModule) || o.level(of) == given {
		return nil
	}
	return t.Underlying().(*types.Struct).Field(i).Origin()
}

// level returns the level of a value as far as it is known.
func (o *ownership) level(v ssa.Value) level {
	p, ok := v.(*ssa.Parameter)
	switch c := o.cell(v); {
	case variableAt(v) != nil:
		return given
	case c != nil:
		return max(copied, o.in(c))
	case ok && p.Name() == "out" && !refers(element(p.Type())):
		return made
	case ok && p.Name() == "out" && (!token.IsExported(p.Parent().Name()) || strings.Contains(o.Pkg.Path(), "/internal/")):
		return copied
	case ok && (api.MatchString(p.Type().String()) || strings.HasPrefix(p.Type().String(), "*") && !strings.HasPrefix(p.Type().String(), "*"+mainModule)):
		return given
	}
	return o.in(v)
}

// in returns the level of what is in a cell, or of a value. A field with an object of the API that
// the package never stores is set by callers.
func (o *ownership) in(cell any) level {
	l, ok := o.levels[cell]
	if f, field := cell.(*types.Var); field && f.Exported() && api.MatchString(f.Type().String()) && (!ok || f.Pkg() != o.Pkg) {
		return given
	} else if !ok {
		return made
	}
	return l
}

// found returns the level that follows for a value from those that it is made of.
func (o *ownership) found(v ssa.Value) level {
	if c := o.content(v); c != nil {
		return o.in(c)
	}
	if call, ok := v.(*ssa.Call); ok {
		return o.returned(call.Common())
	}
	l := made
	of, deeper := origins(v)
	for _, v := range of {
		l = min(l, o.level(v))
	}
	if deeper && l == copied {
		return given
	}
	return l
}

// clones are the functions that copy a list or a map, but not what the elements refer to.
var clones = regexp.MustCompile(`^append$|^(slices|maps)\.(Clone|Collect|Sorted|Concat)`)

// returned returns the level of what a call returns. What comes from another package is the
// caller's if it is of the API.
func (o *ownership) returned(call *ssa.CallCommon) level {
	name, _ := called(call)
	static := call.StaticCallee()
	if static != nil && static.Origin() != nil {
		static = static.Origin()
	}
	switch {
	case clones.MatchString(name):
		for _, v := range call.Args {
			if o.level(v) < made && refers(element(v.Type())) {
				return copied
			}
		}
	case slices.Contains(rules.Mutators, name):
		return o.level(call.Args[0])
	case static != nil && static.Pkg != nil && static.Pkg.Pkg == o.Pkg:
		return o.in(static)
	case !strings.HasPrefix(name, "DeepCopy"):
		for v := range call.Signature().Results().Variables() {
			if v.Name() != "made" && api.MatchString(v.Type().String()) {
				return given
			}
		}
	}
	return made
}

// element returns the type of the elements of a list or map, or of what a pointer points to; the
// type itself of others.
func element(t types.Type) types.Type {
	if e, ok := t.Underlying().(interface{ Elem() types.Type }); ok {
		return e.Elem()
	}
	return t
}

func isNil(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}

// refers reports whether a value of a type can refer to memory that can be changed.
func refers(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return false
	case *types.Array:
		return refers(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if refers(f.Type()) && !strings.HasSuffix(t.String(), "Time") {
				return true
			}
		}
		return false
	}
	return true
}

// api matches the types of the Kubernetes API, and lists, maps and pointers of them.
var api = regexp.MustCompile(`^(\*|\[\d*\]|map\[[^\]]+\])*k8s\.io/(api|apimachinery/pkg/apis)/`)
