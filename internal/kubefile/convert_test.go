package kubefile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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
		{"names that begin with a digit", "metadata:\n  name: 3d-render-abcde\nspec:\n  nodeName: 10.0.0.1\nstatus:\n  reason: 1.2.3/24", true},
		{"a number in hexadecimal digits", "metadata:\n  name: 0x1f", false},
		{"a day", "metadata:\n  name: 2026-01-01", false},
		{"annotations that are not kept", "metadata:\n  annotations:\n    batch.kubernetes.io/job-completion-index: \"3\"\n    network: |-\n      [{\n          \"a\": 1\n      }]\n    x: 'a\n      b'", true},
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
			if diff := cmp.Diff(pruned(want, keepOfPod), got); diff != "" {
				t.Errorf("-parser +converter:\n%s", diff)
			}
		})
	}
}

// TestScalarIsParser converts scalars that look like numbers, times and names.
func TestScalarIsParser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[0-9][0-9a-z./_-]{0,9}`),
			rapid.StringMatching(`[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}[a-z]?`),
			rapid.StringMatching(`[0-9.]{1,9}[eE]?[0-9]{0,2}`),
			rapid.StringMatching(`[A-Za-z~.-][a-z0-9./-]{0,6}`),
		).Draw(t, "text")
		var c converter
		if !c.scalar([]byte(text)) {
			return
		}
		documents, err := chunk{text: []byte("a: " + text + "\n"), line: 1}.yaml()
		if err != nil {
			t.Fatalf("%s is no YAML: %v", text, err)
		}
		if got, want := `{"a":`+string(c.out)+"}", string(documents[0].value); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
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
