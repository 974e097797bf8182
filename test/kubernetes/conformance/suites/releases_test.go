package main

import (
	"strings"
	"testing"
)

// printed is the part of TestSync's output that is read.
const printed = "decisions compared: 39715, of which 4021 needed an excuse\ndivergences:\n" +
	"      732 backing-off-active\n    25320 order\n      112 suspended-start-time\n"

func TestReadComparison(t *testing.T) {
	for _, c := range []struct {
		reason, version, output string
		want                    string // the error
	}{
		{"both divergences occur", "1.35.4", printed, ""},
		{"one is not", "1.35.4", strings.Replace(printed, "112 suspended-start-time", "112 suspended-start-times", 1), "no decision shows suspended-start-time"},
		{"a release without any", "1.37.2", strings.Replace(printed, "backing-off-active", "in-flight-end", 1), ""},
		{"no count", "1.36.5", "PASS\n", "TestSync does not say how many decisions it has compared:\nPASS\n"},
	} {
		r := comparison{release: release{version: c.version}}
		err := r.read([]result{{test: "TestReleases"}, {test: "TestSync", output: c.output}})
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: got error %v, want %q", c.reason, err, c.want)
		}
		if err == nil && r.decisions != 39715 {
			t.Errorf("%s: got %d decisions", c.reason, r.decisions)
		}
	}
	lives := comparison{release: release{version: "1.37.2"}}
	const skips = "7442 syncs that Kubernetes skips as stale"
	if err := lives.read([]result{{test: "TestEnds", output: "main_test.go:33:     " + skips + "\n"}}); err != nil || lives.stale != skips {
		t.Errorf("TestEnds: got %q, error %v, want %q", lives.stale, err, skips)
	}
	if err := lives.read([]result{{test: "TestEnds", output: "PASS"}}); err == nil {
		t.Error("TestEnds does not say how many syncs are skipped: got no error")
	}
}
