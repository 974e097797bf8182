package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const goodModule = `module github.com/jobfate/jobfate

go 1.24.0

require (
	github.com/google/go-cmp v0.7.0
	k8s.io/api v0.30.0
	k8s.io/apimachinery v0.30.0
	pgregory.net/rapid v1.3.0
	go.yaml.in/yaml/v3 v3.0.4
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.3 // indirect
`

// check loads a repository of the given files, with a go.mod if there is none,
// and returns what the check finds, but for what is not documented.
func check(t *testing.T, files map[string]string) []string {
	t.Helper()
	return checkFor(t, files, func(rule string) bool { return rule != documentation && rule != unusedArrow })
}

func checkFor(t *testing.T, files map[string]string, wanted func(rule string) bool) []string {
	t.Helper()
	root := fstest.MapFS{"go.mod": {Data: []byte(goodModule)}}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	r, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range r.check() {
		if wanted(f.rule) {
			out = append(out, f.String())
		}
	}
	return out
}

// tracking makes a file of package tracking with the given imports, declarations
// and, in the function f on line 100, statements.
func tracking(imports, declarations, statements string) map[string]string {
	head := "package tracking\n"
	for _, path := range strings.Fields(imports) {
		head += fmt.Sprintf("import %q\n", path)
	}
	head += declarations + "\n"
	head += strings.Repeat("\n", 99-strings.Count(head, "\n"))
	return map[string]string{"tracking/x.go": head + "func f() {\n" + statements + "\n}\n"}
}

