package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/cmd/internal/cases"
	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// hostile are texts that control a terminal, or that look like other texts.
var hostile = []string{
	"\x1b[2J", "\x1b]0;owned\x07", "\x1b[31m", "\x07", "\r", "a\rb", "\x7f", "\u009b31m", "\u0085", "\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\ufffe",
	"\u00ad", "\U000e0041", "\b\b", "\x0b", "\x00", "\\", "\"", "'", "\\x1b", "\u061c", "a\nb", "\uffff", "y", "null", "0o7", "\U0001F600",
	forged, "a\t" + forged,
}

// forged would be a line of its own.
const forged = "\nFORGED: yes"

// ownSequences matches the terminal sequences of the command itself: colours, and clearing a line.
var ownSequences = regexp.MustCompile(`\x1b\[(0|1|3[0-9]|1;3[0-9])m|\r\x1b\[K`)

// checkHarmless fails if an output contains characters that control a terminal, or a line from the
// input.
func checkHarmless(t *rapid.T, what, output string, colored bool) {
	t.Helper()
	plain := output
	if colored {
		plain = ownSequences.ReplaceAllString(output, "")
	}
	if strings.Contains("\n"+plain, forged) {
		t.Fatalf("%s: a forged line in %q", what, plain)
	}
	for i, r := range plain {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Noncharacter_Code_Point) {
			t.Fatalf("%s: got %q in %q", what, r, plain[max(0, i-40):min(len(plain), i+40)])
		}
	}
}

// withHostileTexts returns a value in which hostile texts replace some texts or are appended to them,
// and with hostile keys.
func withHostileTexts(t *rapid.T, value any) any {
	poison := func(text string) string {
		switch rapid.IntRange(0, 60).Draw(t, "how") {
		case 0:
			return rapid.SampledFrom(hostile).Draw(t, "text")
		case 1, 2:
			return text + rapid.SampledFrom(hostile).Draw(t, "tail")
		}
		return text
	}
	switch v := value.(type) {
	case string:
		return poison(v)
	case []any:
		for i := range v {
			v[i] = withHostileTexts(t, v[i])
		}
	case map[string]any:
		for key := range v {
			if key != "apiVersion" && key != "kind" {
				v[key] = withHostileTexts(t, v[key])
			}
		}
		if rapid.IntRange(0, 30).Draw(t, "key") == 0 {
			v["x"+rapid.SampledFrom(hostile).Draw(t, "key")] = 1
		}
	}
	return value
}

// withHostileDocuments returns the documents of files with hostile texts, one behind the other.
func withHostileDocuments(t *rapid.T, files ...string) string {
	var b strings.Builder
	for _, file := range files {
		for document := range strings.SplitSeq(console.Text(file), "\n---\n") {
			b.Write(encode(withHostileTexts(t, cases.FromYAML(document))))
		}
	}
	return b.String()
}

// TestNothingHostileReachesTheTerminal gives every command hostile texts: anywhere in its
// input, as arguments and as names of files. It checks each character of the output.
func TestNothingHostileReachesTheTerminal(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		sample := rapid.SampledFrom([]string{"backing-off", "failed-by-rule", "indexes-backing-off", "managed-elsewhere", "suspended"}).Draw(t, "sample")
		files, _ := filepath.Glob(filepath.Join(samples, sample, "*"))
		input := withHostileDocuments(t, files...)
		job := withHostileDocuments(t, rapid.SampledFrom([]string{manifest("wrong.yaml"), manifest("elastic.yaml"), simulated("job")}).Draw(t, "job"))
		text := rapid.SampledFrom(hostile).Draw(t, "argument")
		name := filepath.Join(folder, "f"+strings.ReplaceAll(text, "\x00", ""))
		scenario := name + ".scenario"
		NoError(t, os.WriteFile(name, []byte(job), 0o644))
		NoError(t, os.WriteFile(scenario, []byte(withHostileDocuments(t, simulated("retry"))), 0o644))
		args := rapid.SampledFrom([][]string{
			{"explain"}, {"explain", "--all"}, {"explain", name}, {"explain", "--now", text}, {"explain", "--managed-by", text}, {"explain", "--" + text}, {"explain", name + text},
			{"validate"}, {"validate", name}, {"validate", "--status"}, {"validate", "--old", name, name}, {"validate", "--old", name}, {"validate", "-o", text},
			{"simulate", name}, {"simulate", name, "--scenario", scenario}, {"simulate", name, "--against", name}, {"simulate", name, "-o", "svg"},
			{"simulate", name, "--against", simulated("job")}, {"simulate", name, "--against", simulated("job"), "--runs", "2", "--scenario", simulated("chances")},
			{"simulate", name, "--seed", text}, {"simulate", simulated("job"), "--scenario", scenario},
			{"indexes", text}, {"indexes", "count", text}, {"indexes", "contains", text, text}, {"indexes", "union", "-"}, {"indexes", "missing", "--completions", text},
			{text}, {"help", text}, {text, "-h"}, {"explain", "--max-input", text},
		}).Draw(t, "arguments")
		format := rapid.SampledFrom([]string{"text", "json", "yaml", ""}).Draw(t, "format")
		if format != "" && len(args) > 0 && (args[0] == "explain" || args[0] == "validate" || args[0] == "simulate") {
			args = append([]string{args[0], "-o", format}, args[1:]...)
		}
		if format == "text" && len(args) > 0 && args[0] != "indexes" {
			args = append(args, "--color", "always")
		}
		env := slowEnvironment(time.Minute, 0)
		env.StderrTerminal = true
		got := runIn(env, input, args...)
		checkHarmless(t, "stdout", got.Stdout, format == "text")
		checkHarmless(t, "stderr", got.Stderr, true)
	})
}

