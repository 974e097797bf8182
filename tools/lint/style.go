package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mgechev/revive/config"
	"github.com/mgechev/revive/lint"
)

// style runs revive: sizes.toml on the files of all modules, style.toml on the main module.
func style(root string) ([]string, error) {
	list := exec.Command("go", "list", "-f", "{{.Dir}}", "./...")
	list.Dir = root
	dirs, err := list.Output()
	if err != nil {
		return nil, err
	}
	every, main := map[string][]string{}, map[string][]string{}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		dir := filepath.Dir(name)
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (base == "testdata" || base[0] == '.' || base[0] == '_'):
			return fs.SkipDir
		case filepath.Ext(name) == ".go":
			if every[dir] = append(every[dir], name); slices.Contains(strings.Fields(string(dirs)), dir) {
				main[dir] = every[dir]
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sizes, err := revive(root+"/tools/lint/sizes.toml", every)
	if err != nil {
		return nil, err
	}
	others, err := revive(root+"/tools/lint/style.toml", main)
	return append(sizes, others...), err
}

// revive returns what revive finds in the files of some folders.
func revive(settings string, folders map[string][]string) (findings []string, err error) {
	conf, err := config.GetConfig(settings)
	if err != nil {
		return nil, err
	}
	rules, err := config.GetLintingRules(conf, nil)
	if err != nil {
		return nil, err
	}
	linter := lint.New(os.ReadFile, 100)
	failures, err := linter.Lint(slices.Collect(maps.Values(folders)), rules, *conf)
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
