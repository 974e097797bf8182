package main

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
)

// finding is a place where a rule is broken, and why there is the rule.
type finding struct {
	file    string
	line    int
	rule    string
	why     string
	warning bool
}

func (f finding) String() string {
	kind := ""
	if f.warning {
		kind = "warning: "
	}
	return fmt.Sprintf("%s:%d: %s%s: %s", f.file, f.line, kind, f.rule, f.why)
}

type findings []finding

func (fs *findings) add(pos token.Position, rule, format string, args ...any) {
	*fs = append(*fs, finding{file: pos.Filename, line: pos.Line, rule: rule, why: fmt.Sprintf(format, args...)})
}

func (fs *findings) sorted() []finding {
	out := slices.Clone(*fs)
	slices.SortStableFunc(out, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.rule, b.rule))
	})
	return slices.Compact(out)
}
