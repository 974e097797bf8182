package jobset

import (
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// document has each table between two comments.
const document = "../../docs/compatibility.md"

// checkTable compares the table of a project with its cases, in their order, and with the
// results of those that were played; or writes it.
func checkTable(t *testing.T, project string, scenes []scene, played map[string]*result) {
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
		if err := os.WriteFile(document, []byte(before+begin+table(project, scenes, played)+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(listed, table(project, scenes, played)); diff != "" {
		t.Errorf("%s (-listed +found); go test . -timeout 0 -write makes it anew:\n%s", document, diff)
	}
}

// table takes a case that was not played as passed: that is what the table is to say.
func table(project string, scenes []scene, played map[string]*result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| case | of %s's tests | built-in | jobfate |\n| --- | --- | --- | --- |\n", project)
	for _, c := range scenes {
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
