package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// reasons says for survivors why they do not matter.
type reasons map[place]string

// readReasons reads the file that explains the survivors. It is Markdown: a heading for
// each package, under it a list. An item names functions and mutants, and says why they do
// not matter. It may go on in further lines.
//
//	## backoff
//
//	- `Policy.Delay`: `a < b` → `a <= b`; `return 0` → nothing: Both are the same when a
//	  equals b.
//	- `prefetch`: all: It has no effect but on speed.
//
// A function of which all are named has no mutants. The body of a branch that is emptied
// reads `{ first line }`. What is outside of functions has `-` in the place of a function.
func readReasons(name string) (reasons, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	out, err := parseReasons(string(text))
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return out, err
}

var (
	item    = regexp.MustCompile("^- ((?:`[^`]+`(?:, )?)+): (all|(?:`[^`]+` → (?:`[^`]+`|nothing)(?:; )?)+): (.+)$")
	code    = regexp.MustCompile("`([^`]+)`")
	swapped = regexp.MustCompile("`([^`]+)` → (?:`([^`]+)`|nothing)")
)

// everyMutant stands for all mutants of a function.
const everyMutant = "all"

func parseReasons(text string) (reasons, error) {
	out, pkg := reasons{}, ""
	for _, line := range strings.Split(strings.ReplaceAll(text, "\n  ", " "), "\n") {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			pkg = name
		}
		if !strings.HasPrefix(line, "- `") {
			continue
		}
		parts := item.FindStringSubmatch(line)
		if parts == nil || pkg == "" {
			return nil, fmt.Errorf("want functions, mutants and a reason, below a package: %q", line)
		}
		for _, function := range code.FindAllStringSubmatch(parts[1], -1) {
			at := place{pkg: pkg, function: strings.TrimPrefix(function[1], "-")}
			if parts[2] == everyMutant {
				at.was = everyMutant
				out[at] = parts[3]
			}
			for _, m := range swapped.FindAllStringSubmatch(parts[2], -1) {
				at.was, at.becomes = m[1], m[2]
				out[at] = parts[3]
			}
		}
	}
	return out, nil
}

// leavesOut reports whether the function at a place is left out.
func (rs reasons) leavesOut(p place) bool {
	return rs[place{pkg: p.pkg, function: p.function, was: everyMutant}] != ""
}

// compare prints the survivors without a reason, in the form of the file, and the
// reasons for mutants of these packages, of those wanted, that did not survive. It
// returns how many survivors have no reason.
func (rs reasons) compare(mutants []*mutant, wanted *regexp.Regexp, out io.Writer) int {
	unexplained, survivors, packages := 0, map[place]bool{}, map[string]bool{}
	for _, m := range mutants {
		packages[m.pkg] = true
		if m.verdict != survived {
			continue
		}
		survivors[m.place] = true
		if rs[m.place] == "" {
			unexplained++
			fmt.Fprintf(out, "not explained, in %s:\n%s\n", m.pkg, m.place)
		}
	}
	for p := range rs {
		if packages[p.pkg] && p.was != everyMutant && !survivors[p] && wanted.MatchString(p.String()) {
			fmt.Fprintf(out, "explained, but killed or gone, in %s:\n%s\n", p.pkg, p)
		}
	}
	return unexplained
}

// survivors prints the mutants that have survived, and of each function how many the
// tests do not run.
func survivors(mutants []*mutant, out io.Writer) {
	var functions []string
	notRunIn := map[string]int{}
	for _, m := range mutants {
		switch m.verdict {
		case survived:
			fmt.Fprintf(out, "survived, in %s:\n%s\n", m.pkg, m.place)
		case notRun:
			f := m.pkg + ", " + m.function
			if notRunIn[f]++; notRunIn[f] == 1 {
				functions = append(functions, f)
			}
		}
	}
	for _, f := range functions {
		fmt.Fprintf(out, "not run, in %s: %d\n", f, notRunIn[f])
	}
}

// String returns a place in the form of the file, without a reason.
func (p place) String() string {
	function, becomes := p.function, "nothing"
	if function == "" {
		function = "-"
	}
	if p.becomes != "" {
		becomes = "`" + p.becomes + "`"
	}
	return fmt.Sprintf("- `%s`: `%s` → %s: ", function, p.was, becomes)
}