func TestEachRuleFinds(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("\n", n) }
	for _, tc := range []struct {
		reason string
		files  map[string]string
		want   string // the one finding begins with it
	}{
		// Layers.
		{"indexset knows no Kubernetes", map[string]string{"indexset/x.go": "package indexset\nimport _ \"k8s.io/api/core/v1\"\n"},
			"indexset/x.go:2: layers: indexset may not import k8s.io/api/core/v1: it is a set of numbers"},
		{"a lower leaf may not import a higher one", map[string]string{"backoff/x.go": "package backoff\nimport _ \"github.com/jobfate/jobfate/tracking\"\n"},
			"backoff/x.go:2: layers: backoff may not import github.com/jobfate/jobfate/tracking"},
		{"neighbours do not import each other", map[string]string{"failurepolicy/x.go": "package failurepolicy\nimport _ \"github.com/jobfate/jobfate/backoff\"\n"},
			"failurepolicy/x.go:2: layers: failurepolicy may not import"},
		{"a leaf may not import the root", map[string]string{"jobstatus/x.go": "package jobstatus\nimport _ \"github.com/jobfate/jobfate\"\n"},
			"jobstatus/x.go:2: layers: jobstatus may not import github.com/jobfate/jobfate: "},
		{"validation may not import the root", map[string]string{"validation/x.go": "package validation\nimport _ \"github.com/jobfate/jobfate\"\n"},
			"validation/x.go:2: layers: validation may not import"},
		{"the root may not import a command's package", map[string]string{"x.go": "package jobfate\nimport _ \"github.com/jobfate/jobfate/internal/kubefile\"\n"},
			"x.go:2: layers: . may not import"},
		{"a command may not import the test kit", map[string]string{"cmd/jobfate/x.go": "package main\nimport _ \"github.com/jobfate/jobfate/jobtest\"\n"},
			"cmd/jobfate/x.go:2: layers: cmd/jobfate may not import"},
		{"a simulation needs no more of the test kit than the cluster", map[string]string{"internal/simulation/x.go": "package simulation\nimport _ \"github.com/jobfate/jobfate/jobtest\"\n"},
			"internal/simulation/x.go:2: layers: internal/simulation may not import github.com/jobfate/jobfate/jobtest: it plays"},
		{"only what reads text may parse YAML", map[string]string{"internal/simulation/x.go": "package simulation\nimport _ \"sigs.k8s.io/yaml\"\n"},
			"internal/simulation/x.go:2: layers: internal/simulation may not import"},
		{"a new package needs a row", map[string]string{"novelty/x.go": "package novelty\n"},
			"novelty/x.go:1: layers: novelty has no row in the table of layers"},

		// Dependencies.
		{"a requirement that the design does not name", map[string]string{"go.mod": strings.Replace(goodModule, " // indirect", "", 1)},
			"go.mod:14: dependencies: go.yaml.in/yaml/v2 is required"},
		{"a requirement that is gone", map[string]string{"go.mod": strings.Replace(goodModule, "\tpgregory.net/rapid v1.3.0\n", "", 1)},
			"go.mod:1: dependencies: pgregory.net/rapid is not a direct requirement"},
		{"a go.mod that is none", map[string]string{"go.mod": "module\n"}, "go.mod:1: dependencies: go.mod:1: usage: module"},
		{"a test helper outside tests", map[string]string{"internal/cli/x.go": "package cli\nimport _ \"github.com/jobfate/jobfate/indexset\"\nimport _ \"pgregory.net/rapid\"\n"},
			"internal/cli/x.go:3: layers: internal/cli may not import pgregory.net/rapid"},
		{"an import from elsewhere, in a test", map[string]string{"backoff/x_test.go": "package backoff\nimport _ \"github.com/stretchr/testify/require\"\n"},
			"backoff/x_test.go:2: dependencies: github.com/stretchr/testify/require belongs to no module"},
		{"a module whose path only begins the same", map[string]string{"backoff/x_test.go": "package backoff\nimport _ \"k8s.io/apiserver\"\n"},
			"backoff/x_test.go:2: dependencies: k8s.io/apiserver belongs to no module"},

		// Purity.
		{"the clock", tracking("time", "", "_ = time.Now()"), "tracking/x.go:101: purity: uses time.Now: the time is an input"},
		{"the clock, as a value", tracking("time", "var clock = time.Now", ""), "tracking/x.go:3: purity: uses time.Now"},
		{"the clock, under another name", map[string]string{"x.go": "package jobfate\nimport t \"time\"\nfunc f() { t.Sleep(1) }\n"},
			"x.go:3: purity: uses time.Sleep: a decision does not wait"},
		{"the clock, within a function of another package", tracking("time k8s.io/api/core/v1", "", "v1.Do(func() { time.Since(v1.X) })"),
			"tracking/x.go:101: purity: uses time.Since"},
		{"the clock of apimachinery", map[string]string{"tracking/x.go": "package tracking\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\nvar t = metav1.Now()\n"},
			"tracking/x.go:3: purity: uses v1.Now: the time is an input"},
		{"the zone of the machine", tracking("time", "", "_ = time.Local"), "tracking/x.go:101: purity: uses time.Local"},
		{"a dot import", map[string]string{"x.go": "package jobfate\nimport . \"time\"\n"}, "x.go:2: purity: imports time with a dot"},
		{"a goroutine", tracking("", "", "go f()"), "tracking/x.go:101: purity: starts a goroutine"},
		{"a channel's type", tracking("", "type t struct{ c chan int }", ""), "tracking/x.go:2: purity: uses a channel"},
		{"sending", tracking("", "type t interface{ ~[]int }", "c <- 1"), "tracking/x.go:101: purity: uses a channel"},
		{"select", tracking("", "", "select {}"), "tracking/x.go:101: purity: uses a channel"},
		{"panic", tracking("", "", `panic("x")`), "tracking/x.go:101: panic: panics, and is no Must function"},
		{"panic, in a closure", tracking("", "var g = func() { panic(1) }", ""), "tracking/x.go:2: panic: panics"},

		// State.
		{"assignment", tracking("", "var table [3]int", "table = [3]int{}"), "tracking/x.go:101: state: assigns to the package-level variable table"},
		{"assignment among others", tracking("", "var err error", "_, err = 1, nil"), "tracking/x.go:101: state: assigns to the package-level variable err"},
		{"assignment with an operator", tracking("", "var n int", "n += 2"), "tracking/x.go:101: state: assigns to the package-level variable n"},
		{"counting", tracking("", "var n int", "n++"), "tracking/x.go:101: state: assigns to the package-level variable n"},
		{"an element", tracking("", "var m = map[int]int{}", "m[1] = 2"), "tracking/x.go:101: state: assigns to the package-level variable m"},
		{"a field of an element", tracking("", "var s []struct{ a int }", "(s[0]).a = 2"), "tracking/x.go:101: state: assigns to the package-level variable s"},
		{"what a pointer points to", tracking("", "var p *int", "*p = 2"), "tracking/x.go:101: state: assigns to the package-level variable p"},
		{"through a slice", tracking("", "var s []int", "s[1:][0] = 2"), "tracking/x.go:101: state: assigns to the package-level variable s"},
		{"a range", tracking("", "var n int", "for n = range 3 {\n}"), "tracking/x.go:101: state: assigns to the package-level variable n"},
		{"an address", tracking("", "var n int", "g(&n)"), "tracking/x.go:101: state: takes the address of the package-level variable n"},
		{"the address of an element", tracking("", "var s [3]int", "_ = &s[1]"), "tracking/x.go:101: state: takes the address of the package-level variable s"},
		{"a slice of an array", tracking("", "var s [3]int", "_ = s[:]"), "tracking/x.go:101: state: takes the address of the package-level variable s"},
		{"copy", tracking("", "var s []int", "copy(s, nil)"), "tracking/x.go:101: state: changes the package-level variable s"},
		{"clear", tracking("", "var s []int", "clear(s)"), "tracking/x.go:101: state: changes the package-level variable s"},
		{"delete", tracking("", "var m map[int]int", "delete(m, 1)"), "tracking/x.go:101: state: changes the package-level variable m"},
		{"sorting", tracking("slices", "var s []int", "slices.Sort(s)"), "tracking/x.go:101: state: changes the package-level variable s"},
		{"a method with a pointer receiver", tracking("", "type t struct{ n int }\nfunc (*t) set() {}\nvar v t", "v.set()"),
			"tracking/x.go:101: state: calls a method that may change the package-level variable v"},
		{"a variable of another file", map[string]string{"x.go": "package jobfate\nvar n int\n", "y.go": "package jobfate\nfunc f() { n = 1 }\n"},
			"y.go:2: state: assigns to the package-level variable n"},
		{"a variable of another package", tracking("time", "", "time.UTC = nil"), "tracking/x.go:101: state: assigns to the package-level variable time.UTC"},

		// Size.
		{"a long file", map[string]string{"backoff/x.go": "package backoff\n" + lines(400)}, "backoff/x.go:1: warning: file size: backoff/x.go has 401 lines"},
		{"a file that is too long, of tests and in a nested module", map[string]string{"nested/go.mod": "", "nested/x_test.go": "package nested\n" + lines(600)},
			"nested/x_test.go:1: file size: nested/x_test.go has 601 lines"},
		{"a long function", tracking("", "", lines(59)), "tracking/x.go:100: warning: function size: f has 62 lines"},
		{"a function that is too long", tracking("", "", lines(98)), "tracking/x.go:100: function size: f has 101 lines"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got := check(t, tc.files)
			if len(got) != 1 || !strings.HasPrefix(got[0], tc.want) {
				t.Errorf("got findings\n%s\nwant one that begins with\n%s", strings.Join(got, "\n"), tc.want)
			}
		})
	}
}

