package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	spoken  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks checks that the targets of links in the documents exist, headings included.
func TestLinks(t *testing.T) {
	pages, err := fs.Glob(os.DirFS(root), "docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md", "SECURITY.md") {
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(readPage(t, page), ""), -1) {
			to, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			target := page
			if to != "" {
				target = filepath.Join(filepath.Dir(page), to)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, found[1])
			} else if anchor != "" && !anchors(t, target)[anchor] {
				t.Errorf("%s links to %s, and there is no such heading", page, found[1])
			}
		}
	}
}

// anchors returns the anchors that GitHub makes of the headings of a page.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(readPage(t, page), ""), -1) {
		all[strings.ReplaceAll(spoken.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return all
}
