package vectors_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/vectors"
)

// maxBytes is the maximum number of bytes of all vectors. After enough failures the other vectors are skipped.
const (
	maxBytes = 3_000_000
	enough   = 10
)

// TestFunctions checks the result of jobfate for every case of a function.
func TestFunctions(t *testing.T) {
	found, failed := map[string]bool{}, failures(0)
	for line, err := range vectors.Lines[vectors.Call]("functions/*.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		c := line.Case
		found[c.Function] = true
		got, err := c.Run()
		if err != nil {
			failed.add(t, c.Function, fmt.Sprintf("%v, of %s", err, c.In))
		} else {
			failed.add(t, c.Function, c.Difference(got))
		}
	}
	for name := range vectors.Functions {
		if !found[name] {
			t.Errorf("there is no case for %s", name)
		}
	}
}

// TestDialogues checks the requests and results of a Machine in every dialogue, and that
// every verb is in some dialogue.
func TestDialogues(t *testing.T) {
	failed, shown := failures(0), map[string]bool{}
	for line, err := range vectors.Lines[vectors.Dialogue]("dialogues/*.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range line.Case.Shows {
			shown[what] = true
		}
		failed.add(t, line.Case.ID, line.Case.Replay())
	}
	for v := jobfate.GetJob; v <= jobfate.PatchStatus; v++ {
		if v != jobfate.PatchPod && !shown[v.String()] {
			t.Errorf("no dialogue has the request %s", v)
		}
	}
	for _, what := range []string{"adopt", "release", "strip", "untrack", "orphans"} {
		if !shown[what] {
			t.Errorf("no dialogue shows %s", what)
		}
	}
}

// TestCases checks the writes of jobfate in every case, and that README.md shows the outcome of one
// of them.
func TestCases(t *testing.T) {
	ids, failed := map[string]bool{}, failures(0)
	id, shown := shownCase(t)
	found := false
	for c, line := range cases(t) {
		found = found || c.ID == id && bytes.Contains(line, append([]byte(`"jobfate":`), shown...))
		if ids[c.ID] {
			t.Errorf("two cases have the id %s", c.ID)
		}
		ids[c.ID] = true
		failed.add(t, c.ID, difference(t, c))
	}
	if !found {
		t.Errorf("no case %q has the outcome in README.md:\n%s", id, shown)
	}
}

// TestSize checks that the files have no more vectors than are needed to detect mistakes: make vectors chooses them.
func TestSize(t *testing.T) {
	files, err := filepath.Glob("*/*.jsonl")
	more, other := filepath.Glob("*.jsonl")
	size := int64(0)
	for _, file := range append(files, more...) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if err := errors.Join(err, other); err != nil || size == 0 || size > maxBytes {
		t.Errorf("%v, %d bytes of vectors; want at most %d", err, size, maxBytes)
	}
}

// shownCase returns the case in README.md: its id and what jobfate does.
func shownCase(t *testing.T) (id string, outcome []byte) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## An example\n")
	_, id, _ = strings.Cut(section, "`")
	id, _, _ = strings.Cut(id, "`")
	_, block, _ := strings.Cut(section, "```json\n")
	block, _, _ = strings.Cut(block, "```")
	var shown bytes.Buffer
	if err := json.Compact(&shown, []byte(block)); err != nil {
		t.Fatalf("%v\n%s", err, block)
	}
	return id, shown.Bytes()
}

// cases returns an iterator over the cases of all files with their lines.
func cases(t *testing.T) func(func(*vectors.Case, []byte) bool) {
	t.Helper()
	return func(yield func(*vectors.Case, []byte) bool) {
		for line, err := range vectors.Lines[vectors.Case]("*.jsonl") {
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(line.Case.ID, strings.TrimSuffix(line.File, ".jsonl")+"-") {
				t.Errorf("%s is in %s", line.Case.ID, line.File)
			}
			if !yield(line.Case, line.Text) {
				return
			}
		}
	}
}

// failures is the number of vectors that have failed.
type failures int

