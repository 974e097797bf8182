package explore

import (
	"flag"
	"strconv"
	"strings"
	"testing"
	"time"
)

var limit = flag.Int("limit", 300e3, "")
var size = flag.Int("size", 2, "")
var pods = flag.Int("pods", 3, "")
var faults = flag.Int("faults", 0, "")
var kindsFlag = flag.String("kinds", "", "")

func TestTry(t *testing.T) {
	for _, k := range kindsOfJob {
		start := time.Now()
		c := k.make(int32(*size))
		c.Limit, c.Pods, c.Faults, c.Kinds = *limit, *pods, *faults, Faults()
		if *kindsFlag != "" {
			c.Kinds = nil
			for _, f := range strings.Split(*kindsFlag, ",") {
				n, _ := strconv.Atoi(f)
				c.Kinds = append(c.Kinds, Kind(n))
			}
		}
		r, err := Search(c)
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		if r.Found != nil {
			t.Errorf("%s: %v", k.name, r.Found)
		}
		r.Found = nil
		t.Logf("%s %+v %v", k.name, r, time.Since(start))
	}
}
