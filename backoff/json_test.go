package backoff_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

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
		Same(t, fmt.Sprintf("%+v, stored", want), ToJSON(want), text)
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
		Same(t, "the policy, stored", FromJSON[backoff.Policy](Must(json.Marshal(p))), p)
		Same(t, "the record, stored", stored(r), r)
		var copied backoff.Record
		r.DeepCopyInto(&copied)
		Same(t, "the record, copied", copied, r)
	})
}

// A record in the format of a newer library counts as lost: it is computed from the pods again.
func TestRecord_newerFormat(t *testing.T) {
	r := backoff.Record{Job: "uid", Failures: 3, LastFailure: t0, Version: 2}
	Same(t, "the record", r.For("uid"), backoff.Record{Job: "uid"})
}
