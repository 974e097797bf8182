package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goTest = regexp.MustCompile(`\bgo (?:-C (\S+) )?test ((?:\.\S* )+)[^` + "`" + `\n]*?-run '?([^\s'` + "`" + `]+)`)

// A test that a document names runs: go test does not complain if -run matches no test.
func TestCommandsOfDocs(t *testing.T) {
	sources, _ := read(t)
	found := 0
	err := filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".md" {
			return err
		}
		text, err := os.ReadFile(file)
		for _, c := range goTest.FindAllStringSubmatch(string(text), -1) {
			run := strings.ReplaceAll(c[3], `\|`, "|") // the pipe of a table is escaped
			if run == "^$" || run == "XXX" {           // only benchmarks
				continue
			}
			found++
			var tests []string
			for arg := range strings.FieldsSeq(c[2]) {
				dir, below := strings.CutSuffix(filepath.Join(c[1], arg), "...")
				dir = filepath.Clean(dir)
				if s := sources[dir]; !below && (s == nil || s.module != filepath.Join(".", c[1])) {
					t.Errorf("%s: %s: %s is not a package of the module", file, c[0], arg)
				}
				tests = append(tests, testsIn(sources, dir, below)...)
			}
			for name := range strings.SplitSeq(run, "|") {
				if !regexp.MustCompile("(?m)" + name).MatchString(strings.Join(tests, "\n")) {
					t.Errorf("%s: %s: no test has the name %s", file, c[0], name)
				}
			}
		}
		return err
	})
	if err != nil || found < 15 {
		t.Error(err, found, "commands found")
	}
}
