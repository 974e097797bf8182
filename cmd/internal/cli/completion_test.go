package cli

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCompletionScripts checks that each script has every command and flag that
// the usage lists.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range shellNames() {
		got := runWith("", "completion", shell)
		if got.Status != exitOK || got.Stderr != "" {
			t.Fatalf("%s: got status %d and %q", shell, got.Status, got.Stderr)
		}
		for _, c := range commands {
			listed := map[string]string{"bash": `compgen -W "[^"]*\b` + c.name + `\b[^"]*"`, "zsh": `\n\s*'` + c.name + `:`, "fish": ` -f -a ` + c.name + ` -d `}[shell]
			if !regexp.MustCompile(listed).MatchString(got.Stdout) {
				t.Errorf("%s: got no %s in the list of commands of\n%s", shell, c.name, got.Stdout)
			}
			for _, flag := range flagLine.FindAllStringSubmatch(runWith("", c.name, "-h").Stdout, -1) {
				want := map[string]string{"bash": "-" + flag[1], "zsh": "-" + flag[1] + "=?\\[", "fish": " " + flag[1] + " -d '"}[shell]
				if !regexp.MustCompile(want).MatchString(got.Stdout) {
					t.Errorf("%s %s: got no %s in\n%s", shell, c.name, want, got.Stdout)
				}
			}
		}
		for _, value := range []string{"text json yaml sarif", "auto always never", "count contains union", "bash zsh fish", "help", "version"} {
			checkPart(t, shell, got.Stdout, value)
		}
		if shell != "bash" {
			checkPart(t, shell, got.Stdout, "as in 2023-08-21T10:00:00Z, 2023-08-21T10:00:00 (local time)")
			checkPart(t, shell, got.Stdout, map[string]string{"zsh": `rules\[0\].action`, "fish": "rules[0].action"}[shell])
		}
	}
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}, {"completion", "bash", "zsh"}} {
		if got := runWith("", args...); got.Status != exitUsage || !strings.Contains(got.Stderr, "bash, zsh or fish") {
			t.Errorf("%v: got status %d and %q", args, got.Status, got.Stderr)
		}
	}
}

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
