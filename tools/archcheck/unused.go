package main

import (
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// unusedArrow is the rule of checkUnused.
const unusedArrow = "unused arrow"

// checkUnused warns of an arrow that the table of layers permits to one package and
// that no file of the package uses: the table should say what is so. A row for many
// packages permits what some of them need.
func (r *repository) checkUnused(out *findings) {
	for _, l := range layers {
		used := r.importsOf(l.dir)
		if strings.HasSuffix(l.dir, "/...") || used == nil {
			continue
		}
		for _, arrow := range l.may {
			if arrow != k8s && !slices.ContainsFunc(used, func(path string) bool { return fits(path, arrow) }) {
				out.add(token.Position{Filename: "tools/archcheck/rules.go", Line: 1}, unusedArrow,
					"%s may import %s, and does not", l.dir, arrow)
				(*out)[len(*out)-1].warning = true
			}
		}
	}
}

// importsOf returns what the files of a package import, tests aside: of the main
// module by folder. Nil: there is no such package.
func (r *repository) importsOf(dir string) (used []string) {
	for _, f := range r.files {
		if f.module != "." || f.test || f.dir != dir {
			continue
		}
		used = append(used, "") // there is a package, even if it imports nothing
		for _, spec := range f.tree.Imports {
			path, _ := strconv.Unquote(spec.Path.Value) // the parser has seen to it
			if in, ok := inModule(path); ok {
				path = in
			}
			used = append(used, path)
		}
	}
	return used
}
