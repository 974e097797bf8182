// Package console plays transcripts, which tests compare with what commands print now.
//
// A line that begins with "$ " is a command, one that begins with "# " a comment; the others are output. The lines
// between a command that ends in "<<." and a single dot are its input. Commands in a pipeline, which may end in
// "> FILE", are those of the caller, and
//
//	cat FILE ...      the files, and - for the input, one document behind the other; a folder means its files
//	edit OLD NEW ...  the input with each OLD, which must occur, replaced by NEW; \n is a line break
//	grep TEXT ...     the lines of the input that have one of the texts
//	echo $?           the exit status of the last command, alone in its line
package console

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Player plays transcripts.
type Player struct {
	// Command is what each command begins with that Run runs.
	Command string
	Run     func(args []string, stdin string) (status int, stdout, stderr string)

	statuses bool // adds the exit statuses other than 0
}

// Play returns a transcript with what its commands print.
func (p Player) Play(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	last := 0
	for lines := strings.Split(text, "\n"); len(lines) > 0; lines = lines[1:] {
		command, found := strings.CutPrefix(lines[0], "$ ")
		switch {
		case strings.HasPrefix(lines[0], "# "):
			b.WriteString("\n" + lines[0] + "\n")
		case command == "echo $?":
			fmt.Fprintf(&b, "%s\n%d\n", lines[0], last)
		case found:
			b.WriteString(lines[0] + "\n")
			command, here := strings.CutSuffix(command, " <<.")
			input := ""
			if end := slices.Index(lines, "."); here && end > 0 {
				input, lines = strings.Join(lines[1:end], "\n")+"\n", lines[end:]
				b.WriteString(input + ".\n")
			}
			status, out, err := p.pipeline(split(command), input)
			if err != nil {
				t.Fatalf("%s: %v", command, err)
			}
			b.WriteString(out)
			if last = status; p.statuses && status != 0 {
				fmt.Fprintf(&b, "exit status %d\n", status)
			}
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// pipeline runs commands, each with the output of the one before. What they write to stderr follows the output.
func (p Player) pipeline(words []string, text string) (status int, out string, err error) {
	var errs, wrong string
	for len(words) > 0 && err == nil {
		end := slices.IndexFunc(words, func(word string) bool { return word == "|" || word == ">" })
		if end < 0 {
			end = len(words)
		}
		switch command := words[:end]; command[0] {
		case "cat":
			text, err = cat(command[1:], text)
		case "edit":
			text, err = edit(text, command[1:])
		case "grep":
			text = grep(text, command[1:])
		default:
			name := strings.Fields(p.Command)
			if len(command) < len(name) || !slices.Equal(command[:len(name)], name) {
				return 0, "", fmt.Errorf("%q is not a command that this test can run", command)
			}
			status, text, wrong = p.Run(command[len(name):], text)
			errs += wrong
		}
		if err == nil && end < len(words) && words[end] == ">" {
			return status, errs, os.WriteFile(words[end+1], []byte(text), 0o600)
		}
		words = words[min(end+1, len(words)):]
	}
	return status, text + errs, err
}

var word = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// split splits a line like a shell, as far as the transcripts need it.
func split(line string) (words []string) {
	for _, w := range word.FindAllString(line, -1) {
		files, _ := filepath.Glob(w) // of a word that is not a pattern there are none
		switch {
		case w[0] == '\'' || w[0] == '"':
			words = append(words, w[1:len(w)-1])
		case files == nil:
			words = append(words, w)
		default:
			words = append(words, files...)
		}
	}
	return words
}

func cat(names []string, input string) (string, error) {
	var all []string
	for _, name := range names {
		files, _ := filepath.Glob(filepath.Join(name, "*")) // of a folder
		if files == nil {
			files = []string{name}
		}
		for _, file := range files {
			if file == "-" {
				all = append(all, input)
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			all = append(all, string(text))
		}
	}
	return strings.Join(all, "---\n"), nil
}

func edit(text string, oldnew []string) (string, error) {
	if len(oldnew)%2 != 0 {
		return "", errors.New("a text without its replacement")
	}
	for i := range oldnew {
		oldnew[i] = strings.ReplaceAll(oldnew[i], `\n`, "\n")
		if i%2 == 0 && !strings.Contains(text, oldnew[i]) {
			return "", fmt.Errorf("there is no %q", oldnew[i])
		}
	}
	return strings.NewReplacer(oldnew...).Replace(text), nil
}

func grep(text string, parts []string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(line, part) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}
