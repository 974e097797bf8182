package failurepolicy_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/failurepolicy"
)

// "It is Compile of FromAPI, without the copy in between."
func TestRandom_compileAPI(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		api, pod := anySpec(choose).ToAPI(), anyPod(choose)
		names := []string{"First", "", "Third"}[:choose(4)]
		var opts []failurepolicy.Option
		if choose(2) == 1 {
			opts = append(opts, failurepolicy.WithoutFailIndex())
		}
		want := failurepolicy.Compile(failurepolicy.FromAPI(api, names...), opts...)
		got := failurepolicy.CompileAPI(api, names, opts...)
		if got.Len() != want.Len() || got.Match(pod) != want.Match(pod) {
			t.Fatalf("got %d rules and %+v, want %d and %+v", got.Len(), got.Match(pod), want.Len(), want.Match(pod))
		}
	})
	if got := failurepolicy.CompileAPI(nil, []string{"First"}); got != nil {
		t.Errorf("got %+v for no policy, want none", got)
	}
}
