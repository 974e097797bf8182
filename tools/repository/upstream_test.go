package repository

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longestPage is the maximum number of lines of a page of docs/upstream.
const longestPage = 40

// Every divergence has a page in docs/upstream, or a reason for having none; the README there lists
// both. Each page names a test of test/kubernetes/conformance/upstream, and each of these tests has a page.
func TestUpstreamReports(t *testing.T) {
	index := readPage(t, "docs/upstream/README.md")
	reports, without, _ := strings.Cut(index, "\n## No report")
	_, rows, _ := strings.Cut(without, "\n| --- | --- |\n")
	var known []string
	for row := range strings.Lines(rows) {
		name, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		known = append(known, name)
	}
	sources, _ := read(t)
	named := map[string]bool{}
	pages, err := filepath.Glob(root + "/docs/upstream/*.md")
	if err != nil || len(pages) < 2 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, file := range pages {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if name == "README" {
			continue
		}
		known = append(known, name)
		file, _ = filepath.Rel(root, file)
		page := readPage(t, file)
		if n := strings.Count(page, "\n"); n > longestPage {
			t.Errorf("%s has %d lines, want %d at most", file, n, longestPage)
		}
		if !strings.Contains(reports, "["+name+"]("+name+".md)") {
			t.Errorf("docs/upstream/README.md does not list %s", name)
		}
		test := regexp.MustCompile("\nTest: `(Test\\w+)`").FindStringSubmatch(page)
		if test == nil {
			t.Errorf("%s has no command that runs its test", file)
			continue
		}
		expectDeclared(t, sources, file, true, "test/kubernetes/conformance/upstream."+test[1])
		named[test[1]] = true
	}
	for name := range sources["test/kubernetes/conformance/upstream"].declared[true] {
		if strings.HasPrefix(name, "Test") && !named[name] {
			t.Errorf("test/kubernetes/conformance/upstream.%s has no page", name)
		}
	}

	page := readPage(t, "docs/divergences.md")
	decisions, _, _ := strings.Cut(page, "\n## Where Kubernetes departs from the KEPs")
	var divergences []string
	for _, heading := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(decisions, -1) {
		divergences = append(divergences, heading[1])
		if !slices.Contains(known, heading[1]) {
			t.Errorf("docs/upstream: no page about %s, and no reason for having none", heading[1])
		}
	}
	for _, name := range known {
		if !slices.Contains(divergences, name) {
			t.Errorf("docs/upstream: %s is not a heading of docs/divergences.md", name)
		}
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	return string(must(os.ReadFile(filepath.Join(root, name))))
}
