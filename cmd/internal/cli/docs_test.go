package cli

import (
	"regexp"
	"strings"
	"testing"
)

// TestDocs runs the examples in the console blocks of docs/command.md, and compares the
// output.
func TestDocs(t *testing.T) {
	t.Chdir("../..") // the folder cmd
	const path = "../docs/command.md"
	text := readFile(t, path)
	parts := strings.Split(text, "```console\n")
	for i, part := range parts[1:] {
		block, rest, ok := strings.Cut(part, "```\n")
		if !ok {
			t.Fatalf("%s: a block has no end:\n%s", path, part)
		}
		if !strings.HasPrefix(block, "$ kubectl jobfate") { // a test of the plugin runs those
			block = play(t, block, false)
		}
		parts[i+1] = block + "```\n" + rest
	}
	checkGoldenFile(t, path, strings.Join(parts, "```console\n"))
	text = readFile(t, path)
	for _, c := range commands {
		if !strings.Contains(text, "$ jobfate "+c.name+" ") {
			t.Errorf("%s has no example of %s", path, c.name)
		}
		for _, flag := range flagLine.FindAllStringSubmatch(runWith("", c.name, "-h").Stdout, -1) {
			if !regexp.MustCompile(`[ ` + "`" + `(]--?` + flag[1] + `[ ` + "`" + `,.;\n]`).MatchString(text) {
				t.Errorf("%s does not mention the flag -%s of %s", path, flag[1], c.name)
			}
		}
	}
}

// flagLine matches the line of a flag in the usage of a command.
var flagLine = regexp.MustCompile(`(?m)^  -(\S+)`)
