package effort

import (
	"flag"
	"testing"
)

func TestFlag_overridesBothDefaults(t *testing.T) {
	size := Flag("size", "how many", 3, 30)
	defer func() { *long = false }()
	for _, tc := range []struct {
		long bool
		set  string
		want int
	}{{false, "0", 3}, {true, "0", 30}, {false, "7", 7}, {true, "7", 7}} {
		*long = tc.long
		if err := flag.Set("size", tc.set); err != nil {
			t.Fatal(err)
		}
		if got := size(); got != tc.want {
			t.Errorf("with -long=%t -size=%s: got %d, want %d", tc.long, tc.set, got, tc.want)
		}
	}
}
