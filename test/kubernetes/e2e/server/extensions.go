package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// extensions is a library that 1.38.0-beta.0 has split from undivided.
const (
	extensions    = "k8s.io/apiextensions-api"
	undivided     = "k8s.io/apiextensions-apiserver"
	lastUndivided = undivided + "@v0.38.0-alpha.2"
)

// moved lists the folders of undivided that became extensions.
var moved = []string{"pkg/apis/apiextensions/v1", "pkg/apis/apiextensions/v1beta1", "pkg/client"}

// withExtensions returns the go.mod of a folder. If it needs a version of extensions that the module proxy does not
// have, it replaces that with a copy of what it was before. The library is about CustomResourceDefinitions only.
func withExtensions(ctx context.Context, dir, module string) (string, error) {
	before, rest, found := strings.Cut(module, "=> "+extensions+" ")
	version, after, _ := strings.Cut(rest, "\n")
	if !found {
		return module, nil
	}
	if _, err := goCommand(ctx, dir, "list", "-m", extensions+"@"+version); err == nil {
		return module, nil
	}
	out, err := goCommand(ctx, dir, "mod", "download", "-json", lastUndivided)
	if err != nil {
		return "", err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &downloaded); err != nil {
		return "", err
	}
	to := filepath.Join(dir, "apiextensions-api")
	for _, folder := range moved {
		if err := move(downloaded.Dir, folder, to); err != nil {
			return "", err
		}
	}
	own := "module " + extensions + "\n" + goLine.FindString(module) + "\n"
	return before + "=> ./apiextensions-api\n" + after, os.WriteFile(filepath.Join(to, "go.mod"), []byte(own), 0o600)
}

// move copies the packages of a folder of undivided, which then import extensions.
func move(from, folder, to string) error {
	return filepath.WalkDir(filepath.Join(from, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, folder := range moved {
			text = bytes.ReplaceAll(text, []byte(`"`+undivided+"/"+folder), []byte(`"`+extensions+"/"+folder))
		}
		file := filepath.Join(to, strings.TrimPrefix(path, from))
		return errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600))
	})
}
