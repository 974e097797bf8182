package cli

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Any part of the manifest, of the old Job and of its annotation may be anything. There is an
// answer or an error.
func TestUpdate_anyInput(t *testing.T) {
	live, job := readFile(t, manifest("elastic-live.yaml")), readFile(t, manifest("elastic.yaml"))
	old := filepath.Join(t.TempDir(), "old.json")
	rapid.Check(t, func(t *rapid.T) {
		was, now := fromYAML[map[string]any](t, live), fromYAML[map[string]any](t, job)
		calm := rapid.SampledFrom([]int{5, 50, 200}).Draw(t, "calm")
		metadata := was["metadata"].(map[string]any)
		annotations := metadata["annotations"].(map[string]any)
		applied := fromJSON[map[string]any](t, annotations["kubectl.kubernetes.io/last-applied-configuration"].(string))
		disturb(t, calm, applied)
		annotations["kubectl.kubernetes.io/last-applied-configuration"] = string(encode(applied))
		disturb(t, calm, was)
		disturb(t, calm, now)
		writeFile(t, old, string(encode(was)))
		got := runWith(string(encode(now)), "validate", "--old", old)
		if !slices.Contains([]int{exitOK, exitInput, exitNo}, got.Status) || (got.Stdout == "") != (got.Status == exitInput) {
			t.Fatalf("got status %d, %q and %q", got.Status, got.Stdout, got.Stderr)
		}
	})
}

// disturb adds keys, and replaces one of kept+1 values on average.
func disturb(t *rapid.T, kept int, out any) {
	now := func() bool { return rapid.IntRange(0, kept).Draw(t, "disturb") == 0 }
	other := func(value any) any {
		if !now() {
			disturb(t, kept, value)
			return value
		}
		return rapid.SampledFrom([]any{nil, "", "a", 1, -1, true, []any{}, []any{nil}, []any{"a", 1}, map[string]any{}, map[string]any{"name": "main", "a": nil},
			[]any{map[string]any{"name": "main"}, map[string]any{"name": "main"}}, map[string]any{"$patch": "delete"}}).Draw(t, "value")
	}
	switch out := out.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(out)) {
			out[key] = other(out[key])
		}
		if now() {
			key := rapid.SampledFrom([]string{"$patch", "$setElementOrder/containers", "$retainKeys", "volumes", "a.b", ""}).Draw(t, "key")
			out[key] = other(nil)
		}
	case []any:
		for i := range out {
			out[i] = other(out[i])
		}
	}
}
