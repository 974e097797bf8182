package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestCreations validates manifests to which test/kubernetes/e2e/plugin has recorded the answers of a real API server, and
// compares the fields that are rejected. Unknown fields are all that such an answer names.
func TestCreations(t *testing.T) {
	const folder = "../../testdata/creations/"
	lines := strings.Split(strings.TrimSpace(readFile(t, folder+"cases.tsv")), "\n")[1:]
	for _, line := range lines {
		f := append(strings.Split(line, "\t"), "", "")
		old, now, _ := strings.Cut(strings.ReplaceAll(f[2], `\n`, "\n"), " => ")
		text := strings.Replace(readFile(t, folder+f[1]+".yaml"), old, now, 1)
		out := fromJSON[verdicts](t, runWith(text, "validate", "-o", "json").Stdout)
		var got, unknown []string
		for _, e := range out.Jobs[0].Errors {
			got = append(got, e.Field)
			if e.Rule == "UnknownField" {
				unknown = append(unknown, e.Field)
			}
		}
		if unknown != nil {
			got = unknown
		}
		slices.Sort(got)
		if fields := strings.Join(slices.Compact(got), " "); fields != f[3] {
			t.Errorf("%s of %s: got %q, want %q", f[0], f[1], fields, f[3])
		}
	}
}
