package jobset

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// document says in a line between two comments how many cases of each project pass.
const document = "../../../../docs/compatibility.md"

// checkResults compares the results of a project, in results and in the document, with those of its cases,
// if all ran. With -write it writes both.
func checkResults(t *testing.T, project string, cases []testCase, played map[string]*result) {
	t.Helper()
	if len(played) < len(cases) {
		return
	}
	lines, summary := results(cases, played)
	name := strings.ToLower(project)
	compareText(t, "results/"+name+".tsv", "", "", lines)
	compareText(t, document, "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n", summary)
}

// compareText compares the part of a file between two texts, or the whole file, with what it should be.
func compareText(t *testing.T, file, begin, end, want string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	listed, after, closed := strings.Cut(rest, cmp.Or(end, "\x00"))
	if !found || !closed && end != "" {
		t.Fatalf("%s has no section between %s and %s", file, begin, end)
	}
	if *write {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(listed, want); diff != "" {
		t.Errorf("%s (-listed +found); go test . -write writes it:\n%s", file, diff)
	}
}

// results returns a table with a line for each case, and a sentence about all. No image runs: the last
// column says how the pods of a case end. Pods that it does not name run until they are deleted.
func results(cases []testCase, played map[string]*result) (table, summary string) {
	var b strings.Builder
	b.WriteString("test\tcase\tbuilt-in\tjobfate\tpods\n")
	from, theirs, own := map[string]int{}, 0, 0
	for _, c := range cases {
		r := played[c.name]
		from[c.from]++
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\n", c.from, c.name, verdict(r.builtIn, &theirs), verdict(r.ours, &own), strings.Join(r.lives, "; "))
	}
	return b.String(), fmt.Sprintf("%d cases, %d from integration and %d from end-to-end tests: %d pass with the built-in controller, %d with jobfate.\n",
		len(cases), from["integration"], from["e2e"], theirs, own)
}

// verdict says whether a case has passed, and counts those that have.
func verdict(passed bool, n *int) string {
	if !passed {
		return "fail"
	}
	*n++
	return "pass"
}
