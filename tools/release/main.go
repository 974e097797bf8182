// Command release turns the go.mod files of this repository into those of a release: every
// module requires the others in the same version, and none replaces them by a folder. The
// go command installs no command from a module that replaces another.
//
//	go -C tools run ./release v0.1.0 ..
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// ours is the path of the main module, with which those of all others begin.
const ours = "github.com/jobfate/jobfate"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: release VERSION FOLDER")
		os.Exit(2)
	}
	if err := release(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// release rewrites the go.mod files below a folder for a version.
func release(version, root string) error {
	if !semver.IsValid(version) {
		return fmt.Errorf("%q is not a version such as v0.1.0", version)
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name == "testdata" || strings.HasPrefix(name, ".") && name != ".."):
			return fs.SkipDir
		case name == "go.mod":
			return rewrite(path, version)
		}
		return nil
	})
}

// rewrite makes a go.mod require our modules in a version.
func rewrite(path, version string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := modfile.Parse(path, text, nil)
	if err != nil {
		return err
	}
	for _, r := range file.Replace {
		if isOurs(r.Old.Path) {
			if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return err
			}
		}
	}
	for _, r := range file.Require {
		if isOurs(r.Mod.Path) {
			if err := file.AddRequire(r.Mod.Path, version); err != nil {
				return err
			}
		}
	}
	file.Cleanup()
	if text, err = file.Format(); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func isOurs(path string) bool { return path == ours || strings.HasPrefix(path, ours+"/") }
