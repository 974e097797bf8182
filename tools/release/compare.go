package main

import (
	"errors"
	"fmt"
	"go/types"
	"log"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/go/packages"
)

// compare writes what has changed in the API since the last release, or since another commit.
func (r *release) compare(since string) {
	tags := must(output(r.path("repository"), "git", "tag", "-l", "v*", "--sort=-v:refname"))
	if since == "" {
		since, _, _ = strings.Cut(tags, "\n")
	}
	if since == "" {
		fmt.Println("API: this is the first release")
		return
	}
	before := r.path("before")
	check(r.git("worktree", "add", "-q", "--detach", before, since))
	var text strings.Builder
	for _, m := range imported {
		changes := must(changes(filepath.Join(before, m.module), r.path("repository", m.module), m.packages))
		fmt.Fprintf(&text, "# The module %s, since %s\n\n%s\n", library(m.module), since, changes)
		patch := strings.TrimSuffix(r.version, semver.Prerelease(r.version)) != semver.MajorMinor(r.version)+".0"
		if patch && changes != "" {
			log.Fatalf("a patch version must not change the API:\n%s", text.String())
		}
	}
	check(os.WriteFile(r.path("files", "api.txt"), []byte(text.String()), 0o644))
	check(r.git("worktree", "remove", before))
}

// changes returns what differs in the API of some packages of a module, in two folders.
func changes(before, after string, names []string) (string, error) {
	old, err := load(before, names)
	if err != nil {
		return "", err
	}
	changed, err := load(after, names)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, name := range names {
		path := library(name)
		if report := apidiff.Changes(old[path], changed[path]); len(report.Changes) > 0 {
			fmt.Fprintf(&text, "## %s\n\n%s\n", path, report)
		}
	}
	return text.String(), nil
}

// load returns packages of the module in a folder, by path; an empty one for each that the module
// does not have.
func load(folder string, names []string) (map[string]*types.Package, error) {
	loaded := map[string]*types.Package{}
	var paths []string
	for _, name := range names {
		paths = append(paths, library(name))
		loaded[library(name)] = types.NewPackage(library(name), "")
	}
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath") // as for users, so that the cache is shared
	all, err := packages.Load(&packages.Config{Dir: folder, Mode: packages.LoadTypes, Env: env}, paths...)
	for _, p := range all {
		if len(p.GoFiles) == 0 {
			continue
		}
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
		loaded[p.PkgPath] = p.Types
	}
	return loaded, err
}