func TestEveryBannedImport(t *testing.T) {
	for _, b := range bannedImports {
		for _, path := range []string{b.path, b.path + "/below"} {
			got := check(t, map[string]string{"validation/x.go": fmt.Sprintf("package validation\nimport _ %q\n", path)})
			want := fmt.Sprintf("validation/x.go:2: purity: imports %s: %s", path, b.why)
			if !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("got findings %q, want %q", got, want)
			}
		}
	}
}

// TestWhatIsAllowed has what looks like the above and is none of it.
func TestWhatIsAllowed(t *testing.T) {
	files := map[string]string{
		"tracking/x.go": `package tracking

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
)

var table = [...]struct{ n int }{{1}, {2}}
var named = map[string]int{"a": 1}
var list = []int{1}

type value struct{ n int }

func (v value) read() int { return v.n }
func (v *value) write()   { v.n = 1 }

var zero value

func MustBe(ok bool) {
	if !ok {
		panic("no")
	}
}

func reads(pod *corev1.Pod, d time.Duration) int {
	failurepolicy.Match(pod)
	table := table     // a local variable of the same name
	table[0].n = 3
	for i := range list {
		_ = list[i:]
	}
	for _, row := range named {
		row++
	}
	var v value
	v.write()
	p := &v
	p.n = zero.read()
	local := slices.Clone(list)
	slices.Sort(local)
	panic := func(string) {}
	panic("a local function")
	now := struct{ Now func() int }{}
	return now.Now() + copy(local, list)
}
`,
		"tracking/x_test.go":           "package tracking\nimport (\"os\"; \"time\"; _ \"pgregory.net/rapid\")\nvar n = time.Now()\nfunc f() { go os.Exit(1); panic(1) }\n",
		"jobtest/x.go":                 "package jobtest\nimport (_ \"github.com/jobfate/jobfate\"; _ \"pgregory.net/rapid\"; _ \"github.com/google/go-cmp/cmp\"; _ \"math/rand\")\n",
		"cmd/jobfate/main.go":          "package main\nimport (_ \"github.com/jobfate/jobfate/internal/cli\"; _ \"os\")\n",
		"internal/cli/x.go":            "package cli\nimport (_ \"github.com/jobfate/jobfate\"; _ \"github.com/jobfate/jobfate/internal/kubefile\"; _ \"os\")\n",
		"internal/kubefile/x.go":       "package kubefile\nimport (_ \"github.com/jobfate/jobfate/failurepolicy\"; _ \"sigs.k8s.io/yaml\"; _ \"go.yaml.in/yaml/v3\"; _ \"io/fs\")\n",
		"jobtest/cluster/x.go":         "package cluster\nimport _ \"github.com/jobfate/jobfate\"\n",
		"internal/simulation/x.go":     "package simulation\nimport (_ \"github.com/jobfate/jobfate\"; _ \"github.com/jobfate/jobfate/jobtest/cluster\")\n",
		"nested/go.mod":                "module nested\n",
		"nested/deeper/x.go":           "package deeper\nimport _ \"k8s.io/kubernetes\"\n",
		"tracking/testdata/broken.go":  "not Go",
		".hidden/x.go":                 "not Go",
		"_old/x.go":                    "not Go",
		"onlytests/onlytests_test.go":  "package onlytests\n",
		"indexset/doc.go":              "package indexset\n" + strings.Repeat("\n", 399),
		"indexset/long_test.go":        "package indexset\nfunc f() {\n" + strings.Repeat("\n", 200) + "}\n",
		"indexset/README.md":           "no Go",
		"examples/external/example.go": "package main\nimport _ \"github.com/jobfate/jobfate\"\n",
	}
	if got := check(t, files); len(got) > 0 {
		t.Errorf("got findings\n%s\nwant none", strings.Join(got, "\n"))
	}
}

