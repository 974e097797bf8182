package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/tools/internal/house"
)

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "cover.out")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// covered is a profile in which every package that decides is covered.
func covered() string {
	text := "mode: set\n"
	for _, dir := range house.Decision {
		text += house.Import(dir) + "/x.go:3.10,5.2 4 1\n"
	}
	return text
}

func TestRun(t *testing.T) {
	const indexset = house.Module + "/indexset/"
	for _, tc := range []struct {
		reason   string
		profiles []string
		status   int
		want     string
	}{
		{"all is covered", []string{covered()}, 0, "github.com/jobfate/jobfate/indexset                   4        4    100.0\n"},
		{"just enough is covered", []string{covered() + indexset + "y.go:1.1,2.2 1 0\n"}, 0,
			"indexset                   5        4     80.0\n  not covered: " + indexset + "y.go:1-2\n"},
		{"too little is covered", []string{covered() + indexset + "y.go:1.1,2.2 2 0\n"}, 1, "indexset                   6        4     66.7  below 80\n"},
		{"one test binary covers what another does not", []string{covered() + indexset + "y.go:1.1,2.2 9 0\n" + indexset + "y.go:1.1,2.2 9 3\n"}, 0,
			"indexset                  13       13    100.0\n"},
		{"one profile covers what another does not", []string{covered() + indexset + "y.go:1.1,2.2 9 3\n", "mode: set\n" + indexset + "y.go:1.1,2.2 9 0\n"}, 0,
			"indexset                  13       13    100.0\n"},
		{"a package without tests", []string{strings.Replace(covered(), "/backoff/", "/elsewhere/", 1)}, 1, "backoff                    0        0      0.0  below 80\n"},
		{"folders below a package are others", []string{strings.Replace(covered(), "/backoff/", "/backoff/below/", 1)}, 1, "backoff                    0        0      0.0  below 80\n"},
		{"no profile", nil, 1, "backoff                    0        0      0.0  below 80\n"},
		{"not a profile", []string{"hello\n"}, 1, `line 1: not a line of a coverage profile: "hello"`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			var names []string
			for _, text := range tc.profiles {
				names = append(names, write(t, text))
			}
			var out bytes.Buffer
			if status := run(names, 80, &out); status != tc.status || !strings.Contains(out.String(), tc.want) {
				t.Errorf("got status %d and\n%s\nwant %d and\n%s", status, out.String(), tc.status, tc.want)
			}
		})
	}
}

func TestMissedInOrder(t *testing.T) {
	const dir = house.Module + "/backoff/"
	name := write(t, covered()+dir+"y.go:9.1,9.2 1 0\n"+dir+"y.go:2.8,2.9 1 0\n"+dir+"b.go:7.1,8.2 1 0\n"+dir+"y.go:2.1,2.2 1 0\n")
	var out bytes.Buffer
	run([]string{name}, 0, &out)
	want := "  not covered: " + dir + "b.go:7-8\n  not covered: " + dir + "y.go:2-2\n  not covered: " + dir + "y.go:2-2\n  not covered: " + dir + "y.go:9-9\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant it to contain\n%s", out.String(), want)
	}
}

func TestMissingFile(t *testing.T) {
	var out bytes.Buffer
	if status := run([]string{"nowhere.out"}, 80, &out); status != 1 || !strings.Contains(out.String(), "nowhere.out") {
		t.Errorf("got status %d and %q, want 1 and the name of the file", status, out.String())
	}
}
