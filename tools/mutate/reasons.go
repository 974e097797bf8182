package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// reasons says for survivors why they do not matter, by package and mutant.
//
// They are read from Markdown: a heading for each package, under it a list. An item names
// functions and mutants, and says why they do not matter. It may go on in further lines.
//
//	## backoff
//
//	- `Policy.Delay`: `a < b` → `a <= b`; `return 0` → nothing: Both are the same when a
//	  equals b.
//	- `prefetch`: all: It has no effect but on speed.
//
// A function of which all are named has no mutants.
type reasons map[string]string

var (
	item = regexp.MustCompile("^- ((?:`[^`]+`(?:, )?)+): (all|(?:`[^`]+` → (?:`[^`]+`|nothing)(?:; )?)+): (.+)$")
	code = regexp.MustCompile("`[^`]+`")
	pair = regexp.MustCompile("`[^`]+` → (?:`[^`]+`|nothing)|^all$")
)

func parseReasons(text string) (reasons, error) {
	out, pkg := reasons{}, ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\n  ", " ")) {
		line = strings.TrimSpace(line)
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
		for _, function := range code.FindAllString(parts[1], -1) {
			for _, change := range pair.FindAllString(parts[2], -1) {
				out[fmt.Sprintf("%s - %s: %s: ", pkg, function, change)] = parts[3]
			}
		}
	}
	return out, nil
}

// leaveOut reports whether the function of a mutant is left out.
func (rs reasons) leaveOut(m *mutant) bool {
	return rs[fmt.Sprintf("%s - `%s`: all: ", m.pkg, m.function)] != ""
}

// compare prints the mutants that are not killed and have no reason, in the form of the file,
// and the reasons for mutants of the package that are killed or gone. It returns the number of
// survivors without a reason. All have one if only some of the mutants or tests were asked for.
func (rs reasons) compare(mutants []*mutant, some bool, out io.Writer) (unexplained int) {
	survivors := map[string]bool{}
	for _, m := range mutants {
		key := m.pkg + " " + m.String()
		survivors[key] = survivors[key] || m.verdict == "survived"
		if m.verdict != "killed" && (some || rs[key] == "") {
			unexplained++
			fmt.Fprintf(out, "%s, in %s:\n%s\n", m.verdict, m.pkg, m)
		}
	}
	if some || len(mutants) == 0 {
		return 0
	}
	for key := range rs {
		if strings.HasPrefix(key, mutants[0].pkg+" ") && !strings.HasSuffix(key, ": all: ") && !survivors[key] {
			fmt.Fprintf(out, "explained, but killed or gone, in %s\n", key)
		}
	}
	return unexplained
}
