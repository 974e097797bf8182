package simulation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/jobtest"
)

// TestCountedPodsDoNotMatter simulates Jobs with and without the pods that have been counted.
// KEP-2307 § Proposal: "In subsequent Job syncs, the controller ignores finished Pods that
// don't have the finalizer."
func TestCountedPodsDoNotMatter(t *testing.T) {
	counted := 0
	rapid.Check(t, func(rt *rapid.T) {
		job, s := jobtest.Jobs(jobtest.Usual()).Draw(rt, "job"), drawScenario(rt)
		play := func(keep bool) (*Result, error) {
			p, err := newPlay(job, s, Settings{})
			if err != nil {
				return nil, err
			}
			p.keep = keep
			r, err := p.run()
			if keep {
				counted += len(p.counted)
			}
			return r, err
		}
		want, failure := play(true)
		got, err := play(false)
		if (err == nil) != (failure == nil) {
			rt.Fatalf("with all pods: %v; without those that have been counted: %v", failure, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("-with all pods +without those that have been counted:\n%s", diff)
		}
	})
	if counted == 0 {
		t.Error("no pod has been counted")
	}
}

func drawScenario(t *rapid.T) Scenario {
	duration := func(most int, label string) metav1.Duration {
		return metav1.Duration{Duration: time.Duration(rapid.IntRange(0, most).Draw(t, label)) * 500 * time.Millisecond}
	}
	s := Scenario{
		Seed:        rapid.Uint64().Draw(t, "seed"),
		Limit:       &metav1.Duration{Duration: 5 * time.Minute},
		BatchPeriod: new(duration(3, "batchPeriod")),
	}
	for range rapid.IntRange(1, 3).Draw(t, "courses") {
		s.Pods = append(s.Pods, Behaviour{
			Indexes:   rapid.SampledFrom([]Indexes{"", "0", "0-2", "1,3"}).Draw(t, "indexes"),
			Chance:    new(rapid.Float64Range(0, 1).Draw(t, "chance")),
			Exits:     rapid.SliceOfN(rapid.SampledFrom([]int32{0, 1, 42}), 0, 3).Draw(t, "exits"),
			Durations: []metav1.Duration{duration(20, "duration")},
			Evict:     rapid.IntRange(0, 4).Draw(t, "evict") == 4,
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "events") {
		e := Event{At: duration(120, "at")}
		switch rapid.IntRange(0, 3).Draw(t, "event") {
		case 0:
			e.Suspend = new(rapid.Bool().Draw(t, "suspend"))
		case 1:
			e.Parallelism = new(rapid.Int32Range(0, 6).Draw(t, "parallelism"))
		case 2:
			n := rapid.Int32Range(0, 6).Draw(t, "completions") // refused unless the Job is elastic
			e.Completions, e.Parallelism = &n, &n
		default:
			e.Lose = rapid.SampledFrom([]Indexes{"all", "0", "1-3"}).Draw(t, "lose")
		}
		s.Events = append(s.Events, e)
	}
	return s
}

// TestLargeJob checks the cost of a large Job: the number of syncs does not grow with its pods,
// and the number of pods in a sync does not grow with its indexes.
func TestLargeJob(t *testing.T) {
	const completions, parallelism = 1000, 100
	scenario := scenarioOf(t, "pods: [{chance: 0.1, exits: [1, 0]}, {spread: 20s}]")
	p, err := newPlay(indexed(completions, parallelism, perIndex(2)), scenario, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	p.Continue = func(Time, int) bool {
		most = max(most, len(p.cluster.Pods()))
		return true
	}
	r, err := p.run()
	if err != nil {
		t.Fatal(err)
	}
	if r.End != Complete || r.Totals.Failed < completions/20 {
		t.Errorf("got %s and %d failed pods, want Complete and some", r.End, r.Totals.Failed)
	}
	if perSecond := int(r.Took.Seconds()) + 2; r.Totals.Syncs > perSecond {
		t.Errorf("got %d syncs in %s, want one a second at most", r.Totals.Syncs, r.Took)
	}
	if most > 2*parallelism {
		t.Errorf("a sync reads %d pods, want at most %d", most, 2*parallelism)
	}
}
