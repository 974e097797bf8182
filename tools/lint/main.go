// Lint runs all checks of the main module's source in one load: staticcheck's, and those of
// this package, whose settings are in rules.go. It also holds the files of all modules
// against the limits of size, and those of the main module against the rules for names and
// comments.
//
//	lint ./...
//
// The working folder is the root of the repository.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// own are the analyzers besides those of staticcheck.
var own = []*analysis.Analyzer{imports, forbidden, pure, inputs}

func main() {
	cmd := lintcmd.NewCommand("lint")
	cmd.ParseFlags(os.Args[1:])
	cmd.AddAnalyzers(simple.Analyzers...)
	cmd.AddAnalyzers(staticcheck.Analyzers...)
	cmd.AddAnalyzers(stylecheck.Analyzers...)
	cmd.AddAnalyzers(unused.Analyzer)
	cmd.AddBareAnalyzers(own...)
	status := cmd.Execute()
	findings, err := style(".")
	if err != nil {
		findings = append(findings, err.Error())
	}
	for _, f := range findings {
		fmt.Println(f)
		status = 1
	}
	os.Exit(status)
}
