package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/memory"
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

// shown is the version that the caches have observed.
const shown = "1000"

// PendingVersion is the version of pending writes.
const PendingVersion = "2000"

// memory returns what a Machine remembers from the syncs before the case.
func (c *Case) memory() memory.Memory {
	s := &c.Snapshot
	m := memory.Memory{Job: s.Job.UID, Backoff: s.Backoff.Record(), Sure: !s.Backoff.InDoubt, LastStatus: s.LastStatus,
		Counted: memory.CountedBy(&s.Job.Status),
		Deleted: map[types.UID]memory.Deleted{}, Stripped: map[types.UID]memory.Stripped{}}
	for i := range s.Pending.Creations {
		m.Created = append(m.Created, memory.Created{UID: types.UID(fmt.Sprint("created-", i)),
			Version: PendingVersion, At: s.Now})
	}
	for i := range s.Pending.Deletions {
		m.Deleted[types.UID(fmt.Sprint("deleted-", i))] = memory.Deleted{Version: PendingVersion}
	}
	for _, uid := range s.Pending.Stripped {
		m.Stripped[uid] = memory.Stripped{Without: PendingVersion}
	}
	if s.Pending.Status {
		m.Known = PendingVersion
	}
	return m
}
