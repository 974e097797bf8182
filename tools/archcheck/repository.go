package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// sourceFile is a parsed Go file.
type sourceFile struct {
	path   string // from the root of the repository
	dir    string // the dot for the root
	module string // the folder with the go.mod that it belongs to
	test   bool
	lines  int
	tree   *ast.File
	fset   *token.FileSet
}

func (f *sourceFile) at(pos token.Pos) token.Position { return f.fset.Position(pos) }

// sourcePackage is a package of the main module, without its tests.
type sourcePackage struct {
	dir   string
	files []*sourceFile
}

func (p sourcePackage) decides() bool { return decides(p.dir) }

// repository is the Go source of all modules, and the main module's go.mod.
type repository struct {
	fset  *token.FileSet
	files []*sourceFile
	goMod []byte
}

// load reads a repository. Folders whose names begin with a dot or an underscore,
// and those named testdata, hold no source.
func load(root fs.FS) (*repository, error) {
	r := &repository{fset: token.NewFileSet()}
	var err error
	if r.goMod, err = fs.ReadFile(root, "go.mod"); err != nil {
		return nil, err
	}
	modules := map[string]string{} // folder to folder of its module
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if entry.IsDir() {
			if name != "." && (base == "testdata" || base[0] == '.' || base[0] == '_') {
				return fs.SkipDir
			}
			modules[name] = moduleOf(root, name, modules)
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		return r.parse(root, name, modules[path.Dir(name)])
	})
	return r, err
}

func moduleOf(root fs.FS, dir string, modules map[string]string) string {
	if _, err := fs.Stat(root, path.Join(dir, "go.mod")); err == nil || dir == "." {
		return dir
	}
	return modules[path.Dir(dir)]
}

func (r *repository) parse(root fs.FS, name, module string) error {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	tree, err := parser.ParseFile(r.fset, name, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return fmt.Errorf("not Go: %w", err)
	}
	r.files = append(r.files, &sourceFile{
		path:   name,
		dir:    path.Dir(name),
		module: module,
		test:   strings.HasSuffix(name, "_test.go"),
		lines:  bytes.Count(text, []byte("\n")),
		tree:   tree,
		fset:   r.fset,
	})
	return nil
}

// packages returns the packages of the main module that are more than tests.
func (r *repository) packages() []sourcePackage {
	var out []sourcePackage
	for _, f := range r.files {
		if f.module != "." || f.test {
			continue
		}
		i := slices.IndexFunc(out, func(p sourcePackage) bool { return p.dir == f.dir })
		if i < 0 {
			i, out = len(out), append(out, sourcePackage{dir: f.dir})
		}
		out[i].files = append(out[i].files, f)
	}
	return out
}
