package jobset

import (
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// document contains each table between two comments.
const document = "../../docs/compatibility.md"

// checkTable compares the table of a project with its cases and with the results of those that ran.
// With -write it writes the table.
func checkTable(t *testing.T, project string, cases []testCase, played map[string]*result) {
	t.Helper()
	begin, end := "<!-- begin "+strings.ToLower(project)+" -->\n", "<!-- end "+strings.ToLower(project)+" -->\n"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	listed, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no section between %s and %s", document, begin, end)
	}
	if *write {
		if err := os.WriteFile(document, []byte(before+begin+table(project, cases, played)+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(listed, table(project, cases, played)); diff != "" {
		t.Errorf("%s (-listed +found); go test . -timeout 0 -write writes it:\n%s", document, diff)
	}
}

// table returns the table of a project. It lists a case that did not run as passed on both sides,
// which is what the table must say.
func table(project string, cases []testCase, played map[string]*result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| case | of %s's tests | built-in | jobfate |\n| --- | --- | --- | --- |\n", project)
	for _, c := range cases {
		r := played[c.name]
		if r == nil {
			r = &result{true, true}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.name, c.from, word(r.builtIn), word(r.ours))
	}
	return b.String()
}

func word(passed bool) string {
	if passed {
		return "pass"
	}
	return "fail"
}
