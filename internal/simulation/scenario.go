package simulation

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/indexset"
)

// Scenario is what happens to a Job from outside. The zero Scenario lets every
// pod succeed.
type Scenario struct {
	// Seed is that of all chances.
	Seed uint64 `json:"seed,omitempty"`
	// StartDelay is the time from the creation of a pod until it runs: 1s when it
	// is not set.
	StartDelay *metav1.Duration `json:"startDelay,omitempty"`
	// StopDelay is the time that a running pod takes to stop once it is deleted:
	// 1s when it is not set, and never more than its grace.
	StopDelay *metav1.Duration `json:"stopDelay,omitempty"`
	// BatchPeriod is the time from a change of a pod until the controller looks,
	// once for all that changes until then: 1s, as in Kubernetes, when it is not
	// set; at 0s it looks at once.
	BatchPeriod *metav1.Duration `json:"batchPeriod,omitempty"`
	// Limit is when the simulation gives up: after 7 days when it is not set.
	Limit *metav1.Duration `json:"limit,omitempty"`
	// Pods say what pods do. The first that holds for a pod decides; a pod for
	// which none holds succeeds after 10s.
	Pods []Course `json:"pods,omitempty"`
	// Events happen at their times, those of one time in their order.
	Events []Event `json:"events,omitempty"`
}

// Course is what a pod does.
type Course struct {
	// Indexes are those for whose pods it holds, written as in a status; for all
	// when it is empty. The pods of a Job that is not Indexed count from 0, in
	// the order of their creation.
	Indexes string `json:"indexes,omitempty"`
	// Chance is how likely it is to hold, drawn for each pod; always when unset.
	Chance *float64 `json:"chance,omitempty"`
	// StartDelay replaces that of the scenario.
	StartDelay *metav1.Duration `json:"startDelay,omitempty"`
	// Durations are how long the pods of an index run, in turn. The last is that
	// of all further ones; 10s when there is none.
	Durations []metav1.Duration `json:"durations,omitempty"`
	// Spread is up to how much longer they run, drawn for each.
	Spread metav1.Duration `json:"spread,omitempty"`
	// Exits are the exit codes, in turn as Durations are; 0 when there is none.
	Exits []int32 `json:"exits,omitempty"`
	// Evict says that the pod is evicted instead, with the condition
	// DisruptionTarget.
	Evict bool `json:"evict,omitempty"`
}

// Event is what happens to the Job, or to running pods, at a time. Indexes are
// written as in a Course, or are "all".
type Event struct {
	At metav1.Duration `json:"at"`
	// Suspend, Parallelism and Completions are set in the spec.
	Suspend     *bool  `json:"suspend,omitempty"`
	Parallelism *int32 `json:"parallelism,omitempty"`
	Completions *int32 `json:"completions,omitempty"`
	// Evict evicts the pods of these indexes, with DisruptionTarget, as draining
	// their nodes does.
	Evict string `json:"evict,omitempty"`
	// Lose loses the nodes of the pods of these indexes.
	Lose string `json:"lose,omitempty"`
}

// The defaults of a Scenario.
const (
	defaultDelay    = time.Second
	defaultDuration = 10 * time.Second
	defaultBatch    = time.Second
	defaultLimit    = 7 * 24 * time.Hour
)

// all are all indexes, where that has to be said.
const all = "all"

// ReadScenario reads a scenario from YAML or JSON. Unknown fields are refused.
func ReadScenario(text []byte) (Scenario, error) {
	var s Scenario
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return Scenario{}, err
	}
	return s, s.Check()
}

// Check returns what a scenario cannot mean. The error begins with the field.
func (s Scenario) Check() error {
	for _, d := range []struct {
		name  string
		value *metav1.Duration
	}{{"startDelay", s.StartDelay}, {"stopDelay", s.StopDelay}, {"batchPeriod", s.BatchPeriod}, {"limit", s.Limit}} {
		if d.value != nil && d.value.Duration < 0 {
			return fmt.Errorf("%s: %s is negative", d.name, d.value.Duration)
		}
	}
	for i, c := range s.Pods {
		if err := c.check(); err != nil {
			return fmt.Errorf("pods[%d].%w", i, err)
		}
	}
	for i, e := range s.Events {
		if err := e.check(); err != nil {
			return fmt.Errorf("events[%d]%w", i, err)
		}
	}
	return nil
}

func (c Course) check() error {
	if _, err := indexset.Parse(c.Indexes); err != nil {
		return fmt.Errorf("indexes: %w", err)
	}
	if c.Chance != nil && !(*c.Chance >= 0 && *c.Chance <= 1) {
		return fmt.Errorf("chance: %v is not between 0 and 1", *c.Chance)
	}
	if c.StartDelay != nil && c.StartDelay.Duration < 0 {
		return fmt.Errorf("startDelay: %s is negative", c.StartDelay.Duration)
	}
	if c.Spread.Duration < 0 {
		return fmt.Errorf("spread: %s is negative", c.Spread.Duration)
	}
	for i, d := range c.Durations {
		if d.Duration < 0 {
			return fmt.Errorf("durations[%d]: %s is negative", i, d.Duration)
		}
	}
	for i, code := range c.Exits {
		if code < 0 || code > 255 {
			return fmt.Errorf("exits[%d]: %d is no exit code; want 0 to 255", i, code)
		}
	}
	return nil
}

func (e Event) check() error {
	if e.At.Duration < 0 {
		return fmt.Errorf(".at: %s is negative", e.At.Duration)
	}
	if _, err := parseIndexes(e.Evict); err != nil {
		return fmt.Errorf(".evict: %w", err)
	}
	if _, err := parseIndexes(e.Lose); err != nil {
		return fmt.Errorf(".lose: %w", err)
	}
	if e.Suspend == nil && e.Parallelism == nil && e.Completions == nil && e.Evict == "" && e.Lose == "" {
		return fmt.Errorf(": nothing happens; want suspend, parallelism, completions, evict or lose")
	}
	return nil
}

// parseIndexes reads the indexes of an event.
func parseIndexes(text string) (indexset.Set, error) {
	if text == all {
		return indexset.Set{}, nil
	}
	return indexset.Parse(text)
}

// holds reports whether the indexes of an event have one.
func holds(text string, index int32) bool {
	set, _ := parseIndexes(text) // it has been checked
	return text == all || set.Contains(index)
}

// inTurn returns what the n-th of those that take turns gets.
func inTurn[T any](list []T, n int, without T) T {
	if len(list) == 0 {
		return without
	}
	return list[min(n, len(list)-1)]
}

// or returns a duration, or another when it is not set.
func or(d *metav1.Duration, other time.Duration) time.Duration {
	if d == nil {
		return other
	}
	return d.Duration
}
