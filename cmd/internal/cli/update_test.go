package cli

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// e2e/plugin compares the answers with those of the API server to the real kubectl.
func TestUpdate(t *testing.T) {
	live, job := readFile(t, manifest("elastic-live.yaml")), readFile(t, manifest("elastic.yaml"))
	const large = "  completionMode: Indexed\n  completions: 100001\n  parallelism: "
	const apply, replace = "kubectl apply: Job elastic ", "kubectl replace: Job elastic "
	noAnnotation := live[:strings.Index(live, "  annotations:")] + live[strings.Index(live, "  creationTimestamp:"):]
	old127 := strings.ReplaceAll(strings.ReplaceAll(live, "        batch.kubernetes.io/", "        old.example.com/"), "      batch.kubernetes.io/controller-uid", "      controller-uid")
	for _, tc := range []struct {
		reason, old, job string
		by               string
		status           int
		want             []string
	}{
		{"the manifest of the Job", live, job, "both", exitOK, []string{apply + "accepted, 0 errors, 0 warnings", replace + "rejected, 4 errors"}},
		{"the same, replaced", live, job, "replace", exitNo, []string{":5:1: error: spec.selector: Required value\n", replace + "rejected, 4 errors"}},
		{"what kubectl get printed", live, live, "replace", exitOK, []string{replace + "accepted"}},
		{"the same, and since then deleted in the foreground", edited(t, live, "\n  uid: 5b2e0047",
			"\n  deletionTimestamp: 2026-05-01T12:00:00Z\n  deletionGracePeriodSeconds: 0\n  uid: 5b2e0047"), live, "replace", exitOK,
			[]string{replace + "accepted"}},
		{"more parallelism in it", live, edited(t, live, "parallelism: 10\n  podR", "parallelism: 7\n  podR"), "replace", exitOK, []string{replace + "accepted"}},
		{"a field less", live, edited(t, job, "  parallelism: 10\n", ""), "apply", exitOK, []string{apply + "accepted, 0 errors, 0 warnings"}},
		{"a default written out", live, edited(t, job, "image: registry", "imagePullPolicy: IfNotPresent\n        image: registry"), "apply", exitOK, []string{apply + "accepted, 0 errors, 0 warnings"}},
		{"no name", live, edited(t, job, "  name: elastic\n", "  labels: {}\n"), "apply", exitNo, []string{"error: metadata.name: Required value: kubectl apply needs a name\n"}},
		{"a field less that apply must keep", live, edited(t, job, "  completions: 10\n", ""), "apply", exitNo,
			[]string{"error: spec.completions: Required value: when completion mode is Indexed\n"}},
		{"the same without the annotation", noAnnotation, edited(t, job, "  completions: 10\n", ""), "apply", exitOK,
			[]string{"warning: metadata.annotations: the old Job has no annotation kubectl.kubernetes.io/last-applied-configuration, so kubectl apply keeps ", apply + "accepted, 0 errors, 1 warning"}},
		{"null, without the annotation", noAnnotation, edited(t, job, "completions: 10", "completions: null"), "apply", exitNo, []string{"spec.completions: Required value"}},
		{"nothing, to a Job that the API server would no longer accept", edited(t, live, "backoffLimit: 6", "backoffLimit: -6"), job, "apply", exitOK, []string{apply + "accepted"}},
		{"something, to such a Job", edited(t, live, "backoffLimit: 6", "backoffLimit: -6"), edited(t, job, "parallelism: 10", "parallelism: 5"), "apply", exitNo, []string{"spec.backoffLimit: Invalid value: -6"}},
		{"a manifest and its output", job, live, "both", exitOK, []string{apply + "accepted", replace + "accepted"}},
		{"an unknown field", live, edited(t, job, "  parallelism: 10\n", "  parallelism: 10\n  novelty: {a: [b]}\n"), "apply", exitNo, []string{"error: spec.novelty: unknown field", apply + "rejected"}},
		{"an unknown field of both", edited(t, live, "  parallelism: 10\n", "  parallelism: 10\n  novelty: {a: [b]}\n"), edited(t, job, "  parallelism: 10\n", "  parallelism: 10\n  novelty: {a: [b]}\n"), "apply", exitOK, []string{"warning: spec.novelty: unknown field", apply + "accepted"}},
		{"an annotation with an unknown field", edited(t, live, `"parallelism":10`, `"novelty":{"a":["b"]}`), job, "apply", exitOK, []string{apply + "accepted"}},
		{"an annotation that is no Job", edited(t, live, `{"apiVersion":"batch/v1","kind":"Job"`, `{"apiVersion":"v1","kind":"Pod"`), job, "apply", exitNo,
			[]string{"kubectl cannot merge the Job: the annotation kubectl.kubernetes.io/last-applied-configuration: the input has no Job, only Pod"}},
		{"an annotation with null in place of a container", edited(t, live, `"containers":[`, `"containers":[null,`), job, "apply", exitNo,
			[]string{"kubectl cannot merge the Job: it panics, for example on null in place of an item of a list"}},
		{"a container without a name", live, edited(t, job, "- name: main\n", "- workingDir: /\n"), "apply", exitNo, []string{"kubectl cannot merge the Job: map: map[", "does not contain declared merge key: name"}},
		{"a Job from before Kubernetes 1.27, which has fewer labels", old127, old127, "both", exitOK, []string{apply + "accepted", replace + "accepted"}},
		{"both names of the service account", edited(t, live, "schedulerName:", "serviceAccount: a\n      serviceAccountName: a\n      schedulerName:"),
			edited(t, live, "schedulerName:", "serviceAccountName: a\n      schedulerName:", "PeriodSeconds: 30", "PeriodSeconds: 60"), "replace", exitNo,
			[]string{"the first difference is at spec.template.spec.terminationGracePeriodSeconds\n"}},
		{"an older version", live, edited(t, live, `resourceVersion: "41285"`, `resourceVersion: "41284"`), "both", exitNo,
			[]string{"metadata.resourceVersion: the object has been modified; please apply your changes to the latest version and try again\n", apply + "rejected, 1 error", replace + "rejected, 1 error"}},
		{"another Job of the same name", live, edited(t, live, "\n  uid: 5b2e0047", "\n  uid: 5b2e0048"), "replace", exitNo, []string{"error: metadata.uid: Precondition failed: UID in precondition: 5b2e0048-"}},
		{"a name of which the API server warns only when the Job is created", strings.Replace(jobWith(""), ": a", ": a.b", 1), strings.Replace(jobWith("  parallelism: 2\n"), ": a", ": a.b", 1), "apply", exitOK,
			[]string{"Job a.b accepted, 0 errors, 0 warnings"}},
		{"a spec of which it warns, unchanged", jobWith(large + "20000\n"), strings.Replace(jobWith(large+"20000\n"), ": a\n", ": a\n  labels: {a: b}\n", 1), "apply", exitOK,
			[]string{"warning: spec.completions: 100001 is above 100000", "0 errors, 1 warning"}},
		{"the same, changed", jobWith(large + "20000\n"), jobWith(large + "20001\n"), "apply", exitOK, []string{"warning: spec: In Indexed Jobs with a number of completions higher", "0 errors, 2 warnings"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got := runWith(tc.job, "validate", "--by", tc.by, "--old", tempFile(t, "old.yaml", tc.old))
			checkParts(t, tc.reason, got, tc.status, tc.want)
		})
	}
	old := tempFile(t, "old.yaml", live)
	if got := runWith(job, "validate", "--old", old, "-o", "sarif"); got.Status != exitOK || !strings.Contains(got.Stdout, `"results": []`) {
		t.Errorf("-o sarif: got status %d and %s, want no result, as for kubectl apply", got.Status, got.Stdout)
	}
	for _, args := range [][]string{{"--by", "apply"}, {"--by", "replace", "--old", old, "--status"}} {
		if got := runWith(job, append([]string{"validate"}, args...)...); got.Status != exitUsage || !strings.Contains(got.Stderr, "--by is for an update of the spec") {
			t.Errorf("%q: got status %d and %q, want wrong usage", args, got.Status, got.Stderr)
		}
	}
	cron := "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: elastic\nspec:\n  jobTemplate: {spec: {}}\n"
	checkParts(t, "a CronJob", runWith(cron, "validate", "--old", old), exitInput, []string{"standard input: document 1 is a CronJob; want the Job that updates elastic"})
}

