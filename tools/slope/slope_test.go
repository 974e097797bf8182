// Package slope_test tests .ci/slope.
package slope_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	head      = "package m\n\nfunc repeated(items []int) bool {\n\tseen := map[int]bool{}\n\tfor i, item := range items {\n"
	linear    = head + "\t\tif _ = i; seen[item] { return true }\n\t\tseen[item] = true\n\t}\n\treturn false\n}\n"
	quadratic = head + "\t\tfor _, earlier := range items[:i] {\n\t\t\tseen[item] = item == earlier\n\t\t}\n\t}\n\treturn false\n}\n"
	benchmark = `package m

import (
	"fmt"
	"testing"
)

func BenchmarkSlope_items(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			items := make([]int, n)
			for i := range items {
				items[i] = i
			}
			for b.Loop() {
				repeated(items)
			}
		})
	}
}
`
)

func TestSlope(t *testing.T) {
	for name, tc := range map[string]struct{ source, tests, want string }{
		"linear":       {linear, benchmark, ""},
		"quadratic":    {quadratic, benchmark, "BenchmarkSlope_items: ten times the items take more"},
		"no benchmark": {linear, strings.ReplaceAll(benchmark, "Slope_", "Other_"), "there is no BenchmarkSlope_"},
		"another size": {linear, strings.ReplaceAll(benchmark, "1000,", "100,"), "0 statements with 1,000"},
		"fails":        {linear, strings.ReplaceAll(benchmark, "repeated(items)", "b.Fatal(repeated(items))"), "--- FAIL: BenchmarkSlope_items/1000"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m.go": tc.source, "m_test.go": tc.tests} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.Command("../../.ci/slope", folder, ".").CombinedOutput()
			if (err != nil) != (tc.want != "") || !strings.Contains(string(out), tc.want) {
				t.Errorf("got %v and %q, want %q", err, out, tc.want)
			}
		})
	}
}
