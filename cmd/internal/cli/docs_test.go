package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
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
			block = play(t, block)
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

// play runs the commands of a block and returns it with what they print.
func play(t *testing.T, block string) string {
	t.Helper()
	var b strings.Builder
	status := 0
	for _, line := range strings.Split(block, "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		fmt.Fprintln(&b, line)
		if command == "echo $?" {
			fmt.Fprintln(&b, status)
			continue
		}
		words := split(t, command)
		if words[0] != "jobfate" {
			t.Fatalf("%q is not a command that this test can run", command)
		}
		var out bytes.Buffer
		env := testEnvironment()
		env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), &out, &out
		status = Run(words[1:], env)
		b.WriteString(out.String())
	}
	return b.String()
}

// split splits a command line like a shell, as far as the examples need it.
func split(t *testing.T, line string) (words []string) {
	t.Helper()
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1) {
		if quoted := strings.Trim(word, `'"`); quoted != word {
			words = append(words, quoted)
			continue
		}
		files, err := filepath.Glob(word)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			files = []string{word}
		}
		words = append(words, files...)
	}
	return words
}
