package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
)

// Line is a line of a file: a [Case], or a [Call].
type Line[T any] struct {
	File string // the path of the file
	Text []byte
	Case *T
}

// Lines reads the lines of all files whose names match a pattern. It ends after the first error, for
// example for a field that T does not have. It is an error if no file matches.
func Lines[T any](pattern string) iter.Seq2[Line[T], error] {
	return func(yield func(Line[T], error) bool) {
		files, err := filepath.Glob(pattern)
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("there is no file %s", pattern)
		}
		if err != nil {
			yield(Line[T]{}, err)
			return
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				yield(Line[T]{}, err)
				return
			}
			for text := range bytes.Lines(data) {
				line := Line[T]{file, bytes.TrimSuffix(text, []byte("\n")), new(T)}
				strict := json.NewDecoder(bytes.NewReader(text))
				strict.DisallowUnknownFields()
				if err = strict.Decode(line.Case); err != nil {
					err = fmt.Errorf("%s: %w\n%s", file, err, text)
				}
				if !yield(line, err) || err != nil {
					return
				}
			}
		}
	}
}
