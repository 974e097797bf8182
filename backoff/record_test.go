package backoff_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
)

func seconds(list ...int) []time.Time {
	var times []time.Time
	for _, s := range list {
		times = append(times, at(s).Time)
	}
	return times
}

func TestNewsOf(t *testing.T) {
	for name, tc := range map[string]struct {
		succeeded, failed []time.Time
		want              backoff.News
	}{
		"nothing":           {nil, nil, backoff.News{}},
		"one failure":       {nil, seconds(3), backoff.News{Failures: 1, LastFailure: at(3).Time}},
		"failures unsorted": {nil, seconds(3, 9, 1), backoff.News{Failures: 3, LastFailure: at(9).Time}},
		"only successes":    {seconds(1, 2), nil, backoff.News{Succeeded: true}},
		"all before the success": {seconds(1, 5), seconds(2, 4),
			backoff.News{Succeeded: true}},
		"at the moment of the success": {seconds(5), seconds(5),
			backoff.News{Succeeded: true}},
		"some after the last success": {seconds(5, 1), seconds(7, 3, 5, 6),
			backoff.News{Succeeded: true, Failures: 2, LastFailure: at(7).Time}},
		"times before year one": {[]time.Time{yearZero.Time}, []time.Time{yearZero.Time, yearZero.Add(1)},
			backoff.News{Succeeded: true, Failures: 1, LastFailure: yearZero.Add(1)}},
		"failed at the zero time": {nil, []time.Time{{}}, backoff.News{Failures: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, backoff.NewsOf(tc.succeeded, tc.failed)); diff != "" {
				t.Errorf("NewsOf (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordWith(t *testing.T) {
	old := backoff.Record{Job: "uid", Failures: 3, LastFailure: at(10).Time}
	for name, tc := range map[string]struct {
		record backoff.Record
		news   backoff.News
		want   backoff.Record
	}{
		"nothing new": {old, backoff.News{}, old},
		"first failures": {backoff.Record{Job: "uid"}, backoff.News{Failures: 2, LastFailure: at(4).Time},
			backoff.Record{Job: "uid", Failures: 2, LastFailure: at(4).Time}},
		"more failures": {old, backoff.News{Failures: 2, LastFailure: at(14).Time},
			backoff.Record{Job: "uid", Failures: 5, LastFailure: at(14).Time}},
		"a failure that finished earlier": {old, backoff.News{Failures: 1, LastFailure: at(4).Time},
			backoff.Record{Job: "uid", Failures: 4, LastFailure: at(4).Time}},
		"a success": {old, backoff.News{Succeeded: true}, backoff.Record{Job: "uid"}},
		"a success, then failures": {old, backoff.News{Succeeded: true, Failures: 1, LastFailure: at(14).Time},
			backoff.Record{Job: "uid", Failures: 1, LastFailure: at(14).Time}},
		"the count saturates": {
			backoff.Record{Failures: math.MaxInt32 - 1}, backoff.News{Failures: 2},
			backoff.Record{Failures: math.MaxInt32}},
		"a count below zero": {backoff.Record{Failures: -9}, backoff.News{Failures: 2}, backoff.Record{}},
		"news below zero":    {old, backoff.News{Failures: -9, LastFailure: at(14).Time}, old},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.record.With(tc.news)); diff != "" {
				t.Errorf("With (-want +got):\n%s", diff)
			}
		})
	}
}

func moments() *rapid.Generator[[]time.Time] {
	return rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 20), func(s int) time.Time { return at(s).Time }), 0, 6)
}

func records() *rapid.Generator[backoff.Record] {
	return rapid.Custom(func(t *rapid.T) backoff.Record {
		r := backoff.Record{Job: types.UID(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "job"))}
		r.Failures = rapid.OneOf(rapid.Int32Range(0, 10), rapid.Int32Min(math.MaxInt32-3)).Draw(t, "failures")
		if r.Failures > 0 {
			r.LastFailure = at(0).Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "last")))
		}
		return r
	})
}

func TestRecordAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := records().Draw(t, "record")
		succeeded, failed := moments().Draw(t, "succeeded"), moments().Draw(t, "failed")
		beforeSucceeded, beforeFailed := slices.Clone(succeeded), slices.Clone(failed)

		got := record.With(backoff.NewsOf(succeeded, failed))
		if diff := cmp.Diff(slowRecord(record, succeeded, failed), got); diff != "" {
			t.Fatalf("With(NewsOf) (-want +got):\n%s", diff)
		}
		if !slices.Equal(beforeSucceeded, succeeded) || !slices.Equal(beforeFailed, failed) {
			t.Fatalf("NewsOf changed its input: %v, %v", succeeded, failed)
		}
	})
}

// However the pods that finish are split into syncs, the record is the same, as
// long as the syncs see them in order.
func TestRecordDoesNotDependOnTheSyncs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var allSucceeded, allFailed, succeeded, failed []time.Time
		record := backoff.Record{Job: "uid"}
		for s := range rapid.IntRange(0, 12).Draw(t, "pods") {
			if rapid.IntRange(0, 3).Draw(t, "succeeds") == 0 {
				succeeded, allSucceeded = append(succeeded, at(s).Time), append(allSucceeded, at(s).Time)
			} else {
				failed, allFailed = append(failed, at(s).Time), append(allFailed, at(s).Time)
			}
			if rapid.Bool().Draw(t, "sync") {
				record = record.With(backoff.NewsOf(succeeded, failed))
				succeeded, failed = nil, nil
			}
		}
		record = record.With(backoff.NewsOf(succeeded, failed))
		if diff := cmp.Diff(backoff.Rebuild("uid", allSucceeded, allFailed), record); diff != "" {
			t.Fatalf("sync by sync (-at once +by sync):\n%s", diff)
		}
	})
}

func TestRecordEqual(t *testing.T) {
	base := backoff.Record{Job: "uid", Failures: 2, LastFailure: t0}
	elsewhere := base
	elsewhere.LastFailure = t0.In(time.FixedZone("elsewhere", 3600))
	if !base.Equal(elsewhere) {
		t.Errorf("%v and %v differ, want the same instant to be equal", base, elsewhere)
	}
	for name, change := range map[string]func(*backoff.Record){
		"job":          func(r *backoff.Record) { r.Job = "other" },
		"failures":     func(r *backoff.Record) { r.Failures++ },
		"last failure": func(r *backoff.Record) { r.LastFailure = t0.Add(1) },
	} {
		other := base
		change(&other)
		if base.Equal(other) {
			t.Errorf("another %s: Equal = true, want false", name)
		}
	}
}

func TestRecordJSON(t *testing.T) {
	for _, tc := range []struct {
		record backoff.Record
		want   string
	}{
		{backoff.Record{}, `{}`},
		{backoff.Record{Job: "uid"}, `{"job":"uid"}`},
		{backoff.Record{Job: "uid", Failures: 2, LastFailure: t0}, `{"job":"uid","failures":2,"lastFailure":"2026-03-04T05:06:07.0000008Z"}`},
	} {
		got, err := json.Marshal(tc.record)
		if err != nil || string(got) != tc.want {
			t.Errorf("Marshal(%+v) = %s, %v, want %s", tc.record, got, err, tc.want)
		}
	}
}

func TestRecordJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := records().Draw(t, "record")
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatalf("Marshal: %v", err)
		}
		var got backoff.Record
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("Unmarshal(%s): %v", data, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round trip (-want +got):\n%s", diff)
		}
	})
}
