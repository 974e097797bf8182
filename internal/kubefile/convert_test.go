package kubefile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConverter converts what it can, as the YAML parser would, and gives up on
// the rest.
func TestConverter(t *testing.T) {
	const uid = "5b2e0002-7d1e-4c55-9a0b-3f9a00000002"
	for _, tc := range []struct {
		reason string
		pod    string // what follows the kind
		ok     bool
	}{
		{"a UID", "metadata:\n  uid: " + uid, true},
		{"numbers, texts, nothing", "metadata:\n  name: a\n  namespace:\n  labels:\n    a: \"1\"\n    b: 'c d'\n    d: {}\n    e: 12\n    f: true\n    g: null", true},
		{"lists", "metadata:\n  finalizers:\n  - a\n  - b\nstatus:\n  conditions:\n  - type: A\n    status: \"True\"\n  - type: B", true},
		{"a list that is indented", "metadata:\n  finalizers:\n    - a", true},
		{"what is not kept may be anything", "spec:\n  containers:\n  - args: [\"a\", |\n  x: &a !!b *c\n  nodeName: node", true},
		{"no space after a dash", "metadata:\n  finalizers:\n  -", false},
		{"a list in a list", "metadata:\n  finalizers:\n  - - a", false},
		{"a key that is no plain text", "metadata:\n  labels:\n    \"a\": b", false},
		{"a key that may be a truth value", "metadata:\n  labels:\n    yes: b", false},
		{"a key twice", "metadata:\n  name: a\n  name: b", false},
		{"a list where keys are", "metadata:\n  name: a\n  - b", false},
		{"what may be a truth value", "metadata:\n  name: No", false},
		{"what may be a number", "metadata:\n  name: 1e3", false},
		{"an octal number", "metadata:\n  name: 012", false},
		{"not quite a UID", "metadata:\n  uid: " + strings.Replace(uid, "-", "0", 1), false},
		{"an escape", "metadata:\n  name: \"a\\n\"", false},
		{"two quotes", "metadata:\n  name: 'it''s'", false},
		{"a quote that does not end", "metadata:\n  name: 'a", false},
		{"not ASCII", "metadata:\n  name: \"ü\"", false},
		{"two lines", "metadata:\n  name: a\n    b", false},
		{"an item of two lines", "metadata:\n  finalizers:\n  - a\n    b", false},
		{"a block", "metadata:\n  name: |\n    a", false},
		{"a comment", "metadata:\n  # a\n  name: b", false},
		{"an anchor", "metadata:\n  name: &a b", false},
		{"a tab", "metadata:\n\tname: b", false},
		{"a colon within", "metadata:\n  name: a:b", false},
		{"indented too far", "metadata:\n  name: a\nspec:\n    nodeName: a\n   x: b", false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			pod := "  apiVersion: v1\n  kind: Pod\n  " + strings.ReplaceAll(tc.pod, "\n", "\n  ") + "\n"
			var c converter
			value, ok := c.pod([]byte(pod))
			if ok != tc.ok {
				t.Fatalf("got %s, %t, want %t", value, ok, tc.ok)
			}
			if !ok || strings.Contains(pod, "!!b") { // the parser refuses that
				return
			}
			documents, err := chunk{text: []byte(pod), line: 1}.yaml()
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal(value, &got); err != nil {
				t.Fatalf("got %s: %v", value, err)
			}
			if err := json.Unmarshal(documents[0].value, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-parser +converter:\n%s", diff)
			}
		})
	}
}

func TestReadJobs(t *testing.T) {
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {}\n"
	source := func(input string) Source { return Source{Name: "f", Reader: strings.NewReader(input)} }
	all, err := ReadJobs(source(job+"---\n"+job), source(job))
	if err != nil || len(all) != 3 || all[1].At.At("spec") != "f:9" || all[0].Job.Name != "a" {
		t.Errorf("got %d Jobs and %v, want 3", len(all), err)
	}
	for input, want := range map[string]string{
		"":                             "f: it is empty; want a Job",
		"kind: List\napiVersion: v1\n": "f: there is no Job in it",
		"kind: Pod\napiVersion: v1\n":  "f: document 1 is a Pod; want a Job",
		job + "status: 5\n":            "f:5: status: cannot unmarshal number into v1.JobStatus",
	} {
		if _, err := ReadJobs(source(input)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", input, err, want)
		}
	}
}
