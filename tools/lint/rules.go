package main

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/OpenPeeDeeP/depguard/v2"
	"github.com/ashanbrown/forbidigo/v2/pkg/analyzer"
	"golang.org/x/tools/go/analysis"
)

// mainModule is the path of the main module.
const mainModule = "github.com/jobfate/jobfate"

// deciding.txt has the folders of the packages that decide, or keep what a decision
// needs: pure functions of their arguments. .ci/run and the Makefile read it as well.
//
//go:embed deciding.txt
var decidingText string

//go:embed rules.toml
var rulesText string

// rules is the content of rules.toml.
var rules = func() (out struct {
	Layers, Names           [][3]string
	Modules, Pure, Mutators []string
	Groups, Banned          map[string]string
}) {
	must(toml.Decode(rulesText, &out))
	return out
}()

// deciding has the folders of deciding.txt, and of the packages of other modules that are as pure.
var deciding = append(strings.Fields(decidingText), rules.Pure...)

// imports is depguard with a list for each layer, whose name is in findings.
func imports(root string) *analysis.Analyzer {
	lists := depguard.LinterSettings{
		"dependencies of tests": {Files: []string{"$test"},
			Allow: allowed("~ ~/ k8s operator gocmp rapid datadriven jsonschema yaml")},
		"pure": {Deny: rules.Banned},
	}
	for _, dir := range deciding {
		lists["pure"].Files = append(lists["pure"].Files, path.Join(root, dir, "*.go"))
	}
	others := []string{"!$test"} // files of the layers so far
	lists["pure"].Files = append(lists["pure"].Files, others...)
	for _, layer := range rules.Layers {
		dir, may, why := layer[0], layer[1], layer[2]
		files := path.Join(root, strings.Replace(dir+"/*.go", "/.../*", "/**", 1))
		lists[dir+": "+why] = &depguard.List{Files: append(slices.Clone(others), files), Allow: allowed(may)}
		others = append(others, "!"+files)
	}
	lists["packages without a layer"] = &depguard.List{Files: append(others, root+"/**.go"), Allow: []string{"none$"}}
	return must(depguard.NewAnalyzer(&lists))
}

// allowed returns the entries of depguard for the imports of a layer.
func allowed(may string) []string {
	out := []string{"$gostd"}
	for name := range strings.FieldsSeq(may) {
		switch group := rules.Groups[name]; {
		case group != "":
			out = append(out, allowed(group)...)
		case strings.HasSuffix(name, "/"):
			out = append(out, strings.Replace(name, "~", mainModule, 1))
		default:
			out = append(out, strings.Replace(name, "~", mainModule, 1)+"$")
		}
	}
	return out
}

// names is forbidigo with the names that the packages that decide may not use.
func names() *analysis.Analyzer {
	a := analyzer.NewAnalyzer()
	err := errors.Join(a.Flags.Set("analyze_types", "true"), a.Flags.Set("permit", "false"))
	for _, n := range rules.Names {
		err = errors.Join(err,
			a.Flags.Set("p", fmt.Sprintf(`{p: '^\w+\.(%s)$', pkg: '^%s$', msg: '%s'}`, n[1], n[0], n[2])))
	}
	return ofDeciding(must(a, err))
}
