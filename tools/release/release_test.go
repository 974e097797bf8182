package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLicences compares licences.tsv with the modules that the programs are built from, on any platform.
func TestLicences(t *testing.T) {
	goroot, err := output("", "go", "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{"std": goroot}
	for platform := range strings.SplitSeq(allPlatforms, ",") {
		system, arch, _ := strings.Cut(platform, "/")
		for _, program := range programs {
			c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}", ".")
			c.Dir = filepath.Join("../..", program.path)
			c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
			lines, err := outputOf(c)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(lines) {
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
		for name, text := range map[string]string{"go.mod": "module " + ours + "\n", "backoff/backoff.go": "package backoff\n" + text} {
			name = filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
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
