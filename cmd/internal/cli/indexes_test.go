package cli

import (
	"errors"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestIndexes(t *testing.T) {
	const hint = "run jobfate indexes -h for usage\n"
	for _, tc := range []struct {
		args  []string
		stdin string
		want  result
	}{
		{[]string{"count", "0-10,12"}, "", result{Stdout: "12\n"}},
		{[]string{"count", ""}, "", result{Stdout: "0\n"}},
		{[]string{"count", "0-2147483646"}, "", result{Stdout: "2147483647\n"}},
		{[]string{"contains", "12", "0-10,12"}, "", result{Stdout: "true\n"}},
		{[]string{"contains", "11", "0-10,12"}, "", result{Status: exitNo, Stdout: "false\n"}},
		{[]string{"union", "1,2,3"}, "", result{Stdout: "1-3\n"}},
		{[]string{"union", "0-3", "-", "9"}, "2-5\n", result{Stdout: "0-5,9\n"}},
		{[]string{"minus", "0-10", "3-5", "9"}, "", result{Stdout: "0-2,6-8,10\n"}},
		{[]string{"minus", "1", "1"}, "", result{Stdout: "\n"}},
		{[]string{"missing", "--completions", "1000", "0-10,12"}, "", result{Stdout: "11,13-999\n"}},
		{[]string{"missing", "0-10", "12", "--completions=20"}, "", result{Stdout: "11,13-19\n"}},
		{[]string{"missing", "--completions", "2147483647", ""}, "", result{Stdout: "0-2147483646\n"}},
		{[]string{"next", "--completions", "10", "--count", "3", "0-4,6"}, "", result{Stdout: "5\n7\n8\n"}},
		{[]string{"next", "--completions", "10", "0-4,6"}, "", result{Stdout: "5\n"}},
		{[]string{"next", "--completions", "5", "0-4"}, "", result{Status: exitNo}},
		{[]string{"count", "5,1"}, "", result{Status: exitInput, Stderr: "jobfate indexes: set 1: at character 3, \"1\": non-increasing order, previous: 5, current: 1\n"}},
		{[]string{"count", "-"}, "a", result{Status: exitInput, Stderr: "jobfate indexes: standard input: at character 1, \"a\": cannot convert string to integer for index: \"a\"\n"}},
		{nil, "", result{Status: exitUsage, Stderr: "jobfate indexes: missing operation; want count, contains, union, minus, missing or next\n" + hint}},
		{[]string{"add", "1"}, "", result{Status: exitUsage, Stderr: "jobfate indexes: unknown operation \"add\"; want count, contains, union, minus, missing or next\n" + hint}},
		{[]string{"count"}, "", result{Status: exitUsage, Stderr: "jobfate indexes: count: too few arguments\n" + hint}},
		{[]string{"count", "1", "2"}, "", result{Status: exitUsage, Stderr: "jobfate indexes: count: too many arguments; put a set in quotes if it has spaces\n" + hint}},
		{[]string{"contains", "x", "1"}, "", result{Status: exitUsage, Stderr: "jobfate indexes: contains: \"x\": want a number from 0 to 2147483647\n" + hint}},
		{[]string{"missing", "1"}, "", result{Status: exitUsage, Stderr: "jobfate indexes: missing needs --completions\n" + hint}},
		{[]string{"next", "--completions", "5", "--count", "0", "1"}, "", result{Status: exitUsage, Stderr: "jobfate indexes: --count 0: want 1 or more\n" + hint}},
		{[]string{"missing", "--completions", "many", "1"}, "", result{Status: exitUsage,
			Stderr: "jobfate indexes: invalid value \"many\" for flag -completions: want a number from 0 to 2147483647\n" + hint}},
		{[]string{"union", "-", "-"}, "", result{Status: exitUsage, Stderr: "jobfate indexes: standard input (-) is given twice\n" + hint}},
	} {
		got := runWith(tc.stdin, append([]string{"indexes"}, tc.args...)...)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.args, diff)
		}
	}
	env := testEnvironment()
	env.Stdin = iotest.ErrReader(errors.New("the disk is broken"))
	if err := indexes(env, []string{"count", "-"}); err == nil || err.Error() != "the disk is broken" {
		t.Errorf("got %v, want the error of the standard input", err)
	}
}

// TestHelp checks that the usage of each command lists its flags and exit statuses.
func TestHelp(t *testing.T) {
	for _, c := range commands {
		for _, args := range [][]string{{c.name, "-h"}, {"help", c.name}} {
			got := runWith("", args...)
			if got.Status != exitOK || got.Stderr != "" {
				t.Errorf("%q: got status %d and %q, want success", args, got.Status, got.Stderr)
			}
			for _, part := range []string{"Usage: jobfate " + c.name, "Exit status: 0", "\nFlags:\n  -"} {
				if c.name == "completion" && part == "\nFlags:\n  -" {
					continue // it has no flags
				}
				checkPart(t, c.name, got.Stdout, part)
			}
		}
	}
}
