package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/cases"
	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// asFile returns the objects of an input as a file, with one Job: a second one has fields that the types of the API may
// lack.
func asFile(in cases.Input) (text string) {
	job := map[string]any{}
	for _, document := range in.Documents() {
		if o := cases.FromYAML(document); o["kind"] == "Job" {
			job = cases.Merge(job, o)
		} else {
			text += document + "\n"
		}
	}
	return text + string(encode(job))
}

// TestCauses checks that the command names the cause of each input of cmd/diagnose/testdata/causes, and that its output
// conforms to the schema. What --advise adds is in testdata/proposals.txt.
func TestCauses(t *testing.T) {
	r := Must(schemaOfCommand("explain", documents[0].types, false).Resolve(nil))
	advised := ""
	for _, in := range Must(cases.Inputs("../../diagnose/testdata/causes")) {
		input := asFile(in)
		if in.File == "proposals.yaml" {
			advised += "=== " + in.Title + "\n" + proposals(t, input)
		}
		want, _, _ := strings.Cut(in.Want, " ")
		if strings.HasPrefix(in.Unmanaged, "MultiKueue") {
			want = "MultiKueue"
		}
		if strings.Contains(input, "NodeList") {
			want = "Running" // a file does not say whether its list has all nodes
		}
		got := runWith(input, "explain", "--job", "train", "--now", "2026-05-01T12:30:00Z", "-o", "json")
		if err := conforms(r, got.Stdout); err != nil || got.Status != exitOK {
			t.Errorf("%s: %s: status %d, %v, %s", in.File, in.Title, got.Status, err, got.Stderr)
			continue
		}
		first := FromJSON[report]([]byte(got.Stdout))
		if code := first.Reason.Code; code != want && (first.ManagedBy == "" || code != "ManagedElsewhere" || first.Also[0].Code != want) {
			t.Errorf("%s: %s: got %s: %s, want %s", in.File, in.Title, code, first.Reason.Text, want)
		}
	}
	console.Golden(t, "testdata/proposals.txt", advised)
}

// proposals returns what --advise adds for an input. A simulation takes the patch in it.
func proposals(t *testing.T, input string) string {
	_, text, _ := strings.Cut(runWith(input, "explain", "--advise", "--now", "2026-05-01T12:30:00Z").Stdout, "\nWhat would have helped:\n")
	_, patch, found := strings.Cut(text, "tries it:\n\n")
	patch, _, _ = strings.Cut(patch, "\n\n")
	got := runWith(input, "simulate", "--from-creation", "--with", tempFile(t, "patch.yaml", patch))
	if found && got.Status != exitOK {
		t.Errorf("%s with\n%s", got.Stderr, patch)
	}
	return text
}

// The command knows some causes by their codes.
func TestCauses_ofTheCommand(t *testing.T) {
	all := diagnose.List()
	for _, code := range slices.Concat(ended, queued) {
		if !slices.ContainsFunc(all, func(e diagnose.Entry) bool { return e.Code == code }) {
			t.Errorf("no cause has the code %s", code)
		}
	}
}
