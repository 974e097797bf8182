package main

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func TestRun(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/sample.txtar")
	if err != nil {
		t.Fatal(err)
	}
	sample, err := txtar.FS(archive)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.CopyFS(root, sample); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		options
		ok     bool
		want   []string
		absent string
	}{
		{"a survivor", options{root: root, share: 100, least: 80}, false, []string{
			"survived, in part - `Sum`: `n < 0` → `n <= 0`: \n",
			"explained, but killed or gone, in part - `Sum`: `n < 0` → `true`: \n",
			"explained, but killed or gone, in part - `sum.sub`: `n > 2` → `n >= 2`: \n",
			"./part                  45 mutants,    37 killed: 82.2 %\n",
		}, "warm"},
		{"other tests", options{root: root, share: 100, tests: "./vectors"}, true, []string{
			"survived, in part - `Sum`: `return -1` → nothing: \n",
			"not run, in part - `sum.add`: `{ s.n += three }` → nothing: \n",
			"./part                  16 mutants,     0 killed: 0.0 %\n",
		}, "explained"},
		{"a share with a low rate", options{root: root, share: 20, least: 70}, false, []string{
			"survived, in part - `sum.add`: `n < 20` → `n <= 20`: \n",
			"./part                   9 mutants,     6 killed: 66.7 %\n",
		}, "warm"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			ok, err := tc.run([]string{"./part"}, &out)
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("want it to contain\n%s", want)
				}
			}
			if ok != tc.ok || err != nil || strings.Contains(out.String(), tc.absent) {
				t.Errorf("got %v, %v, want %v, and nothing of %q", ok, err, tc.ok, tc.absent)
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

func TestReasonsRefused(t *testing.T) {
	for reason, text := range map[string]string{
		"no reason":           "## a\n- `f`: `x` → nothing\n",
		"no package":          "- `f`: `x` → nothing: Because.\n",
		"no mutant":           "## a\n- `f`: Because.\n",
		"no text after":       "## a\n- `f`: `x` → : Because.\n",
		"left out, no reason": "## a\n- `f`: all\n",
	} {
		if _, err := parseReasons(text); err == nil {
			t.Errorf("%s: got no error", reason)
		}
	}
}
