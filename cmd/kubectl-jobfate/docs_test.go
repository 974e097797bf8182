package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/jobfate/jobfate/cmd/internal/console"
)

var update = flag.Bool("update", false, "rewrite the examples in the docs")

const page = "../../docs/command.md"

// TestDocs runs the examples of the plugin in docs/command.md, in a namespace with all samples.
func TestDocs(t *testing.T) {
	s := loadAll(t)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "```console\n$ kubectl jobfate", "```\n"
	before, rest, found := strings.Cut(string(text), begin)
	block, after, ended := strings.Cut(rest, end)
	if !found || !ended || strings.Contains(after, begin) {
		t.Fatalf("%s does not have exactly one block of examples of the plugin", page)
	}
	s.compare(page, text, before+"```console\n"+s.play("$ kubectl jobfate"+block, false)+end+after)
}

// transcript plays a transcript of testdata in a folder with the samples.
func (s *stage) transcript(name string) {
	s.Helper()
	files, err := filepath.Abs("testdata")
	if err != nil {
		s.Fatal(err)
	}
	file := filepath.Join(files, name)
	text, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	s.Chdir(s.TempDir())
	if err := os.CopyFS("samples", os.DirFS(filepath.Join(files, "../..", "testdata/samples"))); err != nil {
		s.Fatal(err)
	}
	s.compare(file, text, s.play(string(text), true))
}

func (s *stage) compare(file string, text []byte, got string) {
	s.Helper()
	if diff := cmp.Diff(string(text), got); diff != "" && !*update {
		s.Errorf("%s (-want +got; go -C cmd/kubectl-jobfate test -update accepts the new output):\n%s", file, diff)
	}
	if !*update {
		return
	}
	if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
		s.Fatal(err)
	}
}

// play runs the commands of a block and returns the block with their output.
func (s *stage) play(block string, statuses bool) string {
	s.Helper()
	text, err := console.Player{Statuses: statuses, Run: func(words []string, _ string) (status int, stdout, stderr string, err error) {
		if len(words) < 2 || words[0] != "kubectl" || words[1] != "jobfate" {
			err = fmt.Errorf("%q is not a command that this test can run", words)
			return status, stdout, stderr, err
		}
		status, stdout, stderr = s.run(words[2:]...)
		return status, stdout, stderr, nil
	}}.Play(block)
	if err != nil {
		s.Fatal(err)
	}
	return text
}

// TestDocs_flags checks that the docs mention the plugin's own flags. Another test checks
// the flags of the command jobfate. The flags of kubectl need no documentation here.
func TestDocs_flags(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## kubectl jobfate\n")
	if !ok {
		t.Fatalf("%s has no section on the plugin", page)
	}
	p, _ := newStage(t).program()
	root := p.command()
	shown := 0
	for _, c := range append(root.Commands(), root) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			shown++
			if !strings.Contains(section, "`--"+f.Name+"`") && !strings.Contains(string(text), "--"+f.Name) && f.Name != "output" && f.Name != "version" {
				t.Errorf("%s does not mention the flag --%s of %s", page, f.Name, c.Name())
			}
		})
		if c.Name() != "help" && !strings.Contains(section, "kubectl jobfate "+strings.TrimPrefix(c.Name(), "kubectl-jobfate")) {
			t.Errorf("%s does not mention the command %s", page, c.Name())
		}
	}
	if shown < 20 {
		t.Errorf("got %d flags, want those of three commands", shown)
	}
}
