package main

import (
	"slices"
	"testing"
)

// The tests of one folder may take the place of all others.
func TestTestsOf(t *testing.T) {
	for _, tc := range []struct {
		tests, dir string
		want       []string
	}{
		{"", "backoff", []string{"backoff", "."}},
		{"", ".", []string{"."}},
		{"./vectors", "backoff", []string{"./vectors"}},
		{"./vectors", ".", []string{"./vectors"}},
	} {
		r, p := runner{tests: tc.tests}, &sourcePackage{dir: tc.dir}
		if got := r.testsOf(p); !slices.Equal(got, tc.want) {
			t.Errorf("-tests %q, %s: got %v, want %v", tc.tests, tc.dir, got, tc.want)
		}
	}
}

// Explanations name packages by their folders, and the root by its name.
func TestTitle(t *testing.T) {
	for _, tc := range []struct{ dir, name, want string }{
		{"internal/decide", "decide", "internal/decide"},
		{".", "jobfate", "jobfate"},
	} {
		if got := (&sourcePackage{dir: tc.dir, name: tc.name}).title(); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.dir, got, tc.want)
		}
	}
}

// A share is some of the mutants, and the same ones each time.
func TestShare(t *testing.T) {
	all := len(parsed(t, sample).statementMutants())
	var drawn []place
	for range 2 {
		p := parsed(t, sample)
		p.share = 50
		var places []place
		for _, m := range p.statementMutants() {
			places = append(places, m.place)
		}
		if drawn != nil && !slices.Equal(places, drawn) {
			t.Errorf("got %v, and then %v", drawn, places)
		}
		drawn = places
	}
	if len(drawn) == 0 || len(drawn) == all {
		t.Errorf("%d of %d mutants are drawn, want some", len(drawn), all)
	}
}
