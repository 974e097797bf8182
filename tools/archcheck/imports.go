package main

import (
	"go/token"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// within reports whether a path is the other or lies below it.
func within(path, top string) bool { return path == top || strings.HasPrefix(path, top+"/") }

// fits reports whether a path fits a pattern, which may end in /....
func fits(path, pattern string) bool {
	if top, ok := strings.CutSuffix(pattern, "/..."); ok {
		return within(path, top)
	}
	return path == pattern
}

// anyFits reports whether a path fits one of the patterns.
func anyFits(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(path, p) })
}

// standard reports whether an import is of the standard library, whose paths
// have no dot in the first element.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// inModule returns the folder of a package of the main module.
func inModule(path string) (dir string, ok bool) {
	if path == mainModule {
		return ".", true
	}
	return strings.CutPrefix(path, mainModule+"/")
}

// checkModule holds the requirements of the main module against dependencies.
func (r *repository) checkModule(out *findings) {
	const rule = "dependencies"
	mod, err := modfile.Parse("go.mod", r.goMod, nil)
	if err != nil {
		out.add(token.Position{Filename: "go.mod", Line: 1}, rule, "%v", err)
		return
	}
	required := map[string]bool{}
	for _, q := range mod.Require {
		required[q.Mod.Path] = !q.Indirect
		if !q.Indirect && !slices.Contains(dependencies, q.Mod.Path) {
			out.add(token.Position{Filename: "go.mod", Line: q.Syntax.Start.Line}, rule,
				"%s is required; what needs it belongs into a nested module", q.Mod.Path)
		}
	}
	for _, d := range dependencies {
		if !required[d] {
			out.add(token.Position{Filename: "go.mod", Line: 1}, rule, "%s is not a direct requirement", d)
		}
	}
}

// checkImports holds the imports of a file of the main module against the layers
// and the dependencies. Tests may import whatever the module requires.
func (r *repository) checkImports(f *sourceFile, out *findings) {
	i := slices.IndexFunc(layers, func(l layer) bool { return fits(f.dir, l.dir) })
	if i < 0 && !f.test {
		out.add(f.at(f.tree.Package), "layers", "%s has no row in the table of layers; add one", f.dir)
		return
	}
	for _, spec := range f.tree.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has seen to it
		if standard(path) {
			continue
		}
		checkDependency(f, spec.Pos(), path, out)
		if f.test {
			continue
		}
		name := path
		if dir, ok := inModule(path); ok {
			name = dir
		}
		if !anyFits(name, layers[i].may) {
			out.add(f.at(spec.Pos()), "layers", "%s may not import %s: %s", f.dir, path, layers[i].why)
		}
	}
}

// checkDependency sees to it that an import comes from the module or from one
// that it requires.
func checkDependency(f *sourceFile, pos token.Pos, path string, out *findings) {
	if _, ok := inModule(path); ok {
		return
	}
	if !slices.ContainsFunc(dependencies, func(d string) bool { return within(path, d) }) {
		out.add(f.at(pos), "dependencies", "%s belongs to no module that may be required", path)
	}
}
