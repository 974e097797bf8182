package backoff_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func seconds(list ...int) []time.Time {
	return Each(list, func(s int) time.Time { return at(s).Time })
}

func moments() *rapid.Generator[[]time.Time] {
	return rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 20), func(s int) time.Time { return at(s).Time }), 0, 6)
}

func records() *rapid.Generator[backoff.Record] {
	return rapid.Custom(func(t *rapid.T) backoff.Record {
		r := backoff.Record{Job: types.UID(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "job"))}
		r.Failures = rapid.OneOf(rapid.Int32Range(-2, 10), rapid.Int32Min(math.MaxInt32-3)).Draw(t, "failures")
		if r.Failures > 0 {
			r.LastFailure = at(0).Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "last")))
		}
		return r
	})
}

// checkRecord compares With with the oracle. FuzzRecord calls it too.
func checkRecord(t rapid.TB, record backoff.Record, succeeded, failed []time.Time) {
	t.Helper()
	beforeSucceeded, beforeFailed := slices.Clone(succeeded), slices.Clone(failed)
	got := record.With(succeeded, failed)
	Same(t, "With", got, slowRecord(record, succeeded, failed))
	if !slices.Equal(beforeSucceeded, succeeded) || !slices.Equal(beforeFailed, failed) {
		t.Fatalf("With changed its input: %v, %v", succeeded, failed)
	}
	slices.Reverse(succeeded) // "in any order"
	slices.Reverse(failed)
	Same(t, "With in another order", record.With(succeeded, failed), got)
	Same(t, "the record, stored: its JSON keeps nanoseconds", stored(got), got)
}

// stored returns a record as it is read back from its JSON.
func stored(record backoff.Record) backoff.Record {
	return FromJSON[backoff.Record](Must(json.Marshal(record)))
}

func TestRecordAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkRecord(t, records().Draw(t, "record"), moments().Draw(t, "succeeded"), moments().Draw(t, "failed"))
	})
}

// The record does not depend on how the finished pods are split into syncs, if the syncs
// observe them in order.
func TestRecordDoesNotDependOnTheSyncs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var allSucceeded, allFailed, succeeded, failed []time.Time
		record := backoff.Record{Job: "uid"}
		for s := range rapid.IntRange(0, 12).Draw(t, "pods") {
			if OneIn(t, 4, "succeeds") {
				succeeded, allSucceeded = append(succeeded, at(s).Time), append(allSucceeded, at(s).Time)
			} else {
				failed, allFailed = append(failed, at(s).Time), append(allFailed, at(s).Time)
			}
			if rapid.Bool().Draw(t, "sync") {
				record = record.With(succeeded, failed)
				succeeded, failed = nil, nil
			}
		}
		record = record.With(succeeded, failed)
		Same(t, "sync by sync", record, backoff.Record{Job: "uid"}.With(allSucceeded, allFailed))
	})
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
		Same(t, fmt.Sprintf("%+v", tc.record), ToJSON(tc.record), tc.want)
	}
}
