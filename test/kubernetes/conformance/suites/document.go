package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// document is a file with generated sections. Comments mark the beginning and the end of a section;
// the section without a name is the whole file.
type document struct{ file, text string }

// compatibility is the path of the document, relative to the root of the repository.
const compatibility = "docs/compatibility.md"

func openDocument(r release, name string) (document, error) {
	d := document{file: filepath.Join(r.module, "../..", name)}
	text, err := os.ReadFile(d.file)
	d.text = string(text)
	return d, err
}

// section returns the text before a section, the section and the text after it.
func (d *document) section(name string) (before, section, after string, err error) {
	if name == "" {
		return "", d.text, "", nil
	}
	begin, end := fmt.Sprintf("<!-- begin %s -->\n", name), fmt.Sprintf("<!-- end %s -->\n", name)
	before, rest, found := strings.Cut(d.text, begin)
	section, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", "", "", fmt.Errorf("%s has no section %s", d.file, name)
	}
	return before + begin, section, end + after, nil
}

// compare returns an error that shows how a section differs from a text.
func (d *document) compare(name, text string) error {
	_, listed, _, err := d.section(name)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(listed, text); diff != "" {
		return fmt.Errorf("%s, section %s (-listed +found):\n%s", d.file, name, diff)
	}
	return nil
}

// replace puts a text into a section and writes the document.
func (d *document) replace(name, text string) error {
	before, _, after, err := d.section(name)
	if err != nil {
		return err
	}
	d.text = before + text + after
	return os.WriteFile(d.file, []byte(d.text), 0o644)
}
