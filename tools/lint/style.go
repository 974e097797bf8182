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
)

// style runs revive, with the given settings, on the files of all modules below the working folder.
func style(settings string) (findings []string, err error) {
	files, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go", ":!*/testdata/*").Output()
	if err != nil {
		return nil, err
	}
	packages := map[string][]string{}
	for name := range strings.FieldsSeq(string(files)) {
		if _, err := os.Stat(name); err == nil {
			packages[filepath.Dir(name)] = append(packages[filepath.Dir(name)], name)
		}
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
