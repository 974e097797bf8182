package restart

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/server"
)

// The lease of a killed leader expires after 15 s, and the standby tries to take it every two
// seconds. Then it fills its caches.
const (
	afterStop = 6 * time.Second
	afterKill = 30 * time.Second
)

// While many Jobs exist, the leader is stopped or killed: a new Job waits for the standby.
func TestTakeover(t *testing.T) {
	var table strings.Builder
	table.WriteString("| Jobs | stopped, s | killed, s |\n| ---: | ---: | ---: |\n")
	for _, jobs := range numbers(t, *sizes) {
		s := newStage(t, jobfate)
		s.fill(jobs)
		var stopped, killed []time.Duration
		for range *times {
			stopped = append(stopped, s.takeover(func(leader *server.Controller) error { return leader.Stop() }))
		}
		killed = append(killed, s.takeover(func(leader *server.Controller) error { leader.Kill(); return nil }))
		s.stop()
		fmt.Fprintf(&table, "| %d | %s | %s |\n", jobs, seconds(stopped), seconds(killed))
		if most := median(stopped); most > afterStop {
			t.Errorf("%d Jobs: the standby took over after %s, want at most %s", jobs, most, afterStop)
		}
		if most := median(killed); most > afterKill {
			t.Errorf("%d Jobs: the standby took over after %s, want at most %s", jobs, most, afterKill)
		}
	}
	t.Logf("\n%s", &table)
}

// seconds returns the median, and the range.
func seconds(all []time.Duration) string {
	m := median(all)
	return fmt.Sprintf("%.2f (%.2f–%.2f)", m.Seconds(), all[0].Seconds(), all[len(all)-1].Seconds())
}

// takeover starts two replicas, ends the leader, and returns how long a new Job waits for its pod.
func (s *stage) takeover(end func(*server.Controller) error) time.Duration {
	s.Helper()
	o := limits(5)
	o.Args = []string{"--leader-elect=true", "--leader-elect-namespace=jobfate"}
	leader, _ := s.start(o)
	o.Name = fmt.Sprintf("standby-%d", time.Now().UnixNano())
	standby, err := s.with.start(s.api, s.Context(), o)
	s.must(err)
	defer standby.Kill()
	s.poll(closely, func(context.Context) (bool, error) {
		return standby.Log("to acquire leader lease", 1) != "", standby.Err()
	})
	s.must(end(leader))
	return s.wait()
}

// Two controllers without leader election run the same Job. Both may create pods before they
// observe those of the other. They delete the surplus, and then create none.
func TestTwoAtOnce(t *testing.T) {
	const jobs, parallelism = 10, 10
	s := newStage(t, jobfate)
	defer s.stop()
	for range 2 {
		c, _ := s.start(limits(5))
		defer c.Kill()
	}
	all := s.api.Client.CoreV1().Pods(namespace)
	watch, err := all.Watch(t.Context(), metav1.ListOptions{})
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
