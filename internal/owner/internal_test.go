package owner

import (
	"maps"
	"strings"
	"testing"
)

// areValid accepts valid labels, and leaves all others to the API's own rules.
func TestAreValid(t *testing.T) {
	generated := label{"generated", "not valid"}
	long := strings.Repeat("x", 63)
	all := map[string]string{}
	for _, l := range []label{{"a", ""}, {"a.b-c", "z"}, {"z9/A.Z", "a.b-c"}, {long, long}, {long + "/" + long, "0"}, generated} {
		if all[l.key] = l.value; !areValid(map[string]string{l.key: l.value}, generated) {
			t.Errorf("%v is not valid", l)
		}
	}
	if !areValid(all, generated) {
		t.Error("all together are not valid")
	}
	for _, l := range []label{{"", "a"}, {"-a", "a"}, {"a/b/c", "a"}, {long + "x", "a"}, {"a", long + "x"}, {"a", "not valid"}, {"generated", "-"}} {
		one := maps.Clone(all)
		one[l.key] = l.value
		if areValid(map[string]string{l.key: l.value}, generated) || areValid(one, generated) {
			t.Errorf("%v is valid, want it left to the API's rules", l)
		}
	}
}
