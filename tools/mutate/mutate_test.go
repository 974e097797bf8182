package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// sample is a module whose package has all kinds of mutants.
const sample = `
-- go.mod --
module sample
go 1.26
-- sample.go --
package sample
-- sample_test.go --
package sample
import ("testing"; "sample/part")
// It fails once the function is larger than the compiler inlines.
func TestAllocations(t *testing.T) {
	sum := 0
	if n := testing.AllocsPerRun(9, func() { sum += *part.New(1) }); n > 0 || sum != 20 { t.Error(n, sum) }
}
-- stories/stories_test.go --
package stories
import ("testing"; "sample/part")
func Test(t *testing.T) {
	if part.Sum(9) != 2*9+3*3 { t.Error(part.Sum(9)) }
}
-- vectors/vectors_test.go --
package vectors
import ("testing"; "sample/part")
func Test(t *testing.T) { part.Sum(-1) }
-- part/part_test.go --
package part
import "testing"
func Test(t *testing.T) {
	if Sum(-1) != -1 { t.Error(Sum(-1)) }
}
-- part/part.go --
package part

const three = 1 + 2

var twice = func(n int) int { return n * 2 }

type sum struct{ n int }

// Sum returns -1 for negative numbers.
func Sum(n int) int {
	if n < 0 {
		return -1
	}
	var s sum
	s.add(n)
	warm(n)
	return s.n
}

func (s *sum) add(n int) {
	s.n += twice(n)
	switch {
	case n > 2 && n < 20 || s.n == 0:
		s.n += three
		s.n += three
	}
	for i := range n {
		if i < 6 {
			continue
		} else if i == 7 {
			break
		}
		s.n += three
	}
}

func warm(n int) { n++ }

func New(n int) *int {
	m := n + 1
	return &m
}
`

// tested runs the command on the sample, and returns what it prints.
func tested(t *testing.T, o options, reasons string) (bool, string) {
	t.Helper()
	o.root, _ = filepath.EvalSymlinks(t.TempDir())
	archive := txtar.Parse([]byte(sample))
	for _, f := range append(archive.Files, txtar.File{Name: "docs/mutants.md", Data: []byte(reasons)}) {
		name := filepath.Join(o.root, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	ok, err := o.run([]string{"./part"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	return ok, out.String()
}

// explained explains all survivors but one, and one mutant that is killed.
const explained = `# Survivors

- an item before the first package

## part

- ` + "`Sum`: `warm(n)` → nothing; `n < 0` → `true`" + `: It has
  no effect.
- ` + "`warm`: all" + `: It has no effect.
- ` + "`sum.add`: `s.n += twice(n)` → `s.n = twice(n)`; `n > 2 && n < 20 || s.n == 0` → `true`; `n > 2 && n < 20` → `n > 2 || n < 20`" + `: One call.
- ` + "`sum.add`, `sum.sub`: `n > 2` → `n >= 2`; `n < 20` → `n <= 20`; `s.n == 0` → `s.n != 0`" + `: One call.
`

func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name, reasons string
		options
		ok     bool
		want   []string
		absent string
	}{
		{"a survivor", explained, options{share: 100, least: 80}, false, []string{
			"survived, in part:\n- `Sum`: `n < 0` → `n <= 0`: \n",
			"explained, but killed or gone, in part - `Sum`: `n < 0` → `true`: \n",
			"explained, but killed or gone, in part - `sum.sub`: `n > 2` → `n >= 2`: \n",
			"./part                  45 mutants,    37 killed: 82.2 %\n",
		}, "warm"},
		{"other tests", "", options{share: 100, tests: "./vectors"}, true, []string{
			"survived, in part:\n- `Sum`: `return -1` → nothing: \n",
			"not run, in part:\n- `sum.add`: `{ s.n += three }` → nothing: \n",
			"./part                  16 mutants,     0 killed: 0.0 %\n",
		}, "explained"},
		{"a share with a low rate", "", options{share: 20, least: 70}, false, []string{
			"survived, in part:\n- `sum.add`: `n < 20` → `n <= 20`: \n",
			"./part                   9 mutants,     6 killed: 66.7 %\n",
		}, "warm"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ok, out := tested(t, tc.options, tc.reasons)
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("got\n%s\nwant it to contain\n%s", out, want)
				}
			}
			if ok != tc.ok || strings.Contains(out, tc.absent) {
				t.Errorf("got %v and\n%s\nwant %v, and nothing of %q", ok, out, tc.ok, tc.absent)
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
