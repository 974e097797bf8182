// Lint runs all checks of the source in one command: staticcheck's, depguard's, forbidigo's and
// those of this package on the modules that rules.toml names, with its settings; and revive's on
// all modules, with style.toml.
//
//	lint ./...
//
// The working folder is the root of the repository. In the folder of a module, the command checks
// that module alone, without revive.
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
	dir := must(os.Getwd())
	root := repository(dir)
	cmd.AddBareAnalyzers(own(root)...)
	status := cmd.Execute()
	if dir == root {
		for _, module := range rules.Modules {
			status = max(status, lintIn(module))
		}
		for _, finding := range style() {
			fmt.Println(finding)
			status = 1
		}
	}
	os.Exit(status)
}

// repository returns the folder above a folder, or the folder itself, that has the rules.
func repository(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "tools/lint/rules.toml")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			panic("the working folder is not in the repository")
		}
		dir = above
	}
}

// lintIn runs the command in the folder of a module: a process loads the packages of one module.
func lintIn(module string) (status int) {
	cmd := exec.Command(must(os.Executable()), os.Args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = module, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "lint in %s: %v\n", module, err)
		return 1
	}
	return 0
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
	return []*analysis.Analyzer{imports(root), names(), pure, inputs, conditions}
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
