package diagnose_test

import (
	"cmp"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/cases"
	"github.com/jobfate/jobfate/explain"
)

// A caller may keep the time of the last failure in another time zone.
func TestCause_recordInAnotherZone(t *testing.T) {
	all := inputs(t)
	i := slices.IndexFunc(all, func(in cases.Input) bool { return in.Title == "out of memory, and the next pod waits" })
	g := read(t, all[i].Documents()...)
	g.Backoff = backoff.Record{Job: g.Job.UID, Failures: 1, LastFailure: now.Add(-2 * time.Second).In(time.FixedZone("", 3600))}
	e, err := g.diagnose()
	must(t, err)
	if got := e.Cause(); got.Code != explain.JobBackingOff || got.Pod != "train-0" {
		t.Errorf("got %s: %s, of pod %q, want train-0", got.Code, got.Text, got.Pod)
	}
	if got := diagnose.Unmanaged(nil); got.Code != "" {
		t.Errorf("no Job: got %s, want nothing", got.Code)
	}
}

var updateDocs = flag.Bool("update", false, "rewrite docs/first-lines.tsv")

// docs/first-lines.tsv is the table of causes.
func TestCause_docs(t *testing.T) {
	const path = "../../docs/first-lines.tsv"
	want := "first line\twhat it means\twhat to do\n"
	for _, row := range slices.Concat(diagnose.List(), diagnose.ListCronJob()) {
		want += string(row.Code) + "\t" + row.Means + "\t" + cmp.Or(row.Advice, "—") + "\n"
	}
	if *updateDocs {
		must(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	must(t, err)
	if diff := gocmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-the table of causes +the docs; go -C cmd test ./diagnose -run Cause_docs -update):\n%s", path, diff)
	}
}
