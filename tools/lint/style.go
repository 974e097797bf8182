package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mgechev/revive/lint"
)

// style runs revive: the rules of size on all files, the others on those of the main module.
func style(root string) (findings []string, err error) {
	all, main := map[string][]string{}, map[string][]string{}
	modules := map[string]string{} // folder to folder of its module
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		dir := filepath.Dir(name)
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (base == "testdata" || base[0] == '.' || base[0] == '_'):
			return fs.SkipDir
		case entry.IsDir():
			if modules[name] = modules[dir]; exists(filepath.Join(name, "go.mod")) || name == root {
				modules[name] = name
			}
		case filepath.Ext(name) == ".go":
			if all[dir] = append(all[dir], name); modules[dir] == root && !strings.HasSuffix(name, "_test.go") {
				main[dir] = append(main[dir], name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sizes, err := revive(all, sizeRules)
	if err != nil {
		return nil, err
	}
	words, err := revive(main, styleRules)
	return slices.Sorted(slices.Values(append(sizes, words...))), err
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// revive returns what rules find in the files of some folders.
func revive(folders map[string][]string, settings []setting) (findings []string, err error) {
	config, rules := lint.Config{Confidence: 0.8, Rules: lint.RulesConfig{}}, []lint.Rule{}
	for _, s := range settings {
		c := lint.RuleConfig{Exclude: s.not}
		if err := c.Initialize(); err != nil {
			return nil, err
		}
		if r, ok := s.rule.(lint.ConfigurableRule); ok {
			if err := r.Configure(s.arguments); err != nil {
				return nil, err
			}
		}
		config.Rules[s.rule.Name()], rules = c, append(rules, s.rule)
	}
	linter := lint.New(os.ReadFile, 100)
	failures, err := linter.Lint(slices.Collect(maps.Values(folders)), rules, config)
	if err != nil {
		return nil, err
	}
	for f := range failures {
		if f.Confidence >= config.Confidence || f.IsInternal() {
			findings = append(findings, fmt.Sprintf("%s: %s (%s)", f.Position.Start, f.Failure, f.RuleName))
		}
	}
	return findings, nil
}
