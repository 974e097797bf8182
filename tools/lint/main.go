// Lint runs all checks of the source in one command: staticcheck's, depguard's, forbidigo's and
// those of this package on the main module, with the settings in rules.go; and revive's on all
// modules, with sizes.toml and style.toml.
//
//	lint ./...
//
// The working folder is the root of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/OpenPeeDeeP/depguard/v2"
	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

func main() {
	root, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	cmd := lintcmd.NewCommand("lint")
	cmd.ParseFlags(os.Args[1:])
	cmd.AddAnalyzers(simple.Analyzers...)
	cmd.AddAnalyzers(staticcheck.Analyzers...)
	cmd.AddAnalyzers(stylecheck.Analyzers...)
	cmd.AddAnalyzers(unused.Analyzer)
	cmd.AddBareAnalyzers(own(root)...)
	status := cmd.Execute()
	for _, settings := range []string{"sizes.toml", "style.toml"} {
		findings, err := style("tools/lint/" + settings)
		if err != nil {
			findings = append(findings, err.Error())
		}
		for _, f := range findings {
			fmt.Println(f)
			status = 1
		}
	}
	os.Exit(status)
}

// own returns the analyzers besides those of staticcheck, for the files in a folder.
func own(root string) []*analysis.Analyzer {
	imports, err := depguard.NewAnalyzer(imports(root))
	if err != nil {
		panic(err)
	}
	return []*analysis.Analyzer{imports, forbidden(), pure, inputs}
}
