package kubefile

import (
	"bytes"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"
)

// placeholder matches what Helm, other templates, kustomize or envsubst would replace.
var placeholder = regexp.MustCompile(placeholders)

const placeholders = `\{\{.*?\}\}|\{%.*?%\}|\$\{\w[^{}\n]*\}|<no value>`

// variable also matches the variables of a shell, and those of kustomize, which look like those of Kubernetes itself.
var variable = regexp.MustCompile(placeholders + `|\$\w+|\$\(\w+\)`)

// onlyPlaceholders matches the rest of a line that has nothing else, with comments.
var onlyPlaceholders = regexp.MustCompile(`(?m)^[ \t-]*(?:(?:\{\{.*?\}\}|\{%.*?%\})[ \t]*)+$`)

// Unrendered says that a text has a placeholder; empty if it has none. plain says that it cannot contain a dollar sign.
func Unrendered(text string, plain bool) string {
	pattern := placeholder
	if plain {
		pattern = variable
	}
	found := pattern.FindString(text)
	if found == "" {
		return ""
	}
	return fmt.Sprintf("%q is a placeholder: render the template first, as with helm template, kustomize build or "+
		"envsubst", found)
}

// unrendered returns an error about a document that cannot be parsed, if only its placeholders are wrong.
func (f *file) unrendered(at Place) error {
	found := placeholder.FindIndex(at.part)
	if found == nil {
		return nil
	}
	rendered := placeholder.ReplaceAll(onlyPlaceholders.ReplaceAll(at.part, nil), []byte("x"))
	var object map[string]any
	parse := func() error { return yaml.Unmarshal(rendered, &object) }
	if guard(rendered, mostValues, parse) != nil || bytes.Equal(rendered, at.part) {
		return nil
	}
	line, _ := f.position(at.part[found[0]:])
	return fmt.Errorf("%s: line %d: %s", at, line, Unrendered(string(at.part), false))
}
