package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// overlay makes the go command see files that do not exist on disk.
type overlay struct {
	temp  string            // the folder for generated files
	Files map[string]string `json:"Replace"` // the actual path of each file, by the path that the go command sees
}

func newOverlay(temp string) *overlay {
	return &overlay{temp: temp, Files: map[string]string{}}
}

// write writes the overlay for the flag -overlay, and returns the file.
func (o *overlay) write() (string, error) {
	text, err := json.MarshalIndent(o, "", "\t")
	if err != nil {
		return "", err
	}
	file := filepath.Join(o.temp, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

// show makes the files of one folder that have a suffix appear in another.
func (o *overlay) show(from, to, suffix string) error {
	files, err := filepath.Glob(filepath.Join(from, "*"+suffix))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no file of %s ends in %s", from, suffix)
	}
	for _, file := range files {
		o.Files[filepath.Join(to, filepath.Base(file))] = file
	}
	return nil
}

// change makes a file appear with the changes of a function.
func (o *overlay) change(path string, change func([]byte) ([]byte, error)) error {
	from := path
	if shown, ok := o.Files[path]; ok {
		from = shown
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if text, err = change(text); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	made := filepath.Join(o.temp, fmt.Sprintf("%d_%s", len(o.Files), filepath.Base(path)))
	o.Files[path] = made
	return os.WriteFile(made, text, 0o600)
}

// ignored is the first line of our own files that belong to a package of Kubernetes.
const ignored = "//go:build ignore\n"

// enable makes the go command compile one of our files that begin with ignored.
func (o *overlay) enable(path string) error {
	return o.change(path, func(text []byte) ([]byte, error) {
		rest, found := bytes.CutPrefix(text, []byte(ignored))
		if !found {
			return nil, fmt.Errorf("the file does not begin with %q", strings.TrimSpace(ignored))
		}
		return rest, nil
	})
}

// renameFunc returns a change of a file that renames the declaration of a function or method. Its
// callers then call our function of the old name.
func renameFunc(receiver, from, to string) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != from || receiverOf(f) != receiver {
				continue
			}
			at := files.Position(f.Name.Pos()).Offset
			return bytes.Join([][]byte{text[:at], []byte(to), text[at+len(from):]}, nil), nil
		}
		return nil, fmt.Errorf("there is no function %s with the receiver %q", from, receiver)
	}
}

// receiverOf returns the name of the receiver type of a method. It is empty for a function.
func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	t := f.Recv.List[0].Type
	if pointer, ok := t.(*ast.StarExpr); ok {
		t = pointer.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
