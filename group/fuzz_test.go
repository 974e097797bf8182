package group_test

import (
	"encoding/json"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// FuzzCheck decodes a policy from any JSON. What Check accepts can be prepared.
func FuzzCheck(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		var p group.Policy
		if json.Unmarshal([]byte(text), &p) != nil {
			return
		}
		before := p.DeepCopy()
		errs := p.Check(nil, field.NewPath("spec"))
		with := p.Check(members, nil)
		if len(errs) > 0 && len(with) == 0 {
			t.Fatalf("with members: %v, without: %v", with, errs)
		}
		if _, err := group.NewDecider(&p); (err == nil) != (len(errs) == 0) {
			t.Fatalf("Check: %v, NewDecider: %v", errs, err)
		}
		lenient, dropped := p.Lenient(field.NewPath("spec"))
		if err := lenient.Check(nil, nil).ToAggregate(); err != nil || ToJSON(dropped) != ToJSON(errs) {
			t.Fatalf("Lenient: %v, it drops %v, want %v", err, dropped, errs)
		}
		if ToJSON(before) != ToJSON(&p) || len(errs) == 0 && ToJSON(lenient) != ToJSON(before) {
			t.Fatal("Check or Lenient has changed the policy")
		}
		var again group.Policy
		if text := ToJSON(&p); len(errs) == 0 && (json.Unmarshal([]byte(text), &again) != nil || ToJSON(&again) != text) {
			t.Fatalf("%s is read as %s", text, ToJSON(&again))
		}
	})
}

// FuzzDecideJSON decodes a policy, a state and a failure from any JSON. Decide refuses the policy or the
// state, or decides about the failure once: then the state has a text, no attempt has become smaller,
// and the failure changes nothing more.
func FuzzDecideJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, policy, state, failure string) {
		var p group.Policy
		var s group.State
		var fail group.Failure
		if json.Unmarshal([]byte(policy), &p) != nil || json.Unmarshal([]byte(state), &s) != nil || json.Unmarshal([]byte(failure), &fail) != nil {
			return
		}
		before := s.DeepCopy()
		got, err := group.Decide(&p, s, []group.Failure{fail}, noon)
		Same(t, "the state afterwards", ToJSON(&s), ToJSON(before))
		if err != nil {
			var old *group.OldStateError
			var newer *group.UnknownVersionError
			if p.Check(nil, nil) == nil && !errors.As(err, &old) && !errors.As(err, &newer) || got.Changed || ToJSON(got.State) != ToJSON(before) {
				t.Fatalf("%v: %s", err, ToJSON(got))
			}
			return
		}
		open := s.Phase == "" && fail.Attempt == s.Attempt(fail.Member) && !s.Left(fail.Member)
		if open != got.Changed || open != (got.Action != "") || got.Open != 0 {
			t.Fatalf("open: %v, got %s", open, ToJSON(got))
		}
		next := stored(got.State)
		for _, m := range append(members, fail.Member) {
			if next.Attempt(m) < s.Attempt(m) {
				t.Fatalf("the attempt of %v goes from %d back to %d", m, s.Attempt(m), next.Attempt(m))
			}
		}
		if again, err := group.Decide(&p, next, []group.Failure{fail}, noon); err != nil || again.Changed {
			t.Fatalf("the failure decides twice: %s, %v", ToJSON(again), err)
		}
	})
}
