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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

var (
	sizes   = flag.String("jobs", "600", "the numbers of existing Jobs of each controller, separated by commas")
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
	// afterStop and afterKill bound the wait for the standby. The lease of a killed leader expires after 15 s, and
	// the standby tries to take it every two seconds. Then it fills its caches.
	afterStop = 6 * time.Second
	afterKill = 30 * time.Second
)

// side is one of the two controllers.
type side struct {
	name      string
	start     func(*server.Server, context.Context, server.Options) (*server.Controller, error)
	managedBy *string
	filled    string // what it logs when its caches are filled
}

var (
	api     *server.Server
	jobfate = side{"jobfate", (*server.Server).Jobfate, new(server.ManagedBy), "Starting workers"}
	builtIn = side{"built-in", (*server.Server).BuiltIn, nil, "Caches are synced"}
	sides   = []side{jobfate, builtIn}
)

func TestMain(m *testing.M) { os.Exit(server.RunAlone(m, &api)) }

// While many orphans are freed at 20 requests per second, a new Job soon gets its pod. This test comes before those
// that leave many Jobs behind.
func TestOrphans(t *testing.T) {
	var table strings.Builder
	table.WriteString("| orphans | workers | jobfate, s | built-in, s |\n| ---: | ---: | ---: | ---: |\n")
	for _, n := range numbers(t, *workers) {
		waits := map[string]time.Duration{}
		for _, with := range sides {
			s := newStage(t, with)
			s.leave(*orphans)
			c, _ := s.start(limits(n))
			s.freed(*orphans / 10) // the burst is used up
			waits[with.name] = s.wait()
			if len(s.pods(t.Context())) == 1 {
				t.Errorf("%s, %d workers: no orphan was left when the Job got its pod", with.name, n)
			}
			c.Kill()
			s.removeOrphans()
		}
		fmt.Fprintf(&table, "| %d | %d | %.2f | %.2f |\n", *orphans, n, waits[jobfate.name].Seconds(), waits[builtIn.name].Seconds())
		if ours := waits[jobfate.name]; ours > orphansWait {
			t.Errorf("%d workers: a new Job waits for %s, want at most %s", n, ours, orphansWait)
		}
	}
	t.Logf("\n%s", &table)
}

// While many Jobs with one running pod exist, a new Job waits about as long for its pod as with the
// built-in controller. Each controller finds the Jobs of the other, too.
func TestRestart(t *testing.T) {
	var table strings.Builder
	table.WriteString("| Jobs | workers | jobfate, s | built-in, s | until the caches are filled, s | the same, built-in |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, jobs := range numbers(t, *sizes) {
		for _, with := range sides {
			newStage(t, with).fill(jobs)
		}
		for _, n := range numbers(t, *workers) {
			waits, fills := map[string]time.Duration{}, map[string]time.Duration{}
			for _, with := range sides {
				s := newStage(t, with)
				var wait, fill []time.Duration
				for range *times {
					c, took := s.start(limits(n))
					wait, fill = append(wait, s.wait()), append(fill, took)
					c.Kill()
				}
				waits[with.name], fills[with.name] = median(wait), median(fill)
			}
			ours, theirs := waits[jobfate.name], waits[builtIn.name]
			fmt.Fprintf(&table, "| %d | %d | %.2f | %.2f | %.2f | %.2f |\n", jobs, n,
				ours.Seconds(), theirs.Seconds(), fills[jobfate.name].Seconds(), fills[builtIn.name].Seconds())
			if most := max(factor*theirs, theirs+extra); ours > most {
				t.Errorf("%d Jobs, %d workers: a new Job waits for %s, want at most %s", jobs, n, ours, most)
			}
		}
	}
	t.Logf("\n%s", &table)
}

// While many Jobs exist, the leader is stopped or killed: a new Job waits for the standby.
func TestTakeover(t *testing.T) {
	jobs := slices.Max(numbers(t, *sizes))
	newStage(t, jobfate).fill(jobs)
	s := newStage(t, jobfate)
	var stopped []time.Duration
	for range *times {
		stopped = append(stopped, s.takeover(func(leader *server.Controller) error { return leader.Stop() }))
	}
	killed := s.takeover(func(leader *server.Controller) error { leader.Kill(); return nil })
	m := median(stopped)
	t.Logf("%d Jobs: the standby takes over %.2f s (%.2f–%.2f) after a stop, and %.2f s after a kill", jobs,
		m.Seconds(), stopped[0].Seconds(), stopped[len(stopped)-1].Seconds(), killed.Seconds())
	if m > afterStop || killed > afterKill {
		t.Errorf("%d Jobs: the standby took over after %s and %s, want at most %s and %s", jobs, m, killed, afterStop, afterKill)
	}
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

// Two controllers without leader election run the same Job. Both may create pods before they
// observe those of the other. They delete the surplus, and then create none.
func TestTwoAtOnce(t *testing.T) {
	const jobs, parallelism = 10, 10
	s := newStage(t, jobfate)
	for range 2 {
		c, _ := s.start(limits(5))
		defer c.Kill()
	}
	watch, err := api.Client.CoreV1().Pods(s.namespace).Watch(t.Context(), metav1.ListOptions{})
	s.must(err)
	defer watch.Stop()
	for i := range jobs {
		s.must(s.create(t.Context(), fmt.Sprintf("both-%d", i), parallelism))
	}
	active, most, surplus := map[string]map[string]bool{}, 0, 0
	unchanged := time.NewTimer(patience)
	settled := func() bool {
		for _, pods := range active {
			if len(pods) != parallelism {
				return false
			}
		}
		return len(active) == jobs
	}
	for done := false; !done; {
		select {
		case event, ok := <-watch.ResultChan():
			if !ok {
				t.Fatal("the watch has ended")
			}
			pod := event.Object.(*corev1.Pod)
			job := metav1.GetControllerOf(pod).Name
			if active[job] == nil {
				active[job] = map[string]bool{}
			}
			if pod.DeletionTimestamp != nil || event.Type == "DELETED" {
				if active[job][pod.Name] {
					surplus++
				}
				delete(active[job], pod.Name)
			} else {
				active[job][pod.Name] = true
			}
			most = max(most, len(active[job]))
			if settled() {
				unchanged.Reset(5 * time.Second) // neither acts any more
			} else {
				unchanged.Reset(patience)
			}
		case <-unchanged.C:
			done = true
		}
	}
	if !settled() {
		t.Errorf("the Jobs have the pods %v, want %d each", active, parallelism)
	}
	t.Logf("%d Jobs with parallelism %d: at most %d active pods in one Job, %d surplus pods deleted in all", jobs, parallelism, most, surplus)
}
