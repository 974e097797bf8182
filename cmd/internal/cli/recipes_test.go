package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recipeBlock matches a block of docs/simulate.md: a file whose first line is its name, or
// commands with their output.
var recipeBlock = regexp.MustCompile("(?ms)^```(yaml\n# (\\S+\\.yaml)\n|console\n)(.*?)^```\n")

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
	got := recipeBlock.ReplaceAllStringFunc(text, func(block string) string {
		m := recipeBlock.FindStringSubmatch(block)
		if name := m[2]; name != "" {
			writeFile(t, name, m[3])
			unused[name] = true
			files++
			return block
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
	if blocks := strings.Count(text, "\n```yaml\n") + strings.Count(text, "\n```console\n"); blocks != len(recipeBlock.FindAllString(text, -1)) {
		t.Errorf("%d blocks are YAML or commands, and not all of them name a file or are run", blocks)
	}
	checkGoldenFile(t, page, got)
}
