package repository

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "redraw the picture and rewrite the listing")

const (
	root   = "../.."
	module = "github.com/jobfate/jobfate"
)

// A source is a package of the repository.
type source struct {
	dir     string          // relative to the root of the repository
	module  string          // the folder of its module
	files   []*ast.File     // without comments
	imports map[string]bool // folders of the repository
	tests   map[string]bool // those that only its tests import
	// declared has the names declared in its tests (true) and elsewhere. A method has the name Type.Method.
	declared map[bool]map[string]bool
}

// read parses the packages of all modules, by folder.
func read(t *testing.T) (sources map[string]*source, fset *token.FileSet) {
	t.Helper()
	sources, fset = map[string]*source{}, token.NewFileSet()
	modules := map[string]string{} // by folder
	check(filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		dir, _ := filepath.Rel(root, filepath.Dir(name))
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (base == "testdata" || base[0] == '.' || base[0] == '_'):
			return fs.SkipDir
		case entry.IsDir():
			folder, _ := filepath.Rel(root, name)
			modules[folder] = modules[dir]
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				modules[folder] = folder
			}
		case filepath.Ext(name) == ".go":
			s := sources[dir]
			if s == nil {
				s = &source{dir: dir, module: modules[dir], imports: map[string]bool{}, tests: map[string]bool{},
					declared: map[bool]map[string]bool{false: {}, true: {}}}
				sources[dir] = s
			}
			return s.add(fset, name)
		}
		return nil
	}))
	return sources, fset
}

func (s *source) add(fset *token.FileSet, name string) error {
	file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	imports, inTest := s.tests, strings.HasSuffix(name, "_test.go")
	if !inTest {
		imports = s.imports
		s.files = append(s.files, file)
	}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if path == module {
			imports["."] = true
		} else if dir, ok := strings.CutPrefix(path, module+"/"); ok {
			imports[dir] = true
		}
	}
	for _, decl := range file.Decls {
		for _, ident := range declared(decl) {
			s.declared[inTest][ident] = true
		}
	}
	return nil
}

// testsIn returns the names of the tests of a folder, or of all folders in it.
func testsIn(sources map[string]*source, dir string, below bool) (names []string) {
	for at, s := range sources {
		if at != dir && !(below && (dir == "." || strings.HasPrefix(at, dir+"/"))) {
			continue
		}
		for name := range s.declared[true] {
			if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") {
				names = append(names, name)
			}
		}
	}
	return names
}

// public reports whether a package is part of the API of the main module.
func (s *source) public() bool {
	return s.module == "." && len(s.files) > 0 && !strings.Contains("/"+s.dir+"/", "/internal/")
}

// must returns a value that cannot be had if there is an error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// golden compares a text with the part of a file between two marks. With -update it writes the text.
func golden(t *testing.T, name, begin, end, got string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil && !*update {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(data), begin)
	want, after, ok := strings.Cut(rest, end)
	if begin == "" && end == "" {
		before, want, after, ok = "", string(data), "", true
	}
	if !ok {
		t.Fatalf("%s has no %q and %q", name, begin, end)
	}
	if diff := cmp.Diff(want, got); diff != "" && !*update {
		t.Errorf("%s (-want +got; go -C tools test ./repository -update accepts the new text):\n%s", name, diff)
	} else if *update {
		check(os.WriteFile(name, []byte(before+begin+got+end+after), 0o644))
	}
}
