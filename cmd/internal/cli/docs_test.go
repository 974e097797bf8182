package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/cmd/internal/console"
)

// TestDocs runs the examples in the console blocks of docs/command.md, and compares the
// output.
func TestDocs(t *testing.T) {
	t.Chdir("../..") // the folder cmd
	const path = "../docs/command.md"
	text := readFile(t, path)
	checkGoldenFile(t, path, block.ReplaceAllStringFunc(text, func(all string) string {
		m := block.FindStringSubmatch(all)
		if m[2] != "" || strings.HasPrefix(m[3], "$ kubectl jobfate") { // a test of the plugin runs those
			return all
		}
		return "```console\n" + play(t, m[3], false) + "```\n"
	}))
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

// block matches a block of a page: a file whose first line is its name, or commands with their output.
var block = regexp.MustCompile("(?ms)^```(yaml\n# (\\S+\\.yaml)\n|console\n)(.*?)^```\n")

// TestRecipes writes the files in docs/simulate.md, runs its commands in the order of the
// page, and compares the output.
func TestRecipes(t *testing.T) {
	page, err := filepath.Abs("../../../docs/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	text := readFile(t, page)
	t.Chdir(t.TempDir())
	unused, files := map[string]bool{}, 0
	got := block.ReplaceAllStringFunc(text, func(all string) string {
		m := block.FindStringSubmatch(all)
		if name := m[2]; name != "" {
			writeFile(t, name, m[3])
			unused[name] = true
			files++
			return all
		}
		for name := range unused {
			if strings.Contains(m[3], name) {
				delete(unused, name)
			}
		}
		return "```console\n" + play(t, m[3], false) + "```\n"
	})
	if len(unused) > 0 || files < 10 {
		t.Errorf("%d files, of which no command uses %v; want at least 10, all used", files, unused)
	}
	if blocks := strings.Count(text, "\n```yaml\n") + strings.Count(text, "\n```console\n"); blocks != len(block.FindAllString(text, -1)) {
		t.Errorf("%d blocks are YAML or commands, and not all of them name a file or are run", blocks)
	}
	checkGoldenFile(t, page, got)
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
		checkGoldenFile(t, "../../../docs/pictures/"+name+".svg", simulateConcept(t, name, "backoff", "svg"))
	}
}

// TestReplacement checks the times that docs/pictures/replacement.svg shows.
func TestReplacement(t *testing.T) {
	for job, want := range map[string][]float64{
		"replacement-terminating": {0, 33, 18, 49},
		"replacement-failed":      {0, 33, 43, 74},
	} {
		played := fromJSON[struct {
			Lanes []struct {
				Pods []struct{ Created, Ended float64 }
			}
		}](t, simulateConcept(t, job, "replacement", "json"))
		var got []float64
		for _, lane := range played.Lanes {
			for _, pod := range lane.Pods {
				got = append(got, pod.Created, pod.Ended)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: pods created and ended at %v, want %v", job, got, want)
		}
	}
}

// The command of README.md is the one whose output the first golden file has.
func TestReadme_command(t *testing.T) {
	if want := "`go -C cmd run ./jobfate explain --now " + goldens[0].now + " testdata/samples/" + goldens[0].sample + "`"; !strings.Contains(readFile(t, "../../../README.md"), want) {
		t.Errorf("README.md does not have the command %s", want)
	}
}

// TestTranscripts plays testdata/transcripts, in folders with the test data.
func TestTranscripts(t *testing.T) {
	for _, file := range glob(t, "testdata/transcripts/*.txt") {
		t.Run(filepath.Base(file), func(t *testing.T) { checkTranscript(t, file, "testdata/transcripts", "") })
	}
}

// TestWrongFiles gives each command the files that users may give by mistake. The error must name the file, and the
// exit status must be that of unreadable input, unless the file has a Job.
func TestWrongFiles(t *testing.T) {
	checkTranscript(t, "testdata/wrong-files.txt", "testdata/wrong", `
$ cat simulations/job.yaml > job.yaml
$ cat samples/indexes-backing-off/pods.yaml > pods.yaml
$ cat samples/indexes-backing-off/job.yaml | edit 'completions: 8' 'completions: eight' > mistyped.yaml
$ cat samples/indexes-backing-off | edit 'metadata:\n  resourceVersion: ""\n' meta > cut.yaml
`)
}

// TestUsageScenario runs the scenario in the usage, with some of its pods at once and with all.
func TestUsageScenario(t *testing.T) {
	_, text, _ := strings.Cut(simulateUsage, "Every field is optional:\n")
	text, _, _ = strings.Cut(text, "\nWith an existing Job")
	checkTranscript(t, "testdata/usage-scenario.txt", "testdata/transcripts", "$ cat - > scenario.yaml <<.\n"+text+".\n")
}

// checkTranscript plays a transcript in a new folder with the test data and those of another folder, after other
// commands.
func checkTranscript(t *testing.T, file, files, before string) {
	t.Helper()
	folder := t.TempDir()
	for _, from := range []string{"../../testdata", files} {
		if err := os.CopyFS(folder, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	play(t, before, false)
	checkGoldenFile(t, path, play(t, readFile(t, path), true))
}

// play runs the commands of a transcript and returns it with what they print.
func play(t *testing.T, text string, statuses bool) string {
	t.Helper()
	player := console.Player{Statuses: statuses, Run: func(words []string, stdin string) (int, string, string, error) {
		if words[0] != "jobfate" {
			return 0, "", "", fmt.Errorf("%q is not a command that this test can run", words[0])
		}
		got := runWith(stdin, words[1:]...)
		return got.Status, got.Stdout, got.Stderr, nil
	}}
	text, err := player.Play(text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
