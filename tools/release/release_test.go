package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestLicences compares licences.tsv with the modules that the programs are built from, on any platform.
func TestLicences(t *testing.T) {
	folders := map[string]string{"std": must(output("", "go", "env", "GOROOT"))}
	for platform := range strings.SplitSeq(allPlatforms, ",") {
		system, arch, _ := strings.Cut(platform, "/")
		for _, program := range programs {
			c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}", ".")
			c.Dir = filepath.Join("../..", program.path)
			c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
			for line := range strings.Lines(must(outputOf(c))) {
				path, folder, found := strings.Cut(strings.TrimSpace(line), "\t")
				if found && path != ours && !strings.HasPrefix(path, ours+"/") {
					folders[path] = folder
				}
			}
		}
	}
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(folders)) {
		expression, _, err := licence(path, folders[path])
		if err != nil {
			t.Error(err)
		}
		lines = append(lines, path+"\t"+expression)
	}
	for line := range strings.Lines(licences) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) && !strings.HasPrefix(line, ours) {
			t.Errorf("licences.tsv has a line too many: %s", line)
		}
	}
}

// TestChanges compares two versions of a package: what breaks callers is named, and a version that does
// not compile is an error, not an empty API.
func TestChanges(t *testing.T) {
	folder := func(text string) string {
		folder := t.TempDir()
		check(os.CopyFS(folder, fstest.MapFS{
			"go.mod":             {Data: []byte("module " + ours + "\n")},
			"backoff/backoff.go": {Data: []byte("package backoff\n" + text)},
		}))
		return folder
	}
	names := []string{"backoff"}
	before := folder("func Delay(failures int) int { return failures }")
	got, err := changes(before, folder("func Delay(failures int64) int { return 1 }\nfunc New() {}"), names)
	if err != nil || !strings.Contains(got, "Incompatible changes:\n- Delay: changed") || !strings.Contains(got, "- New: added") {
		t.Errorf("got %q and %v", got, err)
	}
	if got, err := changes(before, before, names); err != nil || got != "" {
		t.Errorf("got %q and %v, want no change", got, err)
	}
	if got, err := changes(t.TempDir(), before, names); err != nil || !strings.Contains(got, "- Delay: added") {
		t.Errorf("got %q and %v for a new module", got, err)
	}
	if got, err := changes(before, folder("func Delay() int {}"), names); err == nil {
		t.Errorf("got %q and no error for a package that does not compile", got)
	}
	if got, err := changes(before, before, []string{"backoff", "tracking"}); err != nil || got != "" {
		t.Errorf("got %q and %v for a package that is in neither", got, err)
	}
}