// TestHostileTextsAreShown checks that escaped names of files, arguments and flags are printed. A transcript has those in
// objects.
func TestHostileTextsAreShown(t *testing.T) {
	name := tempFile(t, "longer\x1b\nname.yaml", console.Text(simulated("job")))
	against := []string{"simulate", name, "--against", simulated("other-job")}
	checkPart(t, "a table", runWith("", against...).Stdout, "          longer\\u001b\\nname.yaml      other-job.yaml\n")
	checkPart(t, "many runs", runWith("", append(against, "--runs", "2")...).Stdout, "\nlonger\\u001b\\nname.yaml  2 complete")
	for _, command := range []string{"explain", "validate", "simulate"} {
		checkResult(t, runWith("", command, "a\x1b"), exitInput, "", `: a\u001b: no such file`)
	}
	checkPart(t, "a flag", runWith("", "explain", "--\x1b[2J").Stderr, `flag provided but not defined: -\u001b[2J`)
}

// TestHostileTextsRoundTrip checks that JSON and YAML output is valid, and contains every
// text without loss.
func TestHostileTextsRoundTrip(t *testing.T) {
	for _, text := range hostile {
		value := any(map[string]any{"text": text, "list": []any{text, "a" + text + "b"}, "a" + text: true})
		asYAML, err := toYAML(value)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for format, got := range map[string]any{"JSON": FromJSON[any]([]byte(toJSON(value))), "YAML": cases.FromYAML(asYAML)} {
			if diff := cmp.Diff(value, got); diff != "" {
				t.Errorf("%q in %s (-want +got):\n%s", text, format, diff)
			}
		}
		for _, out := range []string{toJSON(value), asYAML} {
			var b bytes.Buffer
			if _, err := (safeWriter{&b}).Write([]byte(out)); err != nil || b.String() != out {
				t.Errorf("%q: the terminal gets %q, want %q", text, b.String(), out)
			}
		}
	}
}

// TestForgedTerminalSequencesAreEscaped checks that text that only looks like one of the command's own
// terminal sequences is escaped.
func TestForgedTerminalSequencesAreEscaped(t *testing.T) {
	for text, want := range map[string]string{
		control("\x1b[1m") + "a" + control("\x1b[0m"): "\x1b[1ma\x1b[0m",
		"\x1b[1ma":                   `\u001b[1ma`,
		"ü\u202e\U000e0041\n\t":      `ü\u202e\U000e0041` + "\n\t",
		"\xFEa\x80":                  "\uFFFDa\uFFFD",
		"\xFF\x1b[1m":                "",
		"a" + controlStart:           "a",
		strings.Repeat("a\u0085", 3): `a\u0085a\u0085a\u0085`,
	} {
		var b bytes.Buffer
		if n, err := (safeWriter{&b}).Write([]byte(text)); err != nil || n != len(text) || b.String() != want {
			t.Errorf("%q: got %q, %d, %v, want %q", text, b.String(), n, err, want)
		}
	}
	if got := runWith("", "explain", "a\xFF\x1b[2J\xFE"); got.Status != exitUsage || !strings.Contains(got.Stderr, "argument 2") || strings.Contains(got.Stderr, "\x1b") {
		t.Errorf("an argument that is not UTF-8: got status %d and %q", got.Status, got.Stderr)
	}
}
