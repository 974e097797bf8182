package house

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

// A source is a package of the repository, without its tests.
type source struct {
	dir     string // relative to the root of the repository
	nested  bool   // whether it is in a nested module
	files   []*ast.File
	imports map[string]bool // folders of the main module
}

// read parses the packages of all modules, by folder.
func read(t *testing.T) (sources map[string]*source, fset *token.FileSet) {
	t.Helper()
	sources, fset = map[string]*source{}, token.NewFileSet()
	nested := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		dir, _ := filepath.Rel(root, filepath.Dir(name))
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (base == "testdata" || base[0] == '.' || base[0] == '_'):
			return fs.SkipDir
		case entry.IsDir():
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			nested[name] = name != root && (err == nil || nested[filepath.Dir(name)])
		case filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			s := sources[dir]
			if s == nil {
				s = &source{dir: dir, nested: nested[filepath.Dir(name)], imports: map[string]bool{}}
				sources[dir] = s
			}
			s.add(file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources, fset
}

func (s *source) add(file *ast.File) {
	s.files = append(s.files, file)
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if path == module {
			s.imports["."] = true
		} else if dir, ok := strings.CutPrefix(path, module+"/"); ok {
			s.imports[dir] = true
		}
	}
}

// public reports whether other modules can import a package of the main module.
func (s *source) public() bool {
	return !s.nested && s.files[0].Name.Name != "main" && !strings.HasPrefix(s.dir, "examples/") && !strings.Contains("/"+s.dir+"/", "/internal/")
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
		t.Errorf("%s (-want +got; go test ./internal/house -update accepts the new text):\n%s", name, diff)
	} else if *update {
		if err := os.WriteFile(name, []byte(before+begin+got+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
