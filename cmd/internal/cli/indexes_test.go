package cli

import (
	"errors"
	"testing"
	"testing/iotest"
)

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

func TestIndexes_inputThatCannotBeRead(t *testing.T) {
	env := testEnvironment()
	env.Stdin = iotest.ErrReader(errors.New("the disk is broken"))
	if err := indexes(env, []string{"count", "-"}); err == nil || err.Error() != "the disk is broken" {
		t.Errorf("got %v, want the error of the standard input", err)
	}
}
