package cli

import (
	"strings"
	"testing"
)

// The command of README.md is the one whose output the first golden file has.
func TestReadme_command(t *testing.T) {
	if want := "`go -C cmd run ./jobfate explain --now " + goldens[0].now + " testdata/samples/" + goldens[0].sample + "`"; !strings.Contains(readFile(t, "../../../README.md"), want) {
		t.Errorf("README.md does not have the command %s", want)
	}
}
