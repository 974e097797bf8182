package indexset

import (
	"encoding/json"
	"testing"
)

// A field of an API type accepts any text, and writes back what was there.
func TestText(t *testing.T) {
	type status struct {
		Done Text `json:"done,omitempty"`
	}
	for text, want := range map[string]string{"": "", "1,3-5": "1,3-5", "1,2,3": "1-3", "0-99": "0-9", "x,4": "4", "9-3": ""} {
		in, _ := json.Marshal(status{Done: Text(text)})
		var s status
		if err := json.Unmarshal(in, &s); err != nil || string(s.Done) != text {
			t.Errorf("%s is read as %q, %v", in, s.Done, err)
		}
		set, damage := s.Done.Set(10)
		if set.String() != want || (damage == nil) != (text == want) {
			t.Errorf("%q is %v, %v, want %q", text, set, damage, want)
		}
		if got := TextOf(set); string(got) != want {
			t.Errorf("TextOf(%v) is %q", set, got)
		}
	}
}
