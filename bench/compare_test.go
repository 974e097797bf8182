package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// passesOf writes the passes of a file. The starts of the passes are their times.
func passesOf(t *testing.T, name string, passes map[int]string) string {
	t.Helper()
	var text strings.Builder
	for at := range 100 {
		if rows, ok := passes[at]; ok {
			fmt.Fprintf(&text, "start %02d\n%s", at, rows)
		}
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func ratios(samples ...float64) string {
	return row{what: "a row", beside: "b", samples: samples}.data()
}

func TestCompare(t *testing.T) {
	const none = "1 rows, noise %s (median) to %[1]s.\n"
	for _, tc := range []struct {
		name         string
		base, change map[int]string
		want         string
		wantErr      string
	}{
		{name: "slower by more than the noise",
			base:    map[int]string{1: ratios(9, 100, 101), 4: ratios(100)},
			change:  map[int]string{2: ratios(120, 120, 1), 3: ratios(125)},
			want:    "+22.5 %, noise +4.2 %: \"a_row/beside=b\"\n" + fmt.Sprintf(none, "+4.2 %"),
			wantErr: errSlower.Error()},
		{name: "faster",
			base:   map[int]string{1: ratios(100), 4: ratios(100)},
			change: map[int]string{2: ratios(50), 3: ratios(50)},
			want:   "-50.0 %, noise +0.0 %: \"a_row/beside=b\"\n" + fmt.Sprintf(none, "+0.0 %")},
		{name: "slower by the noise",
			base:   map[int]string{1: ratios(100), 4: ratios(100), 5: ratios(200)},
			change: map[int]string{2: ratios(200), 3: ratios(200)},
			want:   fmt.Sprintf(none, "+100.0 %")},
		{name: "not in turns",
			base:    map[int]string{1: ratios(100)},
			change:  map[int]string{2: ratios(125)},
			wantErr: "there must be pairs of passes of both files, and of the same file"},
		{name: "a row is missing",
			base:    map[int]string{1: ratios(100), 2: ""},
			change:  map[int]string{3: ratios(125)},
			wantErr: `not every pass has the row "a_row/beside=b"`},
		{name: "no rows", base: map[int]string{1: ""}, change: map[int]string{2: ""}, wantErr: "there are no rows"},
		{name: "no number", base: map[int]string{1: ratios(0)},
			wantErr: "base: not a positive number: \"Benchmark/a_row/beside=b 1 0 ratio\\n\""},
		{name: "no sample", change: map[int]string{1: "x\n"}, wantErr: "change: not a sample: \"x\\n\""},
	} {
		var out strings.Builder
		err := compare(&out, passesOf(t, "base", tc.base), passesOf(t, "change", tc.change))
		if got := out.String(); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
		if err == nil && tc.wantErr != "" || err != nil && (tc.wantErr == "" || !strings.HasSuffix(err.Error(), tc.wantErr)) {
			t.Errorf("%s: got the error %v, want %q", tc.name, err, tc.wantErr)
		}
	}
}

// Hardly a row moves by more than its noise by chance, whatever the distribution of its figures, and
// a slowdown by five standard deviations of a figure is found.
func TestMoveOf_chance(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	burst := func() float64 { return r.NormFloat64() * (1 + 9*float64(r.Intn(5)/4)) }
	found := func(figure func() float64, slowdown float64) (n int) {
		for range 1000 {
			var passes []pass
			for at := range 40 {
				p := pass{file: "base", medians: map[string]float64{"a": math.Exp(figure())}}
				if at%4 == 1 || at%4 == 2 {
					p.file, p.medians["a"] = "change", math.Exp(slowdown+figure())
				}
				passes = append(passes, p)
			}
			if move, noise, err := moveOf("a", passes, "base"); err != nil {
				t.Fatal(err)
			} else if math.Abs(move) > noise {
				n++
			}
		}
		return n
	}
	if normal, bursts := found(r.NormFloat64, 0), found(burst, 0); normal > 3 || bursts > 3 {
		t.Errorf("%d and %d of 1,000 rows that are the same have moved", normal, bursts)
	}
	if n := found(r.NormFloat64, 5); n < 990 {
		t.Errorf("%d of 1,000 slowdowns are found", n)
	}
}

// A slowdown of what is measured is found, and the same code is not slower than itself.
func TestCompare_measured(t *testing.T) {
	runtime.LockOSThread() // the clock measures this thread
	defer runtime.UnlockOSThread()
	w := newWorld(running, 50)
	same := w.jobfate()
	slow := side{run: func(times int) (time.Duration, error) {
		took, err := same.run(4 * times)
		return 4 * took, err
	}}
	measured := func(s side) string {
		r, err := meter{runs: 3}.measure(s, w.floor())
		if err != nil {
			t.Fatal(err)
		}
		return slower(r, 0, 1, "a row", "floor", target{}).data()
	}
	base, unchanged, slowed := map[int]string{}, map[int]string{}, map[int]string{}
	for at := range 32 { // base, change, change, base, eight times
		if at%4 == 0 || at%4 == 3 {
			base[at] = measured(same)
		} else {
			unchanged[at], slowed[at] = measured(same), measured(slow)
		}
	}
	var out strings.Builder
	file := passesOf(t, "base", base)
	if err := compare(&out, file, passesOf(t, "unchanged", unchanged)); err != nil {
		t.Errorf("the same code: %v\n%s", err, out.String())
	}
	if err := compare(&out, file, passesOf(t, "slowed", slowed)); !errors.Is(err, errSlower) {
		t.Errorf("four times the work: got %v, want %v\n%s", err, errSlower, out.String())
	}
	t.Log(out.String())
}
