package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// release is the release of Kubernetes whose programs run, except kubectl; empty for that of this module.
var release = flag.String("kubernetes", "",
	"run the API server and the built-in controllers of this `release` of Kubernetes, such as 1.35.4")

// programsOf returns the folder of a go.mod whose tool lines are the programs of a release. For a release other
// than that of this module it is in the user's cache, where it stays: Go's build cache knows packages by their folder.
func programsOf(ctx context.Context, release string) (dir string, err error) {
	if release == "" {
		return ".", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, "jobfate-e2e", "kubernetes-"+release)
	file := filepath.Join(dir, "go.mod")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(file, []byte("module server\n"), 0o600)); err != nil {
		return "", err
	}
	theirs, err := goCommand(ctx, dir, "list", "-m", "-f", "{{.GoMod}}", "k8s.io/kubernetes@v"+release)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(theirs)
	if err != nil {
		return "", err
	}
	module, err := withExtensions(ctx, dir, moduleFor(release, string(text)))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(file, []byte(module), 0o600); err != nil {
		return "", err
	}
	_, err = goCommand(ctx, dir, "get", "-tool", apiServer+"@v"+release, controllerManager+"@v"+release)
	return dir, err
}

var (
	goLine  = regexp.MustCompile(`(?m)^go .*$`)
	library = regexp.MustCompile(`(?m)^\t(k8s\.io/\S+) => \./staging/`)
)

// missing lists the versions that a release requires and that a module proxy may not have, and the versions that
// are used instead.
var missing = []string{"sigs.k8s.io/structured-merge-diff/v7 v7.0.1 => sigs.k8s.io/structured-merge-diff/v7 v7.0.0"}

// moduleFor returns a go.mod for the programs of a release, given that of k8s.io/kubernetes. Kubernetes requires its
// own libraries as v0.0.0, and replaces them with folders of its repository. From outside they are the releases of
// the same number.
func moduleFor(release, theirs string) string {
	lines := []string{"module server", goLine.FindString(theirs)}
	for _, match := range library.FindAllStringSubmatch(theirs, -1) {
		lines = append(lines, "replace "+match[1]+" => "+match[1]+" v0."+strings.TrimPrefix(release, "1."))
	}
	for _, replacement := range missing {
		lines = append(lines, "replace "+replacement)
	}
	return strings.Join(lines, "\n") + "\n"
}

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
