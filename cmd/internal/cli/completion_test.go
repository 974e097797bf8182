package cli

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestBashCompletes lets bash complete command lines.
func TestBashCompletes(t *testing.T) {
	script := runWith("", "completion", "bash").Stdout
	for _, tc := range []struct {
		words string // after jobfate; the last is completed
		want  []string
	}{
		{"ex", []string{"explain"}},
		{"explain --ma", []string{"--managed-by", "--max-input"}},
		{"explain job.yaml --exit", []string{"--exit-status"}},
		{"validate -o s", []string{"sarif"}},
		{"explain --color a", []string{"auto", "always"}},
		{"indexes c", []string{"count", "contains"}},
		{"completion f", []string{"fish"}},
		{"validate completion_te", []string{"completion_test.go"}},
		{"explain --now comple", []string{"completion.go", "completion_test.go"}},
	} {
		program := script + "COMP_WORDS=(jobfate " + tc.words + "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _jobfate; printf '%s\\n' \"${COMPREPLY[@]}\""
		out, err := exec.Command("bash", "-euc", program).CombinedOutput()
		got := strings.Fields(string(out))
		slices.Sort(got)
		slices.Sort(tc.want)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q and %v, want %q", tc.words, got, err, tc.want)
		}
	}
}