// The answers are those of ValidateCronJobUpdate of Kubernetes 1.37.2, also for old CronJobs that the API server no
// longer accepts. e2e/plugin compares the answers for others with those of an API server.
func TestUpdate_cronJob(t *testing.T) {
	cron := func(name, schedule, more string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: " + name + "\nspec:\n  schedule: " + schedule + "\n  timeZone: " + more +
			"\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: Never\n          containers:\n          - {name: main, image: b}\n"
	}
	const none, zoned = "null", "TZ=UTC 0 1 * * *"
	long := strings.Repeat("a", 60)
	for _, tc := range []struct {
		reason, old, now, want string // the error; none if it is accepted
	}{
		{"another schedule and template", cron("a", "'@daily'", none), strings.Replace(cron("a", "'@hourly'", none), "image: b", "image: c", 1), ""},
		{"a long name", cron(long, "'@daily'", none), cron(long, "'@hourly'", none), ""},
		{"a wrong name", cron("A_b", "'@daily'", none), cron("A_b", "'@hourly'", none), ""},
		{"another name", cron("a", "'@daily'", none), cron("b", "'@daily'", none), "metadata.name: kubectl apply updates the CronJob b, not a"},
		{"a time zone in the schedule", cron("a", zoned, none), cron("a", "CRON_TZ=UTC 0 2 * * *", none), ""},
		{"a new one", cron("a", "0 1 * * *", none), cron("a", zoned, none), `spec.schedule: Invalid value: "TZ=UTC 0 1 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead`},
		{"one that moves to its field", cron("a", zoned, none), cron("a", "0 1 * * *", "UTC"), ""},
		{"one in both", cron("a", zoned, none), cron("a", zoned, "UTC"), `spec.schedule: Invalid value: "TZ=UTC 0 1 * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule`},
		{"an unknown time zone", cron("a", "'@daily'", "Mars/Base"), cron("a", "'@hourly'", "Mars/Base"), ""},
		{"another one", cron("a", "'@daily'", "Mars/Base"), cron("a", "'@daily'", "Mars/Bas"), `spec.timeZone: Invalid value: "Mars/Bas": unknown time zone Mars/Bas`},
		{"the first one", cron("a", "'@daily'", none), cron("a", "'@daily'", "Mars/Base"), `spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base`},
		{"none any more", cron("a", "'@daily'", "Mars/Base"), cron("a", "'@daily'", none), ""},
	} {
		got := runWith(tc.now, "validate", "--by", "apply", "--old", tempFile(t, "old.yaml", tc.old))
		_, problem, _ := strings.Cut(got.Stdout, " error: ")
		if problem, _, _ = strings.Cut(problem, "\n"); problem != tc.want || (got.Status == exitOK) != (tc.want == "") || got.Stderr != "" {
			t.Errorf("%s: got status %d, %s%s, want the error %q", tc.reason, got.Status, got.Stdout, got.Stderr, tc.want)
		}
	}
}

