package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
)

const page = "../../docs/command.md"

// TestDocs runs the examples of the plugin in docs/command.md, in a namespace with all samples.
func TestDocs(t *testing.T) {
	s := loadAll(t)
	blocks := 0
	console.Blocks(t, page, func(_, text string) string {
		if !strings.HasPrefix(text, "$ kubectl jobfate") {
			return text
		}
		blocks++
		return s.player().Play(t, text)
	})
	Same(t, "blocks of examples of the plugin", blocks, 1)
}

// player plays transcripts of the plugin.
func (s *stage) player() console.Player {
	return console.Player{Command: "kubectl jobfate", Run: func(args []string, _ string) (status int, stdout, stderr string) {
		return s.run(args...)
	}}
}

// transcript plays a transcript of testdata in a folder with the samples.
func (s *stage) transcript(name string) {
	s.Helper()
	s.player().Transcript(s.T, filepath.Join("testdata", name), "", "../testdata")
}

// TestDocs_flags checks that the docs mention the plugin's own flags. Another test checks
// the flags of the command jobfate. The flags of kubectl need no documentation here.
func TestDocs_flags(t *testing.T) {
	text := console.Text(page)
	_, section, ok := strings.Cut(text, "\n## kubectl jobfate\n")
	if !ok {
		t.Fatalf("%s has no section on the plugin", page)
	}
	p, _ := newStage(t).program()
	root := p.command()
	shown := 0
	for _, c := range append(root.Commands(), root) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			shown++
			if !strings.Contains(section, "`--"+f.Name+"`") && !strings.Contains(text, "--"+f.Name) && f.Name != "output" && f.Name != "version" {
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
