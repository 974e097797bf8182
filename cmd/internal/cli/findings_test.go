package cli

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
)

func TestEveryTrapIsTested(t *testing.T) {
	transcript := readFile(t, "testdata/transcripts/traps.txt")
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
		if got := suggestion(reflect.TypeFor[batchv1.Job](), path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// TestSARIF checks what a CI system reads.
func TestSARIF(t *testing.T) {
	got := runWith("", "validate", "-o", "sarif", manifest("wrong.yaml"))
	if got.Status != exitNo {
		t.Errorf("got status %d, want %d", got.Status, exitNo)
	}
	checkGolden(t, "validate-wrong.sarif", got.Stdout)
	log := fromJSON[sarifLog](t, got.Stdout)
	for _, r := range log.Runs[0].Tool.Driver.Rules {
		if r.Short.Text == "" || strings.Contains(r.Short.Text, "unknown error") {
			t.Errorf("got %+v, want a description", r)
		}
	}
	for file, want := range map[string]string{"a b.yaml": "a%20b.yaml", "/tmp/ü.yaml": "file:///tmp/%C3%BC.yaml", "a/b.yaml": "a/b.yaml"} {
		if got := uri(file); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}
