package main

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// inputs finds writes to objects that the caller has passed. It looks at each package that
// decides as a whole, without the order of statements: a variable or a field is as much
// the caller's as the least that is ever stored in it. A function that writes to a
// parameter is no finding in itself, unless callers outside the module can call it: its
// arguments must then be made by those who call it, which is a fact about the function.
var inputs = &analysis.Analyzer{
	Name:      "inputs",
	Doc:       "inputs finds writes to what the caller has passed",
	FactTypes: []analysis.Fact{new(needs)},
	Run: func(pass *analysis.Pass) (any, error) {
		if decides(pass) {
			(&ownership{Pass: pass, levels: map[*types.Var]level{}, origin: map[*types.Var]*types.Var{}, fns: map[*types.Func]*needs{}}).check()
		}
		return nil, nil
	},
}

// A level is how much of what a value refers to is the package's own.
type level int

const (
	given  level = iota // the caller's, or it may be
	copied              // new, but it may refer to what is the caller's
	made                // new, and all that it refers to
)

// needs are the levels that the arguments of a function need, since it writes to them, and
// the level of its results.
type needs struct {
	Params []level
	Result level
}

// AFact makes needs a fact.
func (*needs) AFact() {}

// ownership is what is known of the variables, fields and functions of a package.
type ownership struct {
	*analysis.Pass
	levels  map[*types.Var]level
	origin  map[*types.Var]*types.Var // of variables that hold parts of a parameter
	fns     map[*types.Func]*needs
	fn      *types.Func // the one that is looked at
	changed bool
	report  bool
}

// check goes through the package until nothing new is found, and then reports.
func (o *ownership) check() {
	for o.changed = true; !o.report; {
		o.changed, o.report = false, !o.changed
		for _, f := range sources(o.Pass) {
			ast.Inspect(f, o.look)
		}
	}
	for fn, n := range o.fns {
		o.ExportObjectFact(fn, n)
		for i, need := range n.Params {
			if need > given && fn.Exported() && !strings.Contains(o.Pkg.Path(), "/internal/") {
				o.Reportf(fn.Pos(), "%s writes to its parameter %s", fn.Name(), fn.Signature().Params().At(i).Name())
			}
		}
	}
}

// look takes note of what a node stores and returns, and of what it writes to.
func (o *ownership) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		o.fn = o.TypesInfo.Defs[n.Name].(*types.Func)
		if o.fns[o.fn] == nil {
			o.fns[o.fn] = &needs{Params: make([]level, o.fn.Signature().Params().Len()), Result: made}
		}
	case *ast.FuncType:
		for _, field := range n.Params.List {
			for _, name := range field.Names {
				o.param(o.TypesInfo.Defs[name].(*types.Var))
			}
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			o.store(to, n.Rhs[min(i, len(n.Rhs)-1)])
		}
	case *ast.ValueSpec:
		for i, value := range n.Values {
			o.store(n.Names[i], value)
		}
	case *ast.RangeStmt:
		if v, ok := rootOf(o.TypesInfo, n.Value); ok {
			o.lower(v, o.part(n.X, v.Type()))
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok {
			if v, ok := o.TypesInfo.Uses[key].(*types.Var); ok && v.IsField() && v.Pkg() == o.Pkg {
				o.lower(v.Origin(), o.level(n.Value))
			}
		}
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			if l, f := o.level(e), o.fns[o.fn]; l < f.Result && refers(o.TypesInfo.TypeOf(e)) {
				f.Result, o.changed = l, true
			}
		}
	case *ast.CallExpr:
		for i, need := range o.needs(n).Params {
			if need > given && i < len(n.Args) {
				o.write(n.Args[i], need, "passes to a function that writes to it")
			}
		}
	}
	for _, c := range changes(o.TypesInfo, n) {
		written := c.expr
		if !c.referredTo {
			written = o.base(c.expr)
		}
		if written != nil && !c.may && !ofModule(o.TypesInfo.TypeOf(written)) {
			o.write(written, copied, c.how+" part of")
		}
	}
	return true
}

// param notes a parameter: objects of the API that it refers to are the caller's, and what
// it points to, but for types of the module.
func (o *ownership) param(v *types.Var) {
	_, points := v.Type().(*types.Pointer)
	if holdsAPI(v.Type()) || points && !ofModule(v.Type()) {
		o.origin[v] = v
		o.lower(v, given)
	}
}

func (o *ownership) lower(v *types.Var, to level) {
	if l, ok := o.levels[v]; (!ok || to < l) && refers(v.Type()) {
		o.levels[v], o.changed = to, true
	}
}

// store notes that a value is stored: a variable or a field of the package is then no more
// than the value; what holds another field is no more than a copy.
func (o *ownership) store(to, value ast.Expr) {
	l := o.level(value)
	if o.TypesInfo.Types[value].IsNil() {
		return
	}
	if sel, ok := to.(*ast.SelectorExpr); ok {
		if v, ok := o.TypesInfo.Uses[sel.Sel].(*types.Var); ok && v.Pkg() == o.Pkg {
			o.lower(v.Origin(), l)
			return
		}
	}
	v, ok := rootOf(o.TypesInfo, to)
	if _, whole := to.(*ast.Ident); ok && whole {
		o.lower(v, l)
		if from, ok := rootOf(o.TypesInfo, value); ok && o.origin[from] != nil {
			o.origin[v] = o.origin[from]
		}
	} else if ok && l < made && refers(o.TypesInfo.TypeOf(to)) && o.of(v) == made {
		o.lower(v, copied)
	}
}

