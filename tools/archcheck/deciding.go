package main

import (
	_ "embed"
	"path"
	"slices"
	"strings"
)

// mainModule is the path of the main module.
const mainModule = "github.com/jobfate/jobfate"

// deciding.txt has the folders of the packages that decide, or keep what a decision
// needs: pure functions of their arguments. .ci/run and the Makefile read it as well.
//
//go:embed deciding.txt
var deciding string

// decides reports whether the package in a folder of the main module is pure.
func decides(dir string) bool {
	return slices.ContainsFunc(strings.Fields(deciding), func(d string) bool { return path.Clean(d) == dir })
}

// importPath returns the import path of a folder of the main module.
func importPath(dir string) string { return path.Join(mainModule, dir) }
