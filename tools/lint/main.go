// Lint runs all checks of the source in one command: staticcheck's, depguard's, forbidigo's and
// those of this package on the main module, with the settings in rules.toml; and revive's on all
// modules, with sizes.toml and style.toml.
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
	return []*analysis.Analyzer{imports(root), names(), pure, inputs}
}

// style runs revive, with the given settings, on the files of all modules below the working folder.
func style(settings string) (findings []string, err error) {
	files, err := exec.Command("find", ".", "-name", "*.go", "-not", "-path", "*/testdata/*", "-not", "-path", "*/.*").Output()
	if err != nil {
		return nil, err
	}
	packages := map[string][]string{}
	for name := range strings.FieldsSeq(string(files)) {
		packages[filepath.Dir(name)] = append(packages[filepath.Dir(name)], filepath.Clean(name))
	}
	conf, err := config.GetConfig(settings)
	if err != nil {
		return nil, err
	}
	rules, err := config.GetLintingRules(conf, nil)
	if err != nil {
		return nil, err
	}
	linter := lint.New(os.ReadFile, 100)
	failures, err := linter.Lint(slices.Collect(maps.Values(packages)), rules, *conf)
	if err != nil {
		return nil, err
	}
	for f := range failures {
		if f.Confidence >= conf.Confidence || f.IsInternal() {
			findings = append(findings, fmt.Sprintf("%s: %s (%s)", f.Position.Start, f.Failure, f.RuleName))
		}
	}
	slices.Sort(findings)
	return findings, nil
}