// Any part of the manifest, of the old Job and of its annotation may be anything. There is an
// answer or an error.
func TestUpdate_anyInput(t *testing.T) {
	live, job := readFile(t, manifest("elastic-live.yaml")), readFile(t, manifest("elastic.yaml"))
	old := filepath.Join(t.TempDir(), "old.json")
	rapid.Check(t, func(t *rapid.T) {
		was, now := fromYAML[map[string]any](t, live), fromYAML[map[string]any](t, job)
		calm := rapid.SampledFrom([]int{5, 50, 200}).Draw(t, "calm")
		metadata := was["metadata"].(map[string]any)
		annotations := metadata["annotations"].(map[string]any)
		applied := fromJSON[map[string]any](t, annotations["kubectl.kubernetes.io/last-applied-configuration"].(string))
		disturb(t, calm, applied)
		annotations["kubectl.kubernetes.io/last-applied-configuration"] = string(encode(applied))
		disturb(t, calm, was)
		disturb(t, calm, now)
		writeFile(t, old, string(encode(was)))
		got := runWith(string(encode(now)), "validate", "--old", old)
		if !slices.Contains([]int{exitOK, exitInput, exitNo}, got.Status) || (got.Stdout == "") != (got.Status == exitInput) {
			t.Fatalf("got status %d, %q and %q", got.Status, got.Stdout, got.Stderr)
		}
	})
}

// disturb adds keys, and replaces one of kept+1 values on average.
func disturb(t *rapid.T, kept int, out any) {
	now := func() bool { return rapid.IntRange(0, kept).Draw(t, "disturb") == 0 }
	other := func(value any) any {
		if !now() {
			disturb(t, kept, value)
			return value
		}
		return rapid.SampledFrom([]any{nil, "", "a", 1, -1, true, []any{}, []any{nil}, []any{"a", 1}, map[string]any{}, map[string]any{"name": "main", "a": nil},
			[]any{map[string]any{"name": "main"}, map[string]any{"name": "main"}}, map[string]any{"$patch": "delete"}}).Draw(t, "value")
	}
	switch out := out.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(out)) {
			out[key] = other(out[key])
		}
		if now() {
			key := rapid.SampledFrom([]string{"$patch", "$setElementOrder/containers", "$retainKeys", "volumes", "a.b", ""}).Draw(t, "key")
			out[key] = other(nil)
		}
	case []any:
		for i := range out {
			out[i] = other(out[i])
		}
	}
}
