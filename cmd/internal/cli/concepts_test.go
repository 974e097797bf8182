package cli

import (
	"path/filepath"
	"slices"
	"testing"
)

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
