package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

var small = scale{pods: []int{20, 60}, intervals: []int{1, 30}}

// The table has a row for each target, and further rows.
func TestTableIsComplete(t *testing.T) {
	var rows []row
	for _, g := range groups {
		if err := g.measure(meter{runs: 1}, small, func(r ...row) { rows = append(rows, r...) }); err != nil {
			t.Fatalf("%s: %v", g.title, err)
		}
	}
	for _, want := range []struct{ what, beside, target string }{
		{"Decide, 60 pods, running", "floor", "≤ 3"},
		{"Decide, 60 pods, running", "real controller", "≥ 10"},
		{"Decide, 60 pods, running, per index", "floor", "≤ 3"},
		{"Decide, 60 pods, running, per index", "real controller", "≥ 10"},
		{"Decide, 60 pods, failed and backing off", "floor", "≤ 3"},
		{"Decide, 60 pods, failed and backing off", "real controller", "≥ 10"},
		{"Decide, 60 pods, failed and backing off, per index", "floor", "≤ 3"},
		{"Decide, 60 pods, failed and backing off, per index", "real controller", "≥ 10"},
		{"one pod: the decision to create it", "real controller", "≥ 3"},
		{"one pod: an event and a sync that changes nothing", "real controller", "≥ 3.5"},
		{"one pod: the decision to create it: allocations", "", "≤ 40"},
		{"completions 10⁵ → 2³¹−1, 60 pods, running", "10⁵ completions", "≤ 1.10"},
		{"completions 10⁵ → 2³¹−1, 60 pods, running: memory", "", "< 1 MB"},
		{"per index, 60 pods, running", "regular Indexed Job", "≤ 1.01"},
		{"per index, 60 pods, failed and backing off", "regular Indexed Job", "≤ 1.10"},
		{"one event and a sync, 60 pods, running: least", "", "≤ 20 µs"},
		{"one event and a sync, 60 pods, running, per index: least, more than with 20", "", "≤ 3 µs"},
		{"one event and a sync, 60 pods, failed and backing off, per index: least", "", "≤ 100 µs"},
		{"one event and a sync, 60 pods, failed and backing off, per index, cold: least", "", ""},
		{"one event and a sync, 60 pods, a third each backing off, completed, failed: least", "", "≤ 100 µs"},
		{"a pod ends and is counted, 60 pods, dense: least, beside the texts", "", "≤ 100 µs"},
		{"a pod ends and is counted, 60 pods, scattered: least, beside the texts", "", "≤ 100 µs"},
		{"bytes per pod in a Machine, 60 pods, running, per index", "", "≤ 120"},
		{"bytes of a Machine, a Job of one pod", "", "≤ 3 kB"},
		{"a life, 60 indexes that each fail once: least", "", "≤ 3 s"},
		{"a life, 60 indexes that each fail once, per index", "20", "≤ 12"},
		{"a life, 600 indexes that each fail once: least", "", ""},
		{"parse singles, 30 intervals", "real controller", "≥ 4"},
		{"parse singles, 30 intervals: least", "", "≤ 1 ms"},
		{"parse singles, 30 intervals: allocations", "", "≤ 2"},
		{"format singles, 30 intervals", "real controller", "≥ 3"},
		{"format singles, 30 intervals: least", "", "≤ 0.6 ms"},
		{"format singles, 30 intervals: allocations", "", "≤ 1"},
		{"union, add 500 to singles, 30 intervals: per interval, least", "", "≤ 2 ns"},
		{"explain, JSON, 60 pods", "decoding", "≤ 1.5"},
		{"explain, YAML, 60 pods: peak memory", "decoding", "≤ 1.3"},
		{"explain, JSON, 2 Jobs of 10 pods", "decoding", "≤ 1.5"},
	} {
		if !slices.ContainsFunc(rows, func(r row) bool {
			return r.what == want.what && r.beside == want.beside && r.target.text == want.target
		}) {
			t.Errorf("the table has no row %q beside %q with the target %q", want.what, want.beside, want.target)
		}
	}
	// These figures do not depend on how fast the machine is.
	for _, r := range rows {
		exact := strings.HasSuffix(r.what, ": allocations") || r.what == "bytes of a Machine, a Job of one pod"
		if exact && r.target.text != "" && !r.met {
			t.Errorf("%s: got %s, want %s", r.what, r.ours, r.target.text)
		}
	}
	for _, r := range rows {
		if data := r.data(); r.ratio != "" && data == "" || strings.Contains(data, "NaN") {
			t.Errorf("%v: got the samples %q", r, data)
		}
	}
	columns := strings.Count(strings.SplitN(header, "\n", 2)[0], "|")
	for _, r := range rows {
		Same(t, "bars of the row "+r.what, strings.Count(r.String(), "|"), columns)
	}
}

