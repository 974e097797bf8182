package backoff_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestPolicy_JSON(t *testing.T) {
	for text, want := range map[string]backoff.Policy{
		`{}`:                              {},
		`{"base":"10s","factor":1.5}`:     {Base: 10 * time.Second, Factor: 1.5},
		`{"base":"1m30s","cap":"1h0m0s"}`: {Base: 90 * time.Second, Cap: time.Hour},
	} {
		got := backoff.Policy{Base: 1, Cap: 2, Factor: 3} // nothing of what was there before stays
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", text, got, err, want)
		}
		if back, err := json.Marshal(want); err != nil || string(back) != text {
			t.Errorf("%+v is %s, %v, want %s", want, back, err, text)
		}
	}
	kept := backoff.Policy{Base: time.Second}
	for _, text := range []string{`{"base":1000000000}`, `{"base":"soon"}`, `[]`} {
		if err := json.Unmarshal([]byte(text), &kept); err == nil || kept != (backoff.Policy{Base: time.Second}) {
			t.Errorf("%s: %v, %+v", text, err, kept)
		}
	}
}

// Every policy and record can be stored, and copied.
func TestPolicyAndRecord_storedAndCopied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := backoff.Policy{Base: time.Duration(rapid.Int64().Draw(t, "base")), Cap: time.Duration(rapid.Int64().Draw(t, "cap")),
			Factor: rapid.Float64Range(-3, 1e9).Draw(t, "factor")}
		r := backoff.Record{Job: "uid", Failures: rapid.Int32().Draw(t, "failures"), LastFailure: at(rapid.Int().Draw(t, "last") % 1e6).Time}
		var p2 backoff.Policy
		var r2 backoff.Record
		for _, pair := range [][2]any{{p, &p2}, {r, &r2}} {
			text := Must(json.Marshal(pair[0]))
			if err := json.Unmarshal(text, pair[1]); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		var r3 backoff.Record
		r.DeepCopyInto(&r3)
		if diff := cmp.Diff(p, p2) + cmp.Diff(r, r2) + cmp.Diff(r, r3); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A record in the format of a newer library counts as lost: it is computed from the pods again.
func TestRecord_newerFormat(t *testing.T) {
	r := backoff.Record{Job: "uid", Failures: 3, LastFailure: t0, Version: 2}
	if got := r.For("uid"); got != (backoff.Record{Job: "uid"}) {
		t.Errorf("got %+v", got)
	}
}
