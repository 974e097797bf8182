package main

import (
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/packages"
)

// compare writes what has changed in the API since the last release, or since another commit.
func (r *release) compare(since string) error {
	tags, err := output(r.path("repository"), "git", "tag", "-l", "v*", "--sort=-v:refname")
	if err != nil {
		return err
	}
	if since == "" {
		since, _, _ = strings.Cut(tags, "\n")
	}
	if since == "" {
		fmt.Println("API: this is the first release")
		return nil
	}
	before := r.path("before")
	if err := r.git("worktree", "add", "-q", "--detach", before, since); err != nil {
		return err
	}
	out, err := os.Create(r.path("files", "api.txt"))
	if err != nil {
		return err
	}
	defer out.Close()
	for _, m := range imported {
		old, err := load(filepath.Join(before, m.module), m.packages)
		if err != nil {
			return err
		}
		changed, err := load(r.path("repository", m.module), m.packages)
		if err != nil {
			return err
		}
		for _, p := range m.packages {
			path := library(p)
			fmt.Fprintf(out, "# %s, since %s\n\n%s\n", path, since, apidiff.Changes(old[path], changed[path]))
		}
	}
	return r.git("worktree", "remove", before)
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
	all, err := packages.Load(&packages.Config{Dir: folder, Mode: packages.LoadTypes}, paths...)
	for _, p := range all {
		if p.Types != nil && len(p.Errors) == 0 {
			loaded[p.PkgPath] = p.Types
		}
	}
	return loaded, err
}
