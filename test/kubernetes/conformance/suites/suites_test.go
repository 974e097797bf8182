package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	// The go command runs TestUnit again when this package has changed.
	_ "github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// Kubernetes' unit tests have the results that docs/compatibility.md lists.
func TestUnit(t *testing.T) {
	r := Must(pinned(t.Context()))
	for _, s := range Must(suites["unit"](t.Context(), r)) {
		if err := s.update(r, false); err != nil {
			t.Errorf("go -C test/kubernetes run ./conformance/suites -write unit writes the current results; %v", err)
		}
	}
}

// The files that adapt our controller to the integration tests compile. Only make soak runs these
// tests.
func TestIntegration_compiles(t *testing.T) {
	r := Must(pinned(t.Context()))
	overlay := Must(r.forIntegration(t.Context(), t.TempDir()))
	if _, err := toolchain("").output(t.Context(), r.module, "build", "-overlay", overlay, "-mod=mod", "-modfile", r.modfile, "./conformance/suites/integration/controller"); err != nil {
		t.Error(err)
	}
}

// The output of go test -json for a test with three subtests. The first passes, the second fails, and
// the third never ends. The second subtest creates no controller; a controller of the test before
// syncs while it runs.
const lines = `{"Action":"start"}
{"Action":"run","Test":"Test"}
{"Action":"output","Test":"Test","Output":"jobfate: made 0xb\n"}
{"Action":"output","Test":"Test","Output":"jobfate: sync 0xb\n"}
{"Action":"pass","Test":"Test"}
{"Action":"run","Test":"TestA"}
{"Action":"run","Test":"TestA/one"}
{"Action":"output","Test":"TestA","Output":"jobfate: made 0xa\n"}
{"Action":"output","Test":"TestA","Output":"jobfate: sync 0xa\n"}
{"Action":"output","Test":"TestA","Output":"jobfate: uid 0xa\n"}
{"Action":"output","Test":"TestA","Output":"jobfate: uid 0xa\n"}
{"Action":"pass","Test":"TestA/one"}
{"Action":"run","Test":"TestA/two"}
{"Action":"output","Test":"TestA/two","Output":"jobfate: sync 0xb\n"}
{"Action":"output","Test":"TestA/two","Output":"    two_test.go:7: wrong\n"}
{"Action":"fail","Test":"TestA/two"}
{"Action":"run","Test":"TestA/three"}
{"Action":"output","Output":"panic: index out of range\n"}
`

func TestReadEvents(t *testing.T) {
	got, rest, err := readEvents(strings.NewReader(lines))
	NoError(t, err)
	want := []result{
		{test: "Test", outcome: "pass", marks: []string{"sync"}},
		{test: "TestA/one", outcome: "pass", marks: []string{"sync", "uid"}},
		{test: "TestA/three", outcome: "fail"},
		{test: "TestA/two", outcome: "fail", output: "    two_test.go:7: wrong\n"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	Same(t, "output of no test", rest, "panic: index out of range\n")
}

// A test that fails has a reason, and a reason has tests that fail.
func TestRenderReasons(t *testing.T) {
	failing := result{test: "TestA/two", outcome: "fail", output: "wrong"}
	for _, c := range []struct {
		name    string
		results []result
		reasons []reason
		want    string // a row, or the error
		refused bool
	}{
		{name: "a reason for all subtests", results: []result{failing}, reasons: []reason{{"TestA", "a gate is off"}},
			want: "| `TestA/two` | fail: a gate is off |\n"},
		{name: "one reason for two tests", results: []result{failing, {test: "TestA/three", outcome: "fail"}}, reasons: []reason{{"TestA", "a gate is off"}},
			want: "| `TestA/two`<br>`TestA/three` | fail: a gate is off |\n"},
		{name: "no reason", results: []result{failing}, want: "TestA/two: fail, without a known reason:\nwrong", refused: true},
		{name: "a reason for another test of that prefix", results: []result{failing}, reasons: []reason{{"TestA/tw", "a gate is off"}},
			want: "TestA/two: fail, without a known reason:\nwrong", refused: true},
		{name: "a reason for a test that passes", results: []result{{test: "TestA", outcome: "pass"}}, reasons: []reason{{"TestA", "a gate is off"}},
			want: "TestA passes or does not exist, but has a reason to fail: a gate is off", refused: true},
		{name: "a change", results: []result{{test: "TestA/a|b", outcome: "pass", marks: []string{"interim", "uid"}}},
			want: "\n---\nTestA/a|b: pass (interim, uid)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := report{results: c.results, reasons: c.reasons}
			got, err := r.render()
			if (err != nil) != c.refused {
				t.Fatalf("got error %v, want one: %v", err, c.refused)
			}
			if err != nil {
				got = err.Error()
			}
			got += "\n---\n" + r.list()
			if !strings.Contains(got, c.want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}
