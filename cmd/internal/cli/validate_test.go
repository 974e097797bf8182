package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/cmd/internal/cases"
	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func manifest(name string) string { return filepath.Join("../../testdata/manifests", name) }

func TestValidateGolden(t *testing.T) {
	checkFormats(t, "validate-wrong", "there are errors", exitNo, "validate", manifest("wrong.yaml"))
	checkFormats(t, "validate-large", "there are only warnings", exitOK, "validate", manifest("large.yaml"))
	checkFormats(t, "validate-update", "fields are immutable", exitNo, "validate", "--old", manifest("elastic.yaml"), manifest("elastic-changed.yaml"))
	checkFormats(t, "validate-status", "the status is invalid", exitNo, "validate", "--status", manifest("status.yaml"))
}

// TestEveryManifestIsUsed checks that docs/command.md uses each manifest.
func TestEveryManifestIsUsed(t *testing.T) {
	docs := console.Text("../../../docs/command.md")
	for _, file := range console.Files(manifest("*")) {
		if !strings.Contains(docs, "testdata/manifests/"+filepath.Base(file)) {
			t.Errorf("docs/command.md does not use %s", file)
		}
	}
}

// TestCreations validates manifests to which test/kubernetes/e2e/plugin has recorded the answers of a real API server, and
// compares the fields that are rejected. Unknown fields are all that such an answer names.
func TestCreations(t *testing.T) {
	const folder = "../../testdata/creations/"
	lines := strings.Split(strings.TrimSpace(console.Text(folder+"cases.tsv")), "\n")[1:]
	for _, line := range lines {
		f := append(strings.Split(line, "\t"), "", "")
		old, now, _ := strings.Cut(strings.ReplaceAll(f[2], `\n`, "\n"), " => ")
		text := strings.Replace(console.Text(folder+f[1]+".yaml"), old, now, 1)
		out := FromJSON[verdicts]([]byte(runWith(text, "validate", "-o", "json").Stdout))
		var got, unknown []string
		for _, e := range out.Jobs[0].Errors {
			got = append(got, e.Field)
			if e.Rule == "UnknownField" {
				unknown = append(unknown, e.Field)
			}
		}
		if unknown != nil {
			got = unknown
		}
		slices.Sort(got)
		Same(t, f[0]+" of "+f[1], strings.Join(slices.Compact(got), " "), f[3])
	}
}

func TestEveryTrapIsTested(t *testing.T) {
	transcript := console.Text("testdata/transcripts/traps.txt")
	for _, trap := range trapTable {
		if trap.short == "" {
			t.Errorf("%s has no description", trap.rule)
		}
		if !strings.Contains(transcript, fmt.Sprintf(`"rule": %q`, trap.rule)) {
			t.Errorf("the transcript of traps has no %s", trap.rule)
		}
	}
}

func TestSuggestion(t *testing.T) {
	for path, want := range map[string]string{
		"spec.backofflimit": "spec.backoffLimit", "spec.backOffLimitPerIndex": "spec.backoffLimitPerIndex", "spec.podFailurePolicy.rules[3].onExitCode": "spec.podFailurePolicy.rules[3].onExitCodes",
		"metdata": "metadata", "spec.template.spec.containers[0].comand": "spec.template.spec.containers[0].command", "spec.nothing": "", "nowhere.at.all": "", "": "", "spec.template.metadata.lables": "spec.template.metadata.labels",
	} {
		Same(t, path, suggestion(reflect.TypeFor[batchv1.Job](), path), want)
	}
}

// TestSARIF checks what a CI system reads.
func TestSARIF(t *testing.T) {
	got := runWith("", "validate", "-o", "sarif", manifest("wrong.yaml"))
	Same(t, "the exit status", got.Status, exitNo)
	console.Golden(t, "testdata/validate-wrong.sarif", got.Stdout)
	log := FromJSON[sarifLog]([]byte(got.Stdout))
	for _, r := range log.Runs[0].Tool.Driver.Rules {
		if r.Short.Text == "" || strings.Contains(r.Short.Text, "unknown error") {
			t.Errorf("got %+v, want a description", r)
		}
	}
	for file, want := range map[string]string{"a b.yaml": "a%20b.yaml", "/tmp/ü.yaml": "file:///tmp/%C3%BC.yaml", "a/b.yaml": "a/b.yaml"} {
		Same(t, file, uri(file), want)
	}
}

// Any part of the manifest, of the old Job and of its annotation may be anything. There is an
// answer or an error.
func TestUpdate_anyInput(t *testing.T) {
	live, job := console.Text(manifest("elastic-live.yaml")), console.Text(manifest("elastic.yaml"))
	old := filepath.Join(t.TempDir(), "old.json")
	rapid.Check(t, func(t *rapid.T) {
		was, now := cases.FromYAML(live), cases.FromYAML(job)
		calm := rapid.SampledFrom([]int{5, 50, 200}).Draw(t, "calm")
		metadata := was["metadata"].(map[string]any)
		annotations := metadata["annotations"].(map[string]any)
		applied := FromJSON[map[string]any]([]byte(annotations["kubectl.kubernetes.io/last-applied-configuration"].(string)))
		disturb(t, calm, applied)
		annotations["kubectl.kubernetes.io/last-applied-configuration"] = string(encode(applied))
		disturb(t, calm, was)
		disturb(t, calm, now)
		NoError(t, os.WriteFile(old, encode(was), 0o644))
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