// Both sides of a comparison end with the same status.
func TestSidesDoTheSame(t *testing.T) {
	for _, s := range []jobState{running, backingOff, half} {
		w := newWorld(s, 40)
		for name, w := range map[string]*world{"regular": w, "per index": w.withLimitPerIndex(), "more completions": w.withCompletions(1000)} {
			if name == "more completions" && s.name != running.name && s.name != backingOff.name {
				continue // the real controller would create pods
			}
			if name == "more completions" {
				w.job.Spec.Parallelism = new(int32(40))
			}
			out := real.Sync(w.input())
			if out.Err != nil || out.Panic != nil {
				t.Fatalf("%s, %s: the controller: %v %v", s.name, name, out.Err, out.Panic)
			}
			want := &w.job.Status
			if all := out.Statuses(); len(all) > 0 {
				want = all[len(all)-1]
			}
			if got := statusAfter(t, w); !jobstatus.Equal(got, want) {
				t.Errorf("%s, %s: jobfate ends in (-the controller +got):\n%s", s.name, name, cmp.Diff(want, got))
			}
		}
		if got := floor(w.pods); got == 0 {
			t.Errorf("%s: the result of the floor is 0", s.name)
		}
	}
}

func statusAfter(t *testing.T, w *world) *batchv1.JobStatus {
	t.Helper()
	d, err := decide.Job(w.snapshot())
	NoError(t, err)
	status := &w.job.Status
	if d.Status != nil {
		status = d.Status
	}
	if settled := d.Settle(uidsOf(d.Strip)...); settled.Status != nil {
		status = settled.Status
	}
	return status
}

func TestMeter(t *testing.T) {
	calls := 0
	slow := side{run: func(times int) (time.Duration, error) { calls++; return 2 * time.Second, nil }, leavesGarbage: true}
	fast := side{run: func(times int) (time.Duration, error) { return time.Second, nil }}
	r, err := meter{runs: 3}.measure(slow, fast)
	if err != nil || calls != 3+1 || len(r[0]) != 3 {
		t.Fatalf("got %v, %v after %d calls, want 3 runs after a first", r, err, calls)
	}
	if r.ratio(0, 1) != 2 || middle([]float64{5, 1, 2, 4}) != 3 || r.median(1) != time.Second || r.least(0) != 2*time.Second {
		t.Errorf("got ratio %v, median %v, least %v", r.ratio(0, 1), r.median(1), r.least(0))
	}
	failing := side{run: func(int) (time.Duration, error) { return 0, errors.New("broken") }}
	if _, err := (meter{runs: 1}).measure(failing); err == nil {
		t.Error("a side fails: got no error")
	}
	ran := 0
	if _, err := timed(func() { ran++ }).run(7); err != nil || ran != 7 {
		t.Errorf("timed ran %d times, want 7", ran)
	}
	if u := allocated(func() { _ = fmt.Sprint(math.Pi, ran) }); u.count == 0 || u.bytes == 0 {
		t.Errorf("allocated = %v, want more than zero", u)
	}
}

func TestRows(t *testing.T) {
	r := result{{10, 10, 10}, {5, 5, 5}}
	for _, tc := range []struct {
		got  row
		want string
	}{
		{slower(r, 0, 1, "a", "b", atMost(2, "≤ 2")), "| a | 10 ns | b | 5 ns | 2.00 × | ≤ 2 | yes |"},
		{slower(r, 0, 1, "a", "b", atMost(1, "≤ 1")), "| a | 10 ns | b | 5 ns | 2.00 × | ≤ 1 | **no** |"},
		{faster(r, 1, 0, "a", "b", atLeast(2, "≥ 2")), "| a | 5 ns | b | 10 ns | 2 × faster | ≥ 2 | yes |"},
		{faster(r, 1, 0, "a", "b", target{}), "| a | 5 ns | b | 10 ns | 2 × faster | – |  |"},
	} {
		Same(t, "text", tc.got.String(), tc.want)
	}
	for d, want := range map[time.Duration]string{17: "17 ns", 1500: "1.5 µs", 2_340_000: "2.34 ms", 5e9: "5 s"} {
		Same(t, d.String(), span(d), want)
	}
}
