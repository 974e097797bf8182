package main

import (
	"fmt"
	"regexp"
	"strings"
)

// reasons are the mutants that docs/mutants.md explains, by their names. There, a list for
// each package names functions, mutants of them, and why these do not matter:
//
//	## backoff
//
//	- `Policy.Delay`: `a < b` → `a <= b`; `return 0` → nothing: Both are the same when a
//	  equals b.
//	- `prefetch`: all: It has no effect but on speed.
//
// A function of which all are named has no mutants.
type reasons map[string]bool

var (
	change = regexp.MustCompile("`[^`]+` → (?:`[^`]+`|nothing)|^all$")
	item   = regexp.MustCompile("^((?:`[^`]+`(?:, )?)+): (all|(?:`[^`]+` → (?:`[^`]+`|nothing)(?:; )?)+): .+")
)

func parseReasons(text string) (reasons, error) {
	out, pkg := reasons{}, ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\n  ", " ")) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			pkg = strings.TrimSpace(name)
		}
		line, ok := strings.CutPrefix(line, "- ")
		if !ok || line[0] != '`' {
			continue
		}
		parts := item.FindStringSubmatch(line)
		if parts == nil || pkg == "" {
			return nil, fmt.Errorf("want functions, mutants and a reason, below a package: %q", line)
		}
		for function := range strings.SplitSeq(parts[1], ", ") {
			for _, c := range change.FindAllString(parts[2], -1) {
				out[fmt.Sprintf("%s - %s: %s: ", pkg, function, c)] = true
			}
		}
	}
	return out, nil
}
