package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// document is docs/compatibility.md, whose generated sections stand between comments.
type document struct{ file, text string }

func openDocument(r release) (document, error) {
	d := document{file: filepath.Join(r.module, "..", "docs", "compatibility.md")}
	text, err := os.ReadFile(d.file)
	d.text = string(text)
	return d, err
}

// section returns the text before a section, the section and the text after it.
func (d *document) section(name string) (before, section, after string, err error) {
	begin, end := fmt.Sprintf("<!-- begin %s -->\n", name), fmt.Sprintf("<!-- end %s -->\n", name)
	before, rest, found := strings.Cut(d.text, begin)
	section, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", "", "", fmt.Errorf("%s has no section %s", d.file, name)
	}
	return before + begin, section, end + after, nil
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
