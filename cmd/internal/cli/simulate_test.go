package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/console"
	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

const simulations = "../../testdata/simulations"

func simulated(name string) string { return filepath.Join(simulations, name+".yaml") }

func TestSimulateGolden(t *testing.T) {
	job, other, chances := simulated("job"), simulated("other-job"), simulated("chances")
	for _, g := range []struct {
		name, reason string
		args         []string
	}{
		{"simulate-retry", "indexes back off, and one fails", []string{job, "--scenario", simulated("retry")}},
		{"simulate-plain", "without a scenario all pods succeed", []string{job}},
		{"simulate-whole", "a Job that is not Indexed backs off and is suspended forever", []string{"--scenario", simulated("whole"), "-f", simulated("whole-job")}},
		{"simulate-runs", "the distribution of many runs", []string{job, "--scenario", chances, "--runs", "30", "--seed", "5"}},
		{"simulate-against", "two Jobs with different outcomes", []string{job, "--scenario", simulated("retry"), "--against", other}},
		{"simulate-against-runs", "two Jobs over many runs", []string{job, "--scenario", chances, "--runs", "30", "--against", other}},
	} {
		checkFormats(t, g.name, g.reason, exitOK, append([]string{"simulate"}, g.args...)...)
	}
}

// TestPictures draws the golden runs, and a Job with many indexes.
func TestPictures(t *testing.T) {
	wide := strings.NewReplacer("completions: 6", "completions: 200", "parallelism: 3", "parallelism: 40").Replace(console.Text(simulated("job")))
	for name, args := range map[string][]string{
		"simulate-retry.svg":   {"--scenario", simulated("retry"), simulated("job")},
		"simulate-whole.svg":   {"--scenario", simulated("whole"), simulated("whole-job")},
		"simulate-wide.svg":    {"--scenario", simulated("chances")},
		"simulate-against.svg": {"--scenario", simulated("retry"), simulated("job"), "--against", simulated("other-job")},
	} {
		got := runWith(wide, append([]string{"simulate", "-o", "svg"}, args...)...)
		if got.Status != exitOK {
			t.Fatalf("%s: got status %d and %q, want success", name, got.Status, got.Stderr)
		}
		console.Golden(t, "testdata/"+name, got.Stdout)
	}
	got := runWith("limit: 3000h\npods: [{durations: [2900h]}]\n", "simulate", "-o", "svg", "--scenario", "-", simulated("whole-job"))
	if ticks := strings.Count(got.Stdout, `class="grid"`); got.Status != exitOK || ticks < 3 || ticks > 13 {
		t.Errorf("got status %d and %d ticks, want 3 to 13", got.Status, ticks)
	}
}

// TestWorstLanes checks that with too many lanes the worst of each group of neighbours is drawn.
func TestWorstLanes(t *testing.T) {
	for _, tc := range []struct{ lanes, want int }{{0, 0}, {1, 1}, {mostLanes, mostLanes}, {mostLanes + 1, mostLanes/2 + 1}, {1000, 200}, {100_000, 225}} {
		lanes := make([]simulation.Lane, tc.lanes)
		for i := range lanes {
			lanes[i] = simulation.Lane{Index: int32(i), Pods: []simulation.Pod{{Outcome: simulation.PodFailed}, {Outcome: simulation.PodSucceeded}}}
		}
		worst := tc.lanes / 2
		if tc.lanes > 0 {
			lanes[worst].Pods = lanes[worst].Pods[:1]
		}
		got := worstLanes(lanes)
		if len(got) != tc.want || tc.lanes > 0 && !slices.ContainsFunc(got, func(l simulation.Lane) bool { return l.Index == int32(worst) }) {
			t.Errorf("of %d lanes got %d, want %d and that of index %d", tc.lanes, len(got), tc.want, worst)
		}
	}
	all := timeline{indexed: true, Result: &simulation.Result{Lanes: make([]simulation.Lane, 1000)}}
	checkPart(t, "the picture", drawing([]timeline{all}), "200 of 1000: the worst of each group of neighbours")
}

// checkResult checks the exit status and a part of each output. An empty part stands for no output.
func checkResult(t *testing.T, got result, status int, stdout, stderr string) {
	t.Helper()
	if got.Status != status {
		t.Errorf("got status %d and %q, want %d", got.Status, got.Stderr, status)
	}
	checkPart(t, "stdout", got.Stdout, stdout)
	checkPart(t, "stderr", got.Stderr, stderr)
}

// TestRecorderIsBounded checks that a simulation ends when its statuses take too much memory.
func TestRecorderIsBounded(t *testing.T) {
	r := recorder{changes: true, size: mostChanges}
	if err := r.stored(simulation.Status{}); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	r.size++
	if err := r.stored(simulation.Status{}); err == nil || !strings.Contains(err.Error(), "the statuses take more than 256 MiB") {
		t.Errorf("got %v, want an error about the size of the statuses", err)
	}
}

// TestFoldKeepsCount checks that the counts in folded lines add up to all events.
func TestFoldKeepsCount(t *testing.T) {
	result := &simulation.Result{}
	tell := timeline{Result: result, indexed: true}
	for i := range int32(300) {
		at := simulation.Time(i) * simulation.Time(time.Second)
		end := at + simulation.Time(time.Duration(1+i%7)*time.Second)
		result.Lanes = append(result.Lanes, simulation.Lane{Index: i, Pods: []simulation.Pod{{Started: &at, Ended: &end, Outcome: simulation.PodSucceeded}}})
	}
	lines, all := folded(tell.lines(), true)
	if all != 600 {
		t.Errorf("got %d lines, want 600", all)
	}
	sums := map[string]int{}
	for _, l := range lines {
		for _, s := range l.sums {
			sums[s.what.one] += s.n
		}
	}
	if sums["starts"] != 300 || sums["succeeds"] != 300 {
		t.Errorf("got %v, want 300 of each", sums)
	}
}
