package main

import (
	_ "embed"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/OpenPeeDeeP/depguard/v2"
	"github.com/ashanbrown/forbidigo/v2/pkg/analyzer"
	"golang.org/x/tools/go/analysis"
)

// deciding.txt has the folders of the packages that decide, or keep what a decision
// needs: pure functions of their arguments. .ci/run and the Makefile read it as well.
//
//go:embed deciding.txt
var deciding string

// folder returns the folder of a package of the main module; its tests are in it as well.
func folder(pass *analysis.Pass) string {
	name := strings.TrimSuffix(pass.Pkg.Path(), "_test")
	return path.Clean(strings.TrimPrefix(strings.TrimPrefix(name, mainModule), "/"))
}

// decides reports whether a package is pure.
func decides(pass *analysis.Pass) bool {
	return slices.ContainsFunc(strings.Fields(deciding), func(d string) bool { return path.Clean(d) == folder(pass) })
}

// sources returns the files that are no tests.
func sources(pass *analysis.Pass) []*ast.File {
	return slices.DeleteFunc(slices.Clone(pass.Files), func(f *ast.File) bool {
		return strings.HasSuffix(pass.Fset.File(f.Pos()).Name(), "_test.go")
	})
}

// imports has depguard hold the imports of a package against its row of layers.
var imports = &analysis.Analyzer{
	Name: "imports",
	Doc:  "imports holds the imports of a package against its layer",
	Run: func(pass *analysis.Pass) (any, error) {
		dir, files := folder(pass), sources(pass)
		if strings.HasSuffix(pass.Pkg.Path(), ".test") {
			return nil, nil // the main package that go test generates
		}
		i := slices.IndexFunc(layers, func(l layer) bool { return fits(dir, l.dir) })
		if i < 0 {
			if len(files) > 0 {
				pass.Reportf(files[0].Package, "%s has no row in the table of layers: add one", dir)
			}
			return nil, nil
		}
		for _, arrow := range layers[i].unused(files) {
			pass.Reportf(files[0].Package, "%s may import %s, and does not: correct its layer", dir, arrow)
		}
		guard, err := depguard.NewAnalyzer(layers[i].lists(decides(pass)))
		if err != nil {
			return nil, err
		}
		return guard.Run(pass)
	},
}

// fits reports whether a folder or import fits a pattern, which may end in /....
func fits(name, pattern string) bool {
	top, below := strings.CutSuffix(pattern, "/...")
	return name == top || below && strings.HasPrefix(name, top+"/")
}

// imported returns the import path of an entry of the table of layers.
func imported(arrow string) string {
	if first, _, _ := strings.Cut(arrow, "/"); strings.Contains(first[1:], ".") {
		return arrow
	}
	return path.Join(mainModule, arrow)
}

// lists returns the lists of depguard for a layer and its tests; the names of lists are in findings.
func (l layer) lists(pure bool) *depguard.LinterSettings {
	allow := func(arrows []string) []string {
		out := []string{"$gostd"}
		if slices.Contains(arrows, k8s) {
			arrows = append([]string{"k8s.io/api/...", "k8s.io/apimachinery/..."}, arrows...)
		}
		for _, arrow := range arrows {
			if arrow == k8s {
				continue
			}
			top, below := strings.CutSuffix(imported(arrow), "/...")
			if out = append(out, top+"$"); below {
				out = append(out, top+"/")
			}
		}
		return out
	}
	tests := []string{"./..."}
	for _, d := range dependencies {
		tests = append(tests, d, d+"/...")
	}
	lists := depguard.LinterSettings{
		fmt.Sprintf("%s: %s", l.dir, l.why): {ListMode: "strict", Files: []string{"!$test"}, Allow: allow(l.may)},
		"dependencies of tests":             {ListMode: "strict", Files: []string{"$test"}, Allow: allow(tests)},
	}
	if pure {
		lists["pure"] = &depguard.List{ListMode: "lax", Files: []string{"!$test"}, Deny: bannedImports}
	}
	return &lists
}

// unused returns the arrows of a layer that no file of its package uses: the table should
// say what is so. A row for many packages permits what some of them need.
func (l layer) unused(files []*ast.File) (out []string) {
	if strings.HasSuffix(l.dir, "/...") || len(files) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, f := range files {
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			for _, arrow := range l.may {
				used[arrow] = used[arrow] || fits(name, imported(arrow))
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(l.may), func(arrow string) bool { return used[arrow] || arrow == k8s })
}

// forbidden has forbidigo look for the banned names in what decides.
var forbidden = func() *analysis.Analyzer {
	f := analyzer.NewAnalyzer()
	settings := [][2]string{{"analyze_types", "true"}, {"permit", "false"}}
	for _, b := range bannedNames {
		settings = append(settings, [2]string{"p", fmt.Sprintf(`{p: '^\w+\.(%s)$', pkg: '^%s$', msg: '%s'}`, b.names, b.path, b.why)})
	}
	for _, s := range settings {
		if err := f.Flags.Set(s[0], s[1]); err != nil {
			panic(err)
		}
	}
	find := f.Run
	f.Run = func(pass *analysis.Pass) (any, error) {
		if !decides(pass) {
			return nil, nil
		}
		of := *pass
		of.Files = sources(pass)
		return find(&of)
	}
	return f
}()
