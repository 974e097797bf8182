package cli

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
)

const testdata = "../../testdata"

// player plays transcripts of the command.
var player = console.Player{Command: "jobfate", Run: func(args []string, stdin string) (int, string, string) {
	got := runWith(stdin, args...)
	return got.Status, got.Stdout, got.Stderr
}}

// TestDocs runs the examples in the console blocks of docs/command.md, and compares the
// output.
func TestDocs(t *testing.T) {
	t.Chdir("../..") // the folder cmd
	const path = "../docs/command.md"
	console.Blocks(t, path, func(file, commands string) string {
		if file != "" || strings.HasPrefix(commands, "$ kubectl jobfate") { // a test of the plugin runs those
			return commands
		}
		return player.Play(t, commands)
	})
	text := console.Text(path)
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

// TestRecipes writes the files in docs/simulate.md, runs its commands in the order of the
// page, and compares the output.
func TestRecipes(t *testing.T) {
	page := Must(filepath.Abs("../../../docs/simulate.md"))
	t.Chdir(t.TempDir())
	unused, files, blocks := map[string]bool{}, 0, 0
	console.Blocks(t, page, func(file, text string) string {
		blocks++
		if file != "" {
			NoError(t, os.WriteFile(file, []byte(text), 0o644))
			unused[file] = true
			files++
			return text
		}
		maps.DeleteFunc(unused, func(name string, _ bool) bool { return strings.Contains(text, name) })
		return player.Play(t, text)
	})
	if len(unused) > 0 || files < 10 {
		t.Errorf("%d files, of which no command uses %v; want at least 10, all used", files, unused)
	}
	text := console.Text(page)
	all := strings.Count(text, "\n```yaml\n") + strings.Count(text, "\n```console\n")
	Same(t, "blocks of YAML or commands that name a file or are run", blocks, all)
}

// simulateConcept plays what docs/concepts.md shows.
func simulateConcept(t *testing.T, job, scenario, format string) string {
	t.Helper()
	const dir = "../../testdata/concepts"
	got := runWith("", "simulate", "-f", filepath.Join(dir, job+".yaml"), "--scenario", filepath.Join(dir, scenario+".yaml"), "-o", format)
	if got.Status != exitOK {
		t.Fatalf("%s: got status %d and %q, want success", job, got.Status, got.Stderr)
	}
	return got.Stdout
}

// TestBackoffPictures checks the pictures in docs/concepts.md that simulate draws.
func TestBackoffPictures(t *testing.T) {
	for _, name := range []string{"backoff-index", "backoff-job"} {
		console.Golden(t, "../../../docs/pictures/"+name+".svg", simulateConcept(t, name, "backoff", "svg"))
	}
}

// TestReplacement checks the times that docs/pictures/replacement.svg shows.
func TestReplacement(t *testing.T) {
	for job, want := range map[string][]float64{
		"replacement-terminating": {0, 33, 18, 49},
		"replacement-failed":      {0, 33, 43, 74},
	} {
		played := FromJSON[struct {
			Lanes []struct {
				Pods []struct{ Created, Ended float64 }
			}
		}]([]byte(simulateConcept(t, job, "replacement", "json")))
		var got []float64
		for _, lane := range played.Lanes {
			for _, pod := range lane.Pods {
				got = append(got, pod.Created, pod.Ended)
			}
		}
		Same(t, job+": when pods were created and ended", got, want)
	}
}

// The command of README.md is the one whose output the first golden file has.
func TestReadme_command(t *testing.T) {
	if want := "`go -C cmd run ./jobfate explain --now " + goldens[0].now + " testdata/samples/" + goldens[0].sample + "`"; !strings.Contains(console.Text("../../../README.md"), want) {
		t.Errorf("README.md does not have the command %s", want)
	}
}

// TestTranscripts plays testdata/transcripts, in folders with the test data.
func TestTranscripts(t *testing.T) {
	for _, file := range console.Files("testdata/transcripts/*.txt") {
		t.Run(filepath.Base(file), func(t *testing.T) { player.Transcript(t, file, "", testdata, "testdata/transcripts") })
	}
}

// TestWrongFiles gives each command the files that users may give by mistake. The error must name the file, and the
// exit status must be that of unreadable input, unless the file has a Job.
func TestWrongFiles(t *testing.T) {
	player.Transcript(t, "testdata/wrong-files.txt", `
$ cat simulations/job.yaml > job.yaml
$ cat samples/indexes-backing-off/pods.yaml > pods.yaml
$ cat samples/indexes-backing-off/job.yaml | edit 'completions: 8' 'completions: eight' > mistyped.yaml
$ cat samples/indexes-backing-off | edit 'metadata:\n  resourceVersion: ""\n' meta > cut.yaml
`, testdata, "testdata/wrong")
}

// TestUsageScenario runs the scenario in the usage, with some of its pods at once and with all.
func TestUsageScenario(t *testing.T) {
	_, text, _ := strings.Cut(simulateUsage, "Every field is optional:\n")
	text, _, _ = strings.Cut(text, "\nWith an existing Job")
	player.Transcript(t, "testdata/usage-scenario.txt", "$ cat - > scenario.yaml <<.\n"+text+".\n", testdata, "testdata/transcripts")
}
