package chaos

import (
	"flag"
	"testing"
	"time"
)

var schedules = flag.Int("schedules", 2000, "number of random schedules")
var from = flag.Int("from", 0, "first seed")
var stories = flag.Int("stories", 1, "stories per property")

func TestFirst(t *testing.T) {
	start := time.Now()
	var reach Reach
	syncs, writes := 0, 0
	bad := map[string]int{}
	for seed := range *schedules {
		seed += *from
		cfg := Config{Seed: uint64(seed), Mode: Mode(seed % 2), Retries: -1}
		rep := Run(cfg)
		reach.Add(&rep.Reach)
		syncs += rep.Syncs
		writes += rep.Writes
		if v := rep.Violation; v != nil {
			bad[v.Property]++
			if bad[v.Property] <= *stories {
				cfg.Retries = 300
				t.Error(Run(cfg).Story)
			}
		}
	}
	t.Logf("\n%s", reach.String())
	t.Logf("%d syncs %d writes %v bad, %v per schedule", syncs, writes, bad, time.Since(start)/time.Duration(*schedules))
}