// needs returns what is known of the function that a call calls.
func (o *ownership) needs(call *ast.CallExpr) (n needs) {
	fn := typeutil.StaticCallee(o.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil {
		return n
	}
	if n := o.fns[fn.Origin()]; n != nil {
		return *n
	}
	switch name := fn.Name(); {
	case o.ImportObjectFact(fn.Origin(), &n):
	case clones.MatchString(name) && refers(element(o.TypesInfo.TypeOf(call))):
		n.Result = copied
	case fn.Pkg() == o.Pkg || clones.MatchString(name) || strings.HasPrefix(name, "DeepCopy") || !holdsAPI(fn.Signature().Results()):
		n.Result = made
	}
	return n
}

// clones are the functions of slices and maps that copy.
var clones = regexp.MustCompile(`^(Clone|Collect|Sorted|Concat)`)

// write reports a write to what an expression refers to, unless that is new, or a
// parameter: then it is a fact about the function.
func (o *ownership) write(e ast.Expr, need level, how string) {
	if o.level(e) >= need {
		return
	}
	if _, whole := ast.Unparen(e).(*ast.Ident); !whole {
		need = made
	}
	if v, ok := rootOf(o.TypesInfo, e); ok && o.origin[v] != nil {
		for i := range o.fns[o.fn].Params {
			if n := o.fns[o.fn]; o.fn.Signature().Params().At(i) == o.origin[v] {
				o.changed = o.changed || need > n.Params[i]
				n.Params[i] = max(need, n.Params[i])
				return
			}
		}
	}
	if o.report {
		o.Reportf(e.Pos(), "%s %s, which may be the caller's: copy it first", how, types.ExprString(e))
	}
}

// base returns the expression whose value refers to the memory that another is in; nil if
// that is in a variable itself.
func (o *ownership) base(e ast.Expr) ast.Expr {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.StarExpr:
			return x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		default:
			return nil
		}
		switch o.TypesInfo.TypeOf(e).Underlying().(type) {
		case *types.Pointer, *types.Slice, *types.Map:
			return e
		}
	}
}

// level returns the level of the value of an expression.
func (o *ownership) level(e ast.Expr) level {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v, ok := o.TypesInfo.ObjectOf(x).(*types.Var); ok {
			return o.of(v)
		}
	case *ast.SelectorExpr:
		if v, ok := o.TypesInfo.Uses[x.Sel].(*types.Var); ok && v.IsField() && !ofModule(o.TypesInfo.TypeOf(x.X)) {
			return o.part(x.X, v.Type())
		} else if ok {
			return o.of(v.Origin())
		}
	case *ast.IndexExpr:
		if o.TypesInfo.Types[x.X].IsValue() {
			return o.part(x.X, o.TypesInfo.TypeOf(x))
		}
	case *ast.StarExpr:
		return o.part(x.X, o.TypesInfo.TypeOf(x))
	case *ast.SliceExpr:
		return o.level(x.X)
	case *ast.TypeAssertExpr:
		return o.level(x.X)
	case *ast.UnaryExpr:
		if b := o.base(x.X); b != nil {
			return o.level(b)
		}
		return max(copied, o.level(x.X))
	case *ast.CompositeLit:
		return o.holding(x.Elts)
	case *ast.CallExpr:
		switch name := builtin(o.TypesInfo, x); {
		case o.TypesInfo.Types[x.Fun].IsType() || mutates(typeutil.Callee(o.TypesInfo, x)):
			return o.level(x.Args[0])
		case name == "":
			return o.needs(x).Result
		case name == "append":
			return o.holding(x.Args)
		}
	}
	return made
}

// of returns the level of a variable or a field of the module. A field with an object of the
// API that the package never stores is set by callers.
func (o *ownership) of(v *types.Var) level {
	if l, ok := o.levels[v]; ok {
		return l
	}
	if v.IsField() && v.Exported() && holdsAPI(v.Type()) {
		return given
	}
	return made
}

// part returns the level of a part of a value: what a copy refers to is the caller's, if
// it is of the API.
func (o *ownership) part(of ast.Expr, t types.Type) level {
	switch l := o.level(of); {
	case l != copied || !refers(t):
		return l
	case holdsAPI(t) || holdsAPI(o.TypesInfo.TypeOf(of)):
		return given
	}
	return made
}

// holding returns the level of a new value that holds others.
func (o *ownership) holding(values []ast.Expr) level {
	for _, e := range values {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		if o.level(e) < made && refers(o.TypesInfo.TypeOf(e)) {
			return copied
		}
	}
	return made
}

// element returns the type of the elements of a list or map; the type itself of others.
func element(t types.Type) types.Type {
	if e, ok := t.Underlying().(interface{ Elem() types.Type }); ok {
		return e.Elem()
	}
	return t
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

var apis = regexp.MustCompile(`^k8s.io/(api/|apimachinery/pkg/apis/)`)

// holdsAPI reports whether a value refers to objects of the Kubernetes API.
func holdsAPI(t types.Type) bool {
	switch u := types.Unalias(t).(type) {
	case *types.Named:
		return u.Obj().Pkg() != nil && apis.MatchString(u.Obj().Pkg().Path()) && refers(t)
	case *types.Tuple:
		for v := range u.Variables() {
			if holdsAPI(v.Type()) {
				return true
			}
		}
		return false
	}
	e, ok := t.Underlying().(interface{ Elem() types.Type })
	return ok && holdsAPI(e.Elem())
}

// ofModule reports whether a type, or what it points to, is a type of the main module.
func ofModule(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && strings.HasPrefix(n.Obj().Pkg().Path(), mainModule)
}
