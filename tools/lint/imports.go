package main

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
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

// imports returns the settings of depguard: a list for each layer, whose name is in findings.
func imports(root string) *depguard.LinterSettings {
	lists := depguard.LinterSettings{
		"dependencies of tests": {ListMode: "strict", Files: []string{"$test"}, Allow: allowed("./... k8s gocmp rapid yaml")},
	}
	others := []string{"!$test"} // files of the layers so far
	for _, l := range layers {
		files := path.Join(root, strings.Replace(l.dir+"/*.go", "/.../*", "/**", 1))
		lists[l.dir+": "+l.why] = &depguard.List{ListMode: "strict", Files: append(slices.Clone(others), files), Allow: allowed(l.may)}
		others = append(others, "!"+files)
	}
	lists["packages without a layer"] = &depguard.List{ListMode: "strict", Files: append(others, root+"/**.go"), Allow: []string{"none$"}}
	pure := &depguard.List{ListMode: "lax", Deny: bannedImports}
	for _, dir := range strings.Fields(deciding) {
		pure.Files = append(pure.Files, path.Join(root, dir, "*.go"))
	}
	pure.Files = append(pure.Files, "!$test")
	lists["pure"] = pure
	return &lists
}

// allowed returns the entries of depguard for what a layer may import.
func allowed(may string) []string {
	out := []string{"$gostd"}
	for _, name := range strings.Fields(may) {
		if group := groups[name]; group != "" {
			out = append(out, allowed(group)...)
			continue
		}
		if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first[1:], ".") {
			name = path.Join(mainModule, name)
		}
		top, below := strings.CutSuffix(name, "/...")
		if out = append(out, top+"$"); below {
			out = append(out, top+"/")
		}
	}
	return out
}

// forbidden has forbidigo look for the banned names in what decides.
func forbidden() *analysis.Analyzer {
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
	return ofDeciding(f)
}
