// Package restart measures how long a new Job waits for its pod after a start of the controller,
// and compares that with the built-in controller.
package restart

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jobfate/jobfate/e2e/server"
)

var (
	sizes   = flag.String("jobs", "600", "the numbers of existing Jobs, separated by commas")
	workers = flag.String("workers", "5", "the numbers of concurrent syncs, separated by commas")
	times   = flag.Int("times", 3, "the number of measured starts; the result is their median")
	orphans = flag.Int("orphans", 600, "the number of pods whose Job is gone")
)

const (
	// factor and extra bound the wait: factor times that of the built-in controller, or extra
	// more, whichever is longer.
	factor = 2
	extra  = 300 * time.Millisecond
	// orphansWait bounds the wait beside orphans.
	orphansWait = time.Second
)

// side is one of the two controllers.
type side struct {
	name      string
	start     func(*server.Server, context.Context, server.Options) (*server.Controller, error)
	managedBy *string
	filled    string // what it logs when its caches are filled
}

var (
	jobfate = side{"jobfate", (*server.Server).Jobfate, new(server.ManagedBy), "Starting workers"}
	builtIn = side{"built-in", (*server.Server).BuiltIn, nil, "Caches are synced"}
	sides   = []side{jobfate, builtIn}
)

func TestMain(m *testing.M) { os.Exit(server.RunInTurn(m)) }

// While many Jobs with one running pod exist, a new Job waits about as long for its pod as with the
// built-in controller.
func TestRestart(t *testing.T) {
	var table strings.Builder
	table.WriteString("| Jobs | workers | jobfate, s | built-in, s | until the caches are filled, s | the same, built-in |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, jobs := range numbers(t, *sizes) {
		waits, fills := map[string]map[int]time.Duration{}, map[string]map[int]time.Duration{}
		for _, with := range sides {
			s := newStage(t, with)
			s.fill(jobs)
			waits[with.name], fills[with.name] = map[int]time.Duration{}, map[int]time.Duration{}
			for _, n := range numbers(t, *workers) {
				var wait, fill []time.Duration
				for range *times {
					c, took := s.start(limits(n))
					wait, fill = append(wait, s.wait()), append(fill, took)
					c.Kill()
				}
				waits[with.name][n], fills[with.name][n] = median(wait), median(fill)
			}
			s.stop()
		}
		for _, n := range numbers(t, *workers) {
			ours, theirs := waits[jobfate.name][n], waits[builtIn.name][n]
			fmt.Fprintf(&table, "| %d | %d | %.2f | %.2f | %.2f | %.2f |\n", jobs, n,
				ours.Seconds(), theirs.Seconds(), fills[jobfate.name][n].Seconds(), fills[builtIn.name][n].Seconds())
			if most := max(factor*theirs, theirs+extra); ours > most {
				t.Errorf("%d Jobs, %d workers: a new Job waits for %s, want at most %s", jobs, n, ours, most)
			}
		}
	}
	t.Logf("\n%s", &table)
}

// While many orphans are freed at 20 requests per second, a new Job soon gets its pod.
func TestOrphans(t *testing.T) {
	var table strings.Builder
	table.WriteString("| orphans | workers | jobfate, s | built-in, s |\n| ---: | ---: | ---: | ---: |\n")
	waits := map[string]map[int]time.Duration{jobfate.name: {}, builtIn.name: {}}
	for _, with := range sides {
		s := newStage(t, with)
		for _, n := range numbers(t, *workers) {
			s.leave(*orphans)
			c, _ := s.start(limits(n))
			s.freed(*orphans / 10) // the burst is used up
			waits[with.name][n] = s.wait()
			if left := s.orphans(); left == 0 {
				t.Errorf("%s, %d workers: no orphan was left when the Job got its pod", with.name, n)
			}
			c.Kill()
			s.removeOrphans()
		}
		s.stop()
	}
	for _, n := range numbers(t, *workers) {
		fmt.Fprintf(&table, "| %d | %d | %.2f | %.2f |\n", *orphans, n, waits[jobfate.name][n].Seconds(), waits[builtIn.name][n].Seconds())
		if ours := waits[jobfate.name][n]; ours > orphansWait {
			t.Errorf("%d workers: a new Job waits for %s, want at most %s", n, ours, orphansWait)
		}
	}
	t.Logf("\n%s", &table)
}

// limits returns the default limits of both controllers.
func limits(workers int) server.Options { return server.Options{Workers: workers, QPS: 20, Burst: 30} }

func numbers(t *testing.T, list string) (numbers []int) {
	t.Helper()
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
