package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
)

// Line is a line of a file.
type Line struct {
	File string // the name of the file
	Text []byte
	Case *Case
}

// Lines reads the lines of all files in a folder. It ends after the first error, for example for a
// field that a case does not have. It is an error if the folder has no files.
func Lines(folder string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("there are no vectors in %s", folder)
		}
		if err != nil {
			yield(Line{}, err)
			return
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				yield(Line{}, err)
				return
			}
			for text := range bytes.Lines(data) {
				line := Line{filepath.Base(file), bytes.TrimSuffix(text, []byte("\n")), new(Case)}
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
