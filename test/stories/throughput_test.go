package stories

import (
	"testing"
	"time"

	"github.com/jobfate/jobfate/jobstatus"
)

// KEP-2307, Graduation Criteria: "Pod processing throughput per minute (mix of creating and counting
// finished Pods), assuming an average Job .spec.parallelism=10. Up to 2500 Pods (~3000 queries) for a
// 50 QPS client limit for the job controller. Up to 5000 (~6000 queries) Pods for a 100 QPS client
// limit". And its service level objective: "99% percentile over day for Job syncs is <= 15s for a
// client-side 50 QPS limit."
//
// Only requests count here: a decision takes microseconds. Reads are not limited, and events are not
// counted.
func TestThroughput_requestsOfASync(t *testing.T) {
	const completions, workers = 200, 5
	for _, tc := range []struct {
		name, spec string
		atOnce     int // how many pods end before each sync
		enough     bool
	}{
		{"all pods end at once", "", 10, true},
		{"six of ten", "", 6, true},
		{"one at a time, which the KEP does not assume", "", 1, false},
		{"all pods of an Indexed Job", "\ncompletionMode: Indexed", 10, true},
		{"five of ten of an Indexed Job", "\ncompletionMode: Indexed", 5, true},
	} {
		w := newWorldOf(t, "completions: 200\nparallelism: 10"+tc.spec)
		largest := 0 // the most requests of a sync
		for !jobstatus.OutcomeOf(w.Job()).Terminal() {
			before := w.writes
			w.sync()
			largest = max(largest, w.writes-before)
			for i, pod := range w.alive() {
				if i < tc.atOnce {
					w.Start(pod.UID)
					w.End(pod.UID, 0)
				}
			}
			w.advance(time.Second)
		}
		if w.made != completions {
			t.Fatalf("%s: %d pods, want %d", tc.name, w.made, completions)
		}
		for _, goal := range []struct{ qps, pods int }{{50, 2500}, {100, 5000}} {
			if pods := 60 * goal.qps * (w.made + completions) / w.writes; pods >= goal.pods != tc.enough {
				t.Errorf("%s: %d pods are created or counted in a minute at %d QPS, by %d requests; at least %d: want %t",
					tc.name, pods, goal.qps, w.writes, goal.pods, tc.enough)
			}
		}
		// All workers may carry out their largest sync at the same time.
		if took := time.Duration(workers*largest) * time.Second / 50; took > 15*time.Second {
			t.Errorf("%s: %d syncs of %d requests take %s at 50 QPS", tc.name, workers, largest, took)
		}
		t.Logf("%s: %d requests for %d pods, at most %d in a sync", tc.name, w.writes, w.made, largest)
	}
}
