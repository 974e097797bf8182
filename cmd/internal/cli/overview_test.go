package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSeveralJobs explains all samples at once, as of a namespace.
func TestSeveralJobs(t *testing.T) {
	var docs []string
	for _, sample := range []string{"finished", "backing-off", "suspended", "failed-by-rule"} {
		docs = append(docs, edit(t, sample))
	}
	other := "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Event\nreason: FailedCreate\n---\napiVersion: v1\nkind: Node\n"
	input := strings.Join(append(docs, other), "\n---\n")
	for _, tc := range []struct {
		reason string
		args   []string
		status int
		want   []string // parts of stdout, or of stderr for an error
	}{
		{"the worst first", nil, exitOK, []string{"default/import: Ending: the Job fails: ", "default/nightly: Suspended: the Job is suspended; deleting 2 pods\ndefault/crawl: BackingOff: ", "default/report: Finished: ",
			"OtherKinds: objects of other kinds were skipped: Service\n"}},
		{"the status of the worst", []string{"--exit-status"}, 5, []string{"Finished"}},
		{"one of them", []string{"--job", "report"}, exitOK, []string{"Finished: the Job is Complete", "OtherKinds: "}},
		{"with its namespace", []string{"--job", "default/nightly", "--exit-status"}, 4, []string{"Suspended: the Job is suspended"}},
		{"none of them", []string{"--job", "other"}, exitInput, []string{"no Job other in the input, which has default/report, default/crawl, default/nightly, default/import\n"}},
		{"a Job that --managed-by does not manage", []string{"--managed-by", "me"}, exitInput, []string{"spec.managedBy: "}},
	} {
		got := runWith(input, append([]string{"explain", "--now", "2023-08-21T10:00:40Z"}, tc.args...)...)
		if got.Status != tc.status {
			t.Errorf("%s: got status %d and %q, want %d", tc.reason, got.Status, got.Stderr, tc.status)
		}
		text := got.Stdout
		if tc.status == exitInput {
			text = got.Stderr
		}
		for _, want := range tc.want {
			checkPart(t, tc.reason, text, want)
		}
	}
	seven := strings.Join(docs, "\n---\n")
	for _, name := range []string{"b", "c", "d"} {
		seven += "\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + "}\nspec: {}\nstatus: {}\n"
	}
	checkPart(t, "none of seven", runWith(seven, "explain", "--job", "other").Stderr, "default/import, b, 2 more\n")
	if first, _, _ := strings.Cut(runWith(input, "explain").Stdout, "\n"); !strings.HasPrefix(first, "default/") || !strings.Contains(first, "the Job fails") {
		t.Errorf("got %q first, want the Job that fails", first)
	}
	var all overview
	if err := json.Unmarshal([]byte(runWith(input, "explain", "-o", "json").Stdout), &all); err != nil || len(all.Jobs) != 4 {
		t.Errorf("got %d Jobs and %v, want 4", len(all.Jobs), err)
	}
	twins := strings.Replace(docs[0], "namespace: default", "namespace: test", 1) + "\n---\n" + docs[0]
	checkPart(t, "two Jobs of the same name", runWith(twins, "explain", "--job", "report").Stderr, "the input has 2 Jobs named report; add the namespace, as in --job test/report")
}

// TestKubectlGet explains what kubectl get job,pods,events and kubectl get all
// print: one List of many kinds.
func TestKubectlGet(t *testing.T) {
	list := strings.Replace(edit(t, "suspended"), `"items": [`, `"items": [{"apiVersion":"v1","kind":"Event"},{"apiVersion":"v1","kind":"Service"},{"apiVersion":"apps/v1","kind":"Deployment"},`, 1)
	got := runWith(list, "explain", "--now", "2023-08-21T10:00:00Z")
	if got.Status != exitOK || !strings.HasPrefix(got.Stdout, "Suspended: the Job is suspended") {
		t.Errorf("got status %d, %s%s", got.Status, got.Stdout, got.Stderr)
	}
	checkPart(t, "notes", got.Stdout, "Notes:\n  OtherKinds: objects of other kinds were skipped: Deployment, Service")
}
