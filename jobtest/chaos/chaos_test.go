package chaos

import (
	"flag"
	"testing"
	"time"
)

var schedules = flag.Int("schedules", 2000, "number of random schedules")

func TestFirst(t *testing.T) {
	start := time.Now()
	var reach Reach
	syncs, writes := 0, 0
	bad := 0
	for seed := range *schedules {
		rep := Run(Config{Seed: uint64(seed), Mode: Mode(seed % 2), Retries: 300})
		reach.Add(&rep.Reach)
		syncs += rep.Syncs
		writes += rep.Writes
		if rep.Violation != nil {
			bad++
			if bad < 4 {
				t.Error(rep.Story)
			}
		}
	}
	t.Logf("\n%s", reach.String())
	t.Logf("%d syncs %d writes %d bad, %v per schedule", syncs, writes, bad, time.Since(start)/time.Duration(*schedules))
}
