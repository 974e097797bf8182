package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// section is a generated text and its place in a document, whose path is relative to the root of the repository.
// Comments mark the beginning and the end of a section; the section without a name is the whole file.
type section struct{ document, name, text string }

// compatibility is the document with the results.
const compatibility = "docs/compatibility.md"

// update writes the section into its document, or returns an error that shows how the two differ.
func (s section) update(r release, write bool) error {
	file := filepath.Join(r.module, "../..", s.document)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, listed, after := "", string(text), ""
	if s.name != "" {
		begin, end := fmt.Sprintf("<!-- begin %s -->\n", s.name), fmt.Sprintf("<!-- end %s -->\n", s.name)
		head, rest, found := strings.Cut(listed, begin)
		section, tail, closed := strings.Cut(rest, end)
		if !found || !closed {
			return fmt.Errorf("%s has no section %s", file, s.name)
		}
		before, listed, after = head+begin, section, end+tail
	}
	if write {
		return os.WriteFile(file, []byte(before+s.text+after), 0o644)
	}
	if diff := cmp.Diff(listed, s.text); diff != "" {
		return fmt.Errorf("%s, section %s (-listed +found):\n%s", file, s.name, diff)
	}
	return nil
}
