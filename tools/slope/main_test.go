package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	linear = `package m

func repeated(items []int) bool {
	seen := map[int]bool{}
	for _, item := range items {
		if seen[item] {
			return true
		}
		seen[item] = true
	}
	return false
}
`
	quadratic = `package m

func repeated(items []int) bool {
	for i, item := range items {
		for _, earlier := range items[:i] {
			if item == earlier {
				return true
			}
		}
	}
	return false
}
`
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

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		source, tests string
		want          string // in the error; none if empty
	}{
		"linear":       {linear, benchmark, ""},
		"quadratic":    {quadratic, benchmark, "statements: BenchmarkSlope_items"},
		"no benchmark": {linear, strings.ReplaceAll(benchmark, "Slope_", "Other_"), "no BenchmarkSlope_"},
		"another size": {linear, strings.ReplaceAll(benchmark, "1000,", "100,"), "executes only 0 statements"},
		"fails":        {linear, strings.ReplaceAll(benchmark, "repeated(items)", "b.Fatal(repeated(items))"), "--- FAIL: BenchmarkSlope_items/1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m.go": tc.source, "m_test.go": tc.tests} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			err := check(&out, folder, []string{"."})
			switch {
			case err == nil && tc.want != "":
				t.Errorf("no error, want one with %q\n%s", tc.want, &out)
			case err != nil && (tc.want == "" || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got the error %q, want %q\n%s", err, tc.want, &out)
			}
		})
	}
}
