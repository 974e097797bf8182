package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

func TestSimulateMessages(t *testing.T) {
	job := simulated("job")
	checkRuns(t, "simulate", []run{
		{reason: "two Jobs", args: []string{job, job}, status: exitInput, stderr: "is a second Job; the first is"},
		{reason: "too many runs", args: []string{"--runs", "1000000", job}, status: exitUsage, stderr: "want 1 to 100000"},
		{reason: "runs cannot be drawn", args: []string{"--runs", "3", "-o", "svg", job}, status: exitUsage, stderr: "-o svg draws one run"},
		{reason: "the standard input for both", args: []string{"-", "--against", "-"}, status: exitUsage, stderr: "standard input (-) is given twice"},
		{reason: "another Job that is invalid", args: []string{job, "--against", "-"}, stdin: readFile(t, job) + "  backoffLimit: -1\n", status: exitInput,
			stderr: "standard input:22: spec.backoffLimit"},
		{reason: "a rule whose name is not valid", args: []string{"-"}, stdin: strings.Replace(readFile(t, job), "    - ", "    - name: a-b\n      ", 1), status: exitInput,
			stderr: ": spec.podFailurePolicy.rules[0].name: Invalid value"},
		{reason: "the same Job", args: []string{job, "--against", job}, stdout: "No index differs."},
		{reason: "one that has no indexes", args: []string{job, "--against", simulated("whole-job")}, stdout: "pod time  1m                           30s\n"},
		{reason: "one that has fewer indexes", args: []string{job, "--against", "-"}, stdin: strings.Replace(readFile(t, job), "completions: 6", "completions: 4", 1),
			stdout: "4      succeeded at 23s, 1 pod  no such index\n"},
		{reason: "many differences", args: []string{"--against", simulated("other-job"), "-"}, stdin: strings.Replace(readFile(t, job), "completions: 6", "completions: 60", 1),
			stdout: "and 34 more (--full shows them)\n"},
		{reason: "a Job with an unknown field", args: []string{"-"}, stdin: strings.Replace(readFile(t, job), "completions: 6", "completion: 6", 1), status: exitInput,
			stderr: "standard input:6: unknown field \"spec.completion\"\n"},
		{reason: "a scenario with an unknown field", args: []string{job, "--scenario", "-"}, stdin: "pods:\n- exits: [1]\n- exits: [0]\n  exit: 3\n", status: exitInput,
			stderr: "standard input:4: pods[1].exit: unknown field \"exit\"\n"},
		{reason: "a scenario with a wrong type", args: []string{job, "--scenario", "-"}, stdin: "pods:\n- exits: [1]\n- exits:\n  - 0\n  - a\n", status: exitInput,
			stderr: "standard input:5: pods[1].exits[1]: want a whole number of at most 32 bits; got string\n"},
		{reason: "a scenario with an invalid duration", args: []string{job, "--scenario", "-"}, stdin: "# a\npods:\n- durations:\n  - 3x\n", status: exitInput,
			stderr: "standard input:4: pods[0].durations[0]: time: unknown unit \"x\" in duration \"3x\"\n"},
		{reason: "a scenario that makes no sense", args: []string{job, "--scenario", "-"}, stdin: "pods:\n- exits: [1]\n- exits: [0]\n  chance: 2\n", status: exitInput,
			stderr: "standard input:4: pods[1].chance: 2 is not between 0 and 1\n"},
		{reason: "two scenarios", args: []string{job, "--scenario", "-"}, stdin: "seed: 1\n---\nseed: 2\n", status: exitInput,
			stderr: "standard input:3: a second document; want a scenario\n"},
		{reason: "a scenario that is cut short", args: []string{job, "--scenario", "-"}, stdin: "seed: 1\npods: [{exits: [1\n", status: exitInput, stderr: "standard input: document 1: line 2: "},
		{reason: "an invalid seed", args: []string{"--seed", "-1", job}, status: exitUsage, stderr: `invalid value "-1" for flag -seed: want a number from 0`},
		{reason: "an invalid limit", args: []string{"--limit", "-5s", job}, status: exitUsage, stderr: `invalid value "-5s" for flag -limit: want more than 0`},
		{reason: "from standard input", stdin: readFile(t, job), stdout: "Complete after"},
		{reason: "a Job that the API server rejects", stdin: readFile(t, job) + "  backoffLimit: -1\n", status: exitInput,
			stderr: "standard input:22: spec.backoffLimit"},
		{reason: "the same with runs", stdin: readFile(t, job) + "  backoffLimit: -1\n", args: []string{"--runs", "2"}, status: exitInput,
			stderr: "standard input:22: spec.backoffLimit"},
		{reason: "an event that the API server rejects", args: []string{job, "--scenario", "-"}, stdin: "events: [{completions: 9}]\n", status: exitInput,
			stderr: "standard input:1: events[0]: spec.completions"},
		{reason: "out of time", args: []string{job, "--scenario", "-"}, stdin: "limit: 5s\n", stdout: "Out of time after 5s"},
		{reason: "no pod at all", args: []string{job, "--scenario", "-"}, stdin: "events: [{parallelism: 0}, {at: 1s, suspend: true}]\n", stdout: "Stalled after"},
		{reason: "restarted in place", args: []string{"--scenario", "-", simulated("whole-job"), "--set", "spec.template.spec.restartPolicy=OnFailure"}, stdin: "pods: [{exits: [1, 0]}]\n", stdout: " restarts in place after exit code 1\n"},
		{reason: "restarted by a rule", args: []string{"--limit", "1h"}, stdin: strings.Replace(jobWith(""), "image: b", "image: b, restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: NotIn, values: [1]}}]", 1),
			stdout: " restarts in place after exit code 0, by restartPolicyRules[0] of container main\n"},
		{reason: "runs that do not end", args: []string{job, "--runs", "2", "--scenario", "-"}, stdin: "limit: 5s\n", stdout: "2 out of time"},
	})
}

// TestPictures draws the golden runs, and a Job with many indexes.
func TestPictures(t *testing.T) {
	wide := strings.NewReplacer("completions: 6", "completions: 200", "parallelism: 3", "parallelism: 40").Replace(readFile(t, simulated("job")))
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
		checkGolden(t, name, got.Stdout)
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
