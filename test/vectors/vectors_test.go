package vectors_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/vectors"
)

// TestCases checks the writes of jobfate in every case, and that README.md shows the outcome of one
// of them.
func TestCases(t *testing.T) {
	ids := map[string]bool{}
	id, shown := shownCase(t)
	found := false
	for line, err := range vectors.Lines(".") {
		NoError(t, err)
		c := line.Case
		found = found || c.ID == id && bytes.Contains(line.Text, append([]byte(`"jobfate":`), shown...))
		if ids[c.ID] {
			t.Errorf("two cases have the id %s", c.ID)
		}
		ids[c.ID] = true
		if problem := difference(t, c); problem != "" {
			t.Errorf("%s: %s\nthe case: %s", c.ID, problem, line.Text)
		}
	}
	if !found {
		t.Errorf("no case %q has the outcome in README.md:\n%s", id, shown)
	}
}

// shownCase returns the case in README.md: its id and what jobfate does.
func shownCase(t *testing.T) (id string, outcome []byte) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	NoError(t, err)
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
	if ToJSON(c.Jobfate) != ToJSON(got) {
		return "-want +got:\n" + cmp.Diff(c.Jobfate, got)
	}
	return decides(t, c)
}

// decides checks that Decide and the Machine agree, except about pending writes and faults,
// which are not part of the input of Decide.
func decides(t *testing.T, c *vectors.Case) string {
	s := &c.Snapshot
	if ToJSON(s.Pending) != "{}" || ToJSON(c.Faults) != "{}" {
		return ""
	}
	record := s.Backoff.Record()
	if !s.Backoff.InDoubt {
		record.Job = s.Job.UID
	}
	d, err := decide.Job(decide.Snapshot{
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
	if ToJSON(want) != ToJSON(got) {
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
func ended(d decide.Decision) bool { return d.Action == "" }

// writes returns the writes of a decision.
func writes(d decide.Decision) []vectors.Write {
	var w vectors.Writes
	for _, claim := range d.Claim {
		verb := vectors.Verb(claim.Action)
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

// TestReader runs the reader in Python on all cases, and its test, in which each case is changed.
func TestReader(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("the reader of the cases needs Python 3: install the package python3")
	}
	for _, program := range []string{"reader.py", "reader_test.py"} {
		out, err := exec.Command(python, "-B", program).CombinedOutput()
		t.Logf("%s:\n%s", program, out)
		if err != nil {
			t.Errorf("%s: %v", program, err)
		}
	}
}
