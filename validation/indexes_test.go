package validation

import (
	"testing"

	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		name  string
		a, b  string
		want  int32
		found bool
	}{
		{"none", "0-2,5", "3,4,6-8", 0, false},
		{"empty", "", "1", 0, false},
		{"within", "0,2-9", "1,4-6", 4, true},
		{"bad entries are skipped", "x,0,1-2-3,7", "9-8,7", 7, true},
		{"a list out of order is walked once: 1 is missed", "5,1", "1", 0, false},
		{"a list out of order, overlap found in one walk", "5,1", "5", 5, true},
		{"past the end", "25", "25", 0, false},
		{"only one list is in order", "5,1", "0-5", 5, true},
		{"only the other list is in order", "0-5", "5,1", 5, true},
		{"bad entries, and intervals that just do not touch", "x,0-2,5-7", "3-4,8", 0, false},
		{"bad entries, and the last is the first", "x,0-3", "3-5", 3, true},
		{"bad entries, and the first is the last", "x,3-5", "0-3", 3, true},
	} {
		got, found := overlap(c.a, c.b, 20)
		Same(t, c.name, Pair(got, found), Pair(c.want, c.found))
	}
}
