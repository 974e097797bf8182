// Lint runs all checks of the source in one command: staticcheck's, depguard's, forbidigo's and
// those of this package on the main module, with the settings in rules.toml; and revive's on all
// modules, with style.toml.
//
//	lint ./...
//
// The working folder is the root of the repository.
package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mgechev/revive/config"
	"github.com/mgechev/revive/lint"
	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

func main() {
	cmd := lintcmd.NewCommand("lint")
	cmd.ParseFlags(os.Args[1:])
	cmd.AddAnalyzers(simple.Analyzers...)
	cmd.AddAnalyzers(staticcheck.Analyzers...)
	cmd.AddAnalyzers(stylecheck.Analyzers...)
	cmd.AddAnalyzers(unused.Analyzer)
	cmd.AddBareAnalyzers(own(must(os.Getwd()))...)
	status := cmd.Execute()
	for _, finding := range style() {
		fmt.Println(finding)
		status = 1
	}
	os.Exit(status)
}

// must returns a value if there is no error: without its settings the command finds nothing.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// own returns the analyzers besides those of staticcheck, for the files in a folder.
func own(root string) []*analysis.Analyzer {
	return []*analysis.Analyzer{imports(root), names(), pure, inputs}
}

// style runs revive on the files of all modules below the working folder.
func style() (findings []string) {
	files := must(exec.Command("find", ".", "-name", "*.go", "-not", "-path", "*/testdata/*", "-not", "-path",
		"*/.*").Output())
	packages := map[string][]string{}
	for name := range strings.FieldsSeq(string(files)) {
		packages[filepath.Dir(name)] = append(packages[filepath.Dir(name)], filepath.Clean(name))
	}
	conf := must(config.GetConfig("tools/lint/style.toml"))
	rules := must(config.GetLintingRules(conf, nil))
	linter := lint.New(os.ReadFile, 100)
	for f := range must(linter.Lint(slices.Collect(maps.Values(packages)), rules, *conf)) {
		if f.Confidence >= conf.Confidence || f.IsInternal() {
			findings = append(findings, fmt.Sprintf("%s: %s (%s)", f.Position.Start, f.Failure, f.RuleName))
		}
	}
	slices.Sort(findings)
	return findings
}
