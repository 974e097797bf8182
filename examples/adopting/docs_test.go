package adopting

import (
	"os"
	"strings"
	"testing"
)

// docs/adopting.md contains the code of these controllers, without the imports.
func TestDocument(t *testing.T) {
	document, err := os.ReadFile("../../docs/adopting.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, most := range map[string]int{"clientgo/controller.go": 150, "reconciler/reconciler.go": 100} {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(string(source), "\n)\n")
		code = strings.Trim(code, "\n")
		if !strings.Contains(string(document), "```go\n"+code+"\n```\n") {
			t.Errorf("docs/adopting.md does not show %s as it is", path)
		}
		if n := strings.Count(code, "\n") + 1; n > most {
			t.Errorf("%s has %d lines without imports, want %d at most", path, n, most)
		}
	}
}
