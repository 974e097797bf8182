package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manifests = "../../testdata/manifests"

func manifest(name string) string { return filepath.Join(manifests, name) }

func TestValidateGolden(t *testing.T) {
	checkFormats(t, "validate-wrong", "there are errors", exitNo, "validate", manifest("wrong.yaml"))
	checkFormats(t, "validate-large", "there are only warnings", exitOK, "validate", manifest("large.yaml"))
	checkFormats(t, "validate-update", "fields are immutable", exitNo, "validate", "--old", manifest("elastic.yaml"), manifest("elastic-changed.yaml"))
	checkFormats(t, "validate-status", "the status is invalid", exitNo, "validate", "--status", manifest("status.yaml"))
}

// TestEveryManifestIsUsed checks that docs/command.md uses each manifest.
func TestEveryManifestIsUsed(t *testing.T) {
	entries, err := os.ReadDir(manifests)
	if err != nil {
		t.Fatal(err)
	}
	docs := readFile(t, "../../../docs/command.md")
	for _, e := range entries {
		if !strings.Contains(docs, "testdata/manifests/"+e.Name()) {
			t.Errorf("docs/command.md does not use %s", e.Name())
		}
	}
}