// add reports the problem of a vector, if it has one.
func (n *failures) add(t *testing.T, id, problem string) {
	t.Helper()
	if problem == "" {
		return
	}
	t.Errorf("%s: %s", id, problem)
	if *n++; *n == enough {
		t.Fatalf("%d vectors have failed; the others are skipped", *n)
	}
}

// difference describes how jobfate differs from a case; empty if it does not.
func difference(t *testing.T, c *vectors.Case) string {
	got, err := c.Run()
	switch {
	case c.Refused != "" && vectors.RefusedField(err) != c.Refused:
		return fmt.Sprintf("got the error %v, want one about %s", err, c.Refused)
	case c.Refused != "":
		return ""
	case err != nil:
		return err.Error()
	}
	if told := c.Difference(got); told != "" {
		return told
	}
	return decides(t, c)
}

// decides checks that Decide and the Machine agree, except about pending writes and faults,
// which are not part of the input of Decide.
func decides(t *testing.T, c *vectors.Case) string {
	s := &c.Snapshot
	if text(t, s.Pending) != "{}" || text(t, c.Faults) != "{}" {
		return ""
	}
	record := s.Backoff.Record()
	if !s.Backoff.InDoubt {
		record.Job = s.Job.UID
	}
	d, err := jobfate.Decide(jobfate.Snapshot{
		Job: s.Job, Pods: s.Pods, Now: s.Now, Backoff: record, LastStatus: s.LastStatus,
	}, c.JobfateOptions()...)
	if err != nil {
		return "Decide: " + err.Error()
	}
	want := *c.Jobfate
	want.Writes = decided(want.Writes, d.Status != nil)
	want.Events, want.Metrics, want.Finished = nil, nil, false // they include those of the second status
	got := vectors.Outcome{Writes: writes(d), Requeue: d.Requeue.Milliseconds(), Action: d.Action, Left: vectors.Left(d.Deferred)}
	if got.Backoff = vectors.BackoffOf(d.Backoff); ended(d) {
		got.Backoff = want.Backoff // the Machine drops it when the Job has ended
	}
	if want, got := text(t, want), text(t, got); want != got {
		return "Decide, -want +got:\n" + cmp.Diff(want, got)
	}
	return ""
}

// decided returns the writes without patches, and without the status that follows the
// removal of finalizers.
func decided(all []vectors.Write, storesFirst bool) (first []vectors.Write) {
	for _, w := range all {
		w.Patch = nil
		if w.Verb == vectors.Status {
			if !storesFirst {
				continue
			}
			storesFirst = false
		}
		first = append(first, w)
	}
	return first
}

// ended reports whether the Job had ended before the decision. Such a decision only removes
// finalizers.
func ended(d jobfate.Decision) bool { return d.Action == "" }

// writes returns the writes of a decision.
func writes(d jobfate.Decision) []vectors.Write {
	var w vectors.Writes
	for _, claim := range d.Claim {
		verb := vectors.VerbOf(claim.Relation)
		if ended(d) {
			verb = vectors.Free
		}
		w.Add(vectors.Write{Verb: verb, Pod: claim.Pod.Name})
	}
	for _, deletion := range d.Delete {
		if deletion.StripFirst {
			w.Add(vectors.Write{Verb: vectors.Untrack, Pod: deletion.Pod.Name})
		}
		w.Add(vectors.Write{Verb: vectors.Delete, Pod: deletion.Pod.Name})
	}
	for _, creation := range d.Create {
		w.Add(vectors.Write{Verb: vectors.Create, New: vectors.NewPodOf(creation.Pod())})
	}
	if d.Status != nil {
		w.Add(vectors.Write{Verb: vectors.Status, Status: vectors.Normal(d.Status)})
	}
	for _, pod := range d.Strip {
		verb := vectors.Strip
		if ended(d) {
			verb = vectors.Free
		}
		w.Add(vectors.Write{Verb: verb, Pod: pod.Name})
	}
	return w.InOrder()
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
