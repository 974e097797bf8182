package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{"the worst first", nil, exitOK, []string{`NAME      COMPLETIONS   DURATION   AGE     CAUSE        MESSAGE
import    0/3           40s        40s     Ending       the Job fails: pod import-4hxq2: container main, exit code 42; matched FailJob rule 1 (ConfigurationError) on container…
nightly   1/4           5m40s      5m40s   Suspended    the Job is suspended; deleting 2 pods
crawl     0/4           40s        40s     BackingOff   backing off until 10:00:51Z after 2 failures, 20s after pod crawl-qj6tb failed: container example, exit code 1
report    1/1           90s        40s     Finished     the Job is Complete: CompletionsReached: Reached expected number of succeeded pods
`,
			"OtherKinds: objects of other kinds were skipped: Service\n"}},
		{"the status of the worst", []string{"--exit-status"}, 5, []string{"Finished"}},
		{"one of them", []string{"--job", "report"}, exitOK, []string{"Finished: the Job is Complete", "OtherKinds: "}},
		{"with its namespace", []string{"--job", "default/nightly", "--exit-status"}, 4, []string{"Suspended: the Job is suspended"}},
		{"none of them", []string{"--job", "other"}, exitInput, []string{"no Job other in the input, which has default/report, default/crawl, default/nightly, default/import\n"}},
		{"a Job that --managed-by does not manage", []string{"--managed-by", "me"}, exitInput, []string{"spec.managedBy: "}},
	} {
		got := runWith(input, append([]string{"explain", "--now", "2023-08-21T10:00:40Z"}, tc.args...)...)
		checkParts(t, tc.reason, got, tc.status, tc.want)
	}
	seven := strings.Join(docs, "\n---\n")
	for _, name := range []string{"b", "c", "d"} {
		seven += "\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + "}\nspec: {}\nstatus: {}\n"
	}
	checkParts(t, "none of seven", runWith(seven, "explain", "--job", "other"), exitInput, []string{"default/import, b, 2 more\n"})
	if all := fromJSON[overview](t, runWith(input, "explain", "-o", "json").Stdout); len(all.Jobs) != 4 {
		t.Errorf("got %d Jobs, want 4", len(all.Jobs))
	}
	twins := strings.Replace(docs[0], "namespace: default", "namespace: test", 1) + "\n---\n" + docs[0]
	checkParts(t, "two Jobs of the same name", runWith(twins, "explain", "--job", "report"), exitInput, []string{"the input has 2 Jobs named report; add the namespace, as in --job test/report"})
}

// TestTable aligns what is not in one namespace, has not started, has no completions, or must be escaped.
func TestTable(t *testing.T) {
	const input = `apiVersion: batch/v1
kind: Job
metadata: {name: "a\u009bé", namespace: one, uid: a}
spec: {suspend: true, parallelism: 3}
status: {succeeded: 1}
---
apiVersion: batch/v1
kind: Job
metadata: {name: "b\n\tc", namespace: two, uid: b, creationTimestamp: "2023-08-20T08:00:00Z"}
spec: {suspend: true}
status: {}
`
	const want = `NAMESPACE   NAME       COMPLETIONS   DURATION   AGE         CAUSE       MESSAGE
two         b\n\tc     0/1                      26h         Suspended   the Job is suspended
one         a\u009bé   1/1 of 3                 <unknown>   Ending      the Job succeeds: CompletionsReached: Reached expected number of succeeded pods
`
	for _, color := range []string{"never", "always"} {
		got := escapes.ReplaceAllString(runWith(input, "explain", "--color", color).Stdout, "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("--color %s (-want +got):\n%s", color, diff)
		}
	}
	long := strings.Replace(edit(t, "cannot-start"), "exceeded quota", strings.Repeat("é", mostCell)+" end", 1)
	for more, whole := range map[string]bool{"": false, "--all": true} {
		got := runWith(long+"\n---\n"+input, strings.Fields("explain "+more)...).Stdout
		if strings.Contains(got, "é…\n") == whole || strings.Contains(got, "é end") != whole {
			t.Errorf("%s: got\n%s\nwant the whole message: %t", more, got, whole)
		}
	}
}

// TestTimes says how old a Job is, and for how long it has run, as far as its status says.
func TestTimes(t *testing.T) {
	const failed = `conditions: [{type: Failed, status: "True", lastTransitionTime: "2023-08-21T09:30:09Z"}]`
	for status, want := range map[string]string{
		"":                                  "created 26h ago, at ",
		`startTime: "2023-08-21T09:00:09Z"`: "created 26h ago, started 60m ago, at ",
		failed:                              "created 26h ago, ended 30m ago, at ",
		failed + `, startTime: "2023-08-21T09:00:09Z"`: "created 26h ago, ran for 30m, ended 30m ago, at ",
	} {
		input := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: b, uid: c, creationTimestamp: \"2023-08-20T08:00:00Z\"}\n" +
			"spec: {}\nstatus: {" + status + "}\n"
		checkPart(t, status, runWith(input, "explain").Stdout, "\nJob b/a, 0 pods, "+want)
	}
}
