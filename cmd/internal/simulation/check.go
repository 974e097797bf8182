package simulation

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// ReadScenario reads a scenario from YAML or JSON. Unknown fields are errors. [Scenario.Check] checks the values.
func ReadScenario(text []byte) (Scenario, error) {
	var s Scenario
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return Scenario{}, inWords(err)
	}
	return s, nil
}

// wants describes values of Go types, for users who do not know Go.
var wants = map[string]string{
	"bool":    "true or false",
	"int32":   "a whole number of at most 32 bits",
	"uint64":  "a whole number from 0",
	"float64": "a number",
	"string":  "a duration such as 30s", // other strings have their own errors
}

var (
	decoderPrefix = regexp.MustCompile(`^(error unmarshaling JSON: |while decoding JSON: |json: )+`)
	// Before the type comes the field, which Go 1.27 writes in another form.
	wrongType = regexp.MustCompile(`^cannot unmarshal (.+?) into .+ of type (\S+)$`)
)

// inWords returns an error of the decoder without the names of Go types.
func inWords(err error) error {
	text := decoderPrefix.ReplaceAllString(err.Error(), "")
	m := wrongType.FindStringSubmatch(text)
	if m == nil {
		return errors.New(text)
	}
	want, ok := wants[m[2]]
	switch {
	case ok:
	case strings.HasPrefix(m[2], "[]"):
		want = "a list"
	default:
		want = "an object"
	}
	return fmt.Errorf("want %s; got %s", want, m[1])
}

// longest is the longest duration that a scenario may contain.
const longest = 10 * 365 * 24 * time.Hour

// Check returns an error if the scenario is invalid. The error begins with the field.
func (s Scenario) Check() error {
	for _, f := range []struct {
		name  string
		value *metav1.Duration
	}{
		{"startDelay", s.StartDelay}, {"stopDelay", s.StopDelay}, {"batchPeriod", s.BatchPeriod}, {"limit", s.Limit},
		{"lostNodes.unreachableAfter", s.LostNodes.UnreachableAfter}, {"lostNodes.toleration", s.LostNodes.Toleration},
		{"lostNodes.removedAfter", s.LostNodes.RemovedAfter}, {"lostNodes.collectedAfter", s.LostNodes.CollectedAfter},
	} {
		if err := checkDuration(f.name, f.value); err != nil {
			return err
		}
	}
	if err := checkCapacity(s.Capacity); err != nil {
		return err
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

func checkDuration(name string, d *metav1.Duration) error {
	switch {
	case d == nil:
		return nil
	case d.Duration < 0:
		return fmt.Errorf("%s: %s is negative", name, d.Duration)
	case d.Duration > longest:
		return fmt.Errorf("%s: %s is longer than 10 years, %s", name, d.Duration, longest)
	}
	return nil
}

func checkCapacity(n *int32) error {
	if n != nil && *n < 0 {
		return fmt.Errorf("capacity: %d is negative", *n)
	}
	return nil
}

func (c Behaviour) check() error {
	if _, err := c.Indexes.set(); err != nil {
		return fmt.Errorf("indexes: %w", err)
	}
	if c.Chance != nil && !(*c.Chance >= 0 && *c.Chance <= 1) {
		return fmt.Errorf("chance: %v is not between 0 and 1", *c.Chance)
	}
	err := cmp.Or(checkDuration("startDelay", c.StartDelay), checkDuration("spread", &c.Spread))
	for i, d := range c.Durations {
		err = cmp.Or(err, checkDuration(fmt.Sprintf("durations[%d]", i), &d))
	}
	if err != nil {
		return err
	}
	for i, code := range c.Exits {
		if code < 0 || code > 255 {
			return fmt.Errorf("exits[%d]: %d is not an exit code; want 0 to 255", i, code)
		}
	}
	return nil
}

// target is a field of an Event that names pods.
type target struct {
	field   string
	indexes Indexes
}

// targets returns the fields of an event that name pods, in the order in which they
// take effect.
func (e Event) targets() []target {
	return []target{{"lose", e.Lose}, {"evict", e.Evict}, {"removeNodes", e.RemoveNodes},
		{"forceDelete", e.ForceDelete}}
}

func (e Event) check() error {
	if err := checkDuration(".at", &e.At); err != nil {
		return err
	}
	if err := checkCapacity(e.Capacity); err != nil {
		return fmt.Errorf(".%w", err)
	}
	something := e.Suspend != nil || e.Parallelism != nil || e.Completions != nil || e.Capacity != nil
	for _, t := range e.targets() {
		if _, err := t.indexes.set(); err != nil {
			return fmt.Errorf(".%s: %w", t.field, err)
		}
		something = something || t.indexes != ""
	}
	if !something {
		return errors.New(": the event does nothing; want suspend, parallelism, completions, capacity, " +
			"evict, lose, removeNodes or forceDelete")
	}
	return nil
}
