package main

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// licences lists the modules that the programs are built from, each with the licences in it. A line is
// added by hand, after reading them.
//
//go:embed licences.tsv
var licences string

var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice)([.-].*)?$`)

// licence returns the licences of a module, as in licences.tsv, and the text of the files that have
// them.
func licence(module, folder string) (expression, text string, err error) {
	var ids []string
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		// Below it are the modules that the go command vendors.
		if module == "std" && entry != nil && entry.IsDir() && name != folder {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || !licenceFile.MatchString(entry.Name()) || filepath.Ext(name) == ".go" {
			return err
		}
		content, err := os.ReadFile(name)
		for _, match := range licensecheck.Scan(content).Match {
			if !match.IsURL {
				ids = append(ids, match.ID)
			}
		}
		file, _ := filepath.Rel(folder, name)
		text += fmt.Sprintf("==== %s: %s\n\n%s\n", module, filepath.ToSlash(file), content)
		return err
	})
	slices.Sort(ids)
	expression = strings.Join(slices.Compact(ids), " AND ")
	if line := module + "\t" + expression; err == nil && !slices.Contains(strings.Split(licences, "\n"), line) {
		err = fmt.Errorf("licences.tsv does not list:\n%s", line)
	}
	return expression, text, err
}
