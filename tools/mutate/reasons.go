package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// reasons says for survivors why they do not matter.
type reasons map[place]string

// readReasons reads the file that explains the survivors. It is Markdown: a heading
// for each package, under it one for each survivor with its file, function and
// mutator, then the line as a diff, or several, and then why it does not matter.
//
//	## backoff
//
//	### policy.go, Policy.Delay, CONDITIONALS_BOUNDARY
//
//	```diff
//	- if a < b {
//	+ if a <= b {
//	```
//
//	Both are the same when a equals b.
//
// A function whose mutator is * is left out: it has no mutants. That is for code that
// has no effect but on speed.
func readReasons(name string) (reasons, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	out, err := parseReasons(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return out, err
}

func parseReasons(r io.Reader) (reasons, error) {
	out := reasons{}
	var pkg string
	var about []place // what the reason is for
	var heading, current place
	inDiff := false
	in := bufio.NewScanner(r)
	for number := 1; in.Scan(); number++ {
		line := in.Text()
		switch {
		case inDiff && line == "```":
			inDiff = false
			about = append(about, current)
			out[current] = ""
		case inDiff && strings.HasPrefix(line, "- "):
			current.was = line[2:]
		case inDiff && strings.HasPrefix(line, "+ "):
			current.becomes = line[2:]
		case inDiff:
			return nil, fmt.Errorf("line %d: neither - nor + in a diff: %q", number, line)
		case line == "```diff":
			inDiff, current = true, heading
			if len(about) > 0 && out[about[0]] != "" {
				about = nil // the diffs above have their reason
			}
		case strings.HasPrefix(line, "## "):
			pkg, about = line[3:], nil
		case strings.HasPrefix(line, "### "):
			parts := strings.Split(line[4:], ", ")
			if len(parts) != 3 || pkg == "" {
				return nil, fmt.Errorf("line %d: want a file, a function and a mutator, below a package: %q", number, line)
			}
			heading, about = place{pkg: pkg, file: parts[0], function: parts[1], mutator: parts[2]}, nil
			if heading.function == "-" {
				heading.function = ""
			}
			if heading.mutator == "*" {
				about, out[heading] = []place{heading}, ""
			}
		case line != "":
			for _, p := range about {
				out[p] = strings.TrimSpace(out[p] + " " + line)
			}
		}
	}
	for p, reason := range out {
		if reason == "" {
			return nil, fmt.Errorf("no reason for %s, %s, %s: %s", p.file, p.function, p.mutator, p.was)
		}
	}
	return out, in.Err()
}

// leavesOut reports whether the function at a place is left out.
func (rs reasons) leavesOut(p place) bool {
	return rs[place{pkg: p.pkg, file: p.file, function: p.function, mutator: "*"}] != ""
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
			fmt.Fprintf(out, "\nnot explained, in %s:\n\n%s", m.pkg, m.place)
		}
	}
	for p := range rs {
		if packages[p.pkg] && p.mutator != "*" && !survivors[p] && wanted.MatchString(p.String()) {
			fmt.Fprintf(out, "\nexplained, but killed or gone, in %s:\n\n%s", p.pkg, p)
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
			fmt.Fprintf(out, "\nsurvived, in %s:\n\n%s", m.pkg, m.place)
		case notRun:
			f := m.pkg + "/" + m.file + ", " + m.function
			if notRunIn[f]++; notRunIn[f] == 1 {
				functions = append(functions, f)
			}
		}
	}
	for _, f := range functions {
		fmt.Fprintf(out, "\nnot run, in %s: %d", f, notRunIn[f])
	}
}

func (p place) String() string {
	function := p.function
	if function == "" {
		function = "-"
	}
	s := fmt.Sprintf("### %s, %s, %s\n\n```diff\n- %s\n", p.file, function, p.mutator, p.was)
	if p.becomes != "" {
		s += "+ " + p.becomes + "\n"
	}
	return s + "```\n"
}
