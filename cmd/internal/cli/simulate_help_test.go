package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The scenario that simulate -h prints can be played, with its events.
func TestSimulateHelp_scenario(t *testing.T) {
	_, rest, _ := strings.Cut(simulateUsage, "Every field is optional:\n")
	text, _, ok := strings.Cut(rest, "\nWith an existing Job")
	if !ok {
		t.Fatal("the help has no scenario")
	}
	scenario := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completions: 8
  parallelism: 8
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: image}]
`
	got := runWith(job, "simulate", "--scenario", scenario)
	if got.Status != exitOK || got.Stderr != "" {
		t.Fatalf("got status %d and %q, want success", got.Status, got.Stderr)
	}
	for _, want := range []string{
		"suspend is set to true", "suspend is set to false", "pod train-2-", "is evicted", "the node of pod train-4-", "is lost", "is deleted by force",
	} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("the output lacks %q:\n%s", want, got.Stdout)
		}
	}
}