// TestRun checks what is printed and the exit status, on folders on disk.
func TestRun(t *testing.T) {
	good := map[string]string{"go.mod": goodModule, "cmd/jobfate/x.go": "// It has an overview.\npackage main\n" + strings.Repeat("\n", 449)}
	bad := maps.Clone(good)
	bad["indexset/x.go"] = "// Package indexset has an overview.\npackage indexset\nimport _ \"os\"\n"
	bad["indexset/x_test.go"] = "package indexset\nfunc Example() {\n// Output: x\n}\n"
	broken := maps.Clone(good)
	broken["x.go"] = "not Go"
	const long = "cmd/jobfate/x.go:1: warning: file size: cmd/jobfate/x.go has 451 lines; above 400 it does more than one thing, above 600 the check fails\n"
	for _, tc := range []struct {
		reason string
		files  map[string]string
		quiet  bool
		status int
		want   string
	}{
		{"warnings do not fail", good, false, 0, long + "archcheck: 1 packages, 1 files: 0 errors, 1 warnings\n"},
		{"nor are they shown when they are not wanted", good, true, 0, "archcheck: 1 packages, 1 files: 0 errors, 1 warnings\n"},
		{"errors fail", bad, false, 1, long +
			"indexset/x.go:3: purity: imports os: a decision knows nothing of the machine\narchcheck: 2 packages, 3 files: 1 errors, 1 warnings\n"},
		{"so does what is not Go", broken, false, 1, "archcheck: not Go: x.go:1:1: expected 'package', found not\n"},
		{"and no module at all", nil, false, 1, "archcheck: open go.mod: no such file or directory\n"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range tc.files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			if status := run(root, tc.quiet, &out); status != tc.status || out.String() != tc.want {
				t.Errorf("got status %d and\n%s\nwant %d and\n%s", status, out.String(), tc.status, tc.want)
			}
		})
	}
}

// A permission that is not used is told, and one that is used in a test alone is not
// used.
func TestUnusedArrow(t *testing.T) {
	files := map[string]string{
		"internal/owner/x.go":      "package owner\nimport _ \"github.com/jobfate/jobfate/internal/keys\"\n",
		"internal/owner/x_test.go": "package owner\nimport _ \"github.com/jobfate/jobfate/internal/lifecycle\"\n",
	}
	got := checkFor(t, files, func(rule string) bool { return rule == unusedArrow })
	want := "tools/archcheck/rules.go:1: warning: unused arrow: internal/owner may import internal/lifecycle, and does not"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
