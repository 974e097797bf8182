package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manifests = "../../testdata/manifests"

func manifest(name string) string { return filepath.Join(manifests, name) }

func TestValidateGolden(t *testing.T) {
	checkFormats(t, "validate-wrong", "there are errors", exitNo, "validate", manifest("wrong.yaml"))
	checkFormats(t, "validate-large", "there are only warnings", exitOK, "validate", manifest("large.yaml"))
	checkFormats(t, "validate-update", "fields are immutable", exitNo, "validate", "--old", manifest("elastic.yaml"), manifest("elastic-changed.yaml"))
	checkFormats(t, "validate-status", "the status is invalid", exitNo, "validate", "--status", manifest("status.yaml"))
}

func TestValidate(t *testing.T) {
	elastic := readFile(t, manifest("elastic.yaml"))
	changed := func(oldnew ...string) string { return strings.NewReplacer(oldnew...).Replace(elastic) }
	for _, tc := range []struct {
		reason string
		stdin  string
		args   []string
		status int
		want   []string // parts of stdout, or of stderr if the input cannot be read
	}{
		{"a good one", elastic, nil, exitOK, []string{"standard input:1: Job elastic accepted, 0 errors, 0 warnings; not checked: "}},
		{"two, one of them good", elastic + "---\n" + changed("completions: 10", "completions: -1"), nil, exitNo,
			[]string{"Job elastic accepted", "standard input:21:3: error: spec.completions: Invalid value: -1", "standard input:16: Job elastic rejected, 1 error, 0 warnings"}},
		{"what kubectl printed, with the UID of another Job", edit(t, "finished")[:strings.Index(edit(t, "finished"), "---\n")], nil, exitNo,
			[]string{"error: spec.selector: Invalid value: `selector` not auto-generated; leave it out", "error: spec.template.metadata.labels[controller-uid]: Invalid value: the API server sets this label to the UID of the new Job", "Job report rejected, 3 errors"}},
		{"a generated name", changed("name: elastic", "generateName: elastic-"), nil, exitOK, []string{"accepted"}},
		{"a generated name that is cut", changed("name: elastic", "generateName: "+strings.Repeat("a", 253), "completionMode: Indexed", ""), nil, exitOK, []string{"accepted"}},
		{"a name that is too long for a label", changed("name: elastic", "name: "+strings.Repeat("a", 64), "completionMode: Indexed", ""), nil, exitNo,
			[]string{"error: spec.template.labels: Invalid value: \"" + strings.Repeat("a", 64) + "\": must be no more than 63 bytes\n", "rejected, 1 error, "}},
		{"no name", changed("name: elastic", "labels: {}"), nil, exitNo, []string{"error: metadata.name: Required value"}},
		{"a name that is not a DNS label", changed("name: elastic", "name: elastic.job", "completionMode: Indexed", ""), nil, exitOK, []string{":4:3: warning: metadata.name: this is used in Pod names"}},
		{"nothing changes", elastic, []string{"--old", manifest("elastic.yaml")}, exitOK, []string{"accepted"}},
		{"scaled in tandem", changed("10", "12"), []string{"--old", manifest("elastic.yaml")}, exitOK, []string{"accepted"}},
		{"an immutable mode", changed("completionMode: Indexed", "completionMode: NonIndexed"), []string{"--old", manifest("elastic.yaml")}, exitNo,
			[]string{"standard input:8:3: error: spec.completionMode: Invalid value: \"NonIndexed\": field is immutable\n"}},
		{"an added policy", changed("  template:", "  podFailurePolicy: {rules: []}\n  template:"), []string{"--old", manifest("elastic.yaml")}, exitNo,
			[]string{"standard input:9:3: error: spec.podFailurePolicy: Invalid value: field is immutable\n"}},
		{"another name", changed("name: elastic", "name: rigid"), []string{"--old", manifest("elastic.yaml")}, exitNo, []string{"error: metadata.name: kubectl apply updates the Job rigid, not elastic [kubectl apply]\n"}},
		{"another namespace", changed("name: elastic", "name: elastic\n  namespace: other"), []string{"--old", manifest("elastic.yaml")}, exitNo,
			[]string{"error: metadata.namespace: kubectl replace updates the Job in the namespace other, not in default [kubectl replace]\n"}},
		{"one container more", elastic + "      - name: two\n        image: two\n", []string{"--old", manifest("elastic.yaml")}, exitNo,
			[]string{"standard input:12:7: error: spec.template: Invalid value: field is immutable; the first difference is at spec.template.spec.containers [kubectl apply]\n"}},
		{"a rule named as the position of another", changed("  template:", "  podFailurePolicy:\n    rules:\n    - name: '1'\n      action: Ignore\n      onExitCodes: {operator: In, values: [1]}\n    - action: Count\n      onExitCodes: {operator: In, values: [2]}\n  template:"), nil, exitNo,
			[]string{"standard input:11:7: error: spec.podFailurePolicy.rules[0].name: Invalid value: \"1\": must not be the index of another rule\n"}},
		{"two old ones", elastic, []string{"--old", "two.yaml"}, exitInput, []string{"two.yaml: document 2 is a second Job; the first is "}},
		{"two new ones", elastic + "---\n" + elastic, []string{"--old", manifest("elastic.yaml")}, exitInput, []string{"standard input: document 2 is a second Job; want only the Job that updates elastic"}},
		{"no old one", elastic, []string{"--old", "nowhere.yaml"}, exitInput, []string{"validate: nowhere.yaml: no such file"}},
		{"an old file without a Job", elastic, []string{"--old", filepath.Join(samples, "finished", "pods.yaml")}, exitInput, []string{"the input has no Job, only Pod; want a Job"}},
		{"a list without Jobs", "apiVersion: v1\nkind: List\nitems: []\n", nil, exitInput, []string{"standard input: the input has no Job"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			for i, arg := range tc.args {
				if arg == "two.yaml" {
					tc.args[i] = tempFile(t, arg, elastic+"---\n"+elastic)
				}
			}
			checkParts(t, tc.reason, runWith(tc.stdin, append([]string{"validate"}, tc.args...)...), tc.status, tc.want)
		})
	}
}

// TestEveryManifestIsUsed checks that docs/command.md uses each manifest.
func TestEveryManifestIsUsed(t *testing.T) {
	entries, err := os.ReadDir(manifests)
	if err != nil {
		t.Fatal(err)
	}
	docs := readFile(t, "../../../docs/command.md")
	for _, e := range entries {
		if !strings.Contains(docs, "testdata/manifests/"+e.Name()) {
			t.Errorf("docs/command.md does not use %s", e.Name())
		}
	}
}
