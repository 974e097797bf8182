package chaos

import (
	"testing"
	"time"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// With FailLostPods and SucceedOnExitZero a controller has the same properties, if each pod has the
// phase by which it is counted. Otherwise the referee finds violations, so there are such pods: deleted
// pods do not end before the faults stop.
func TestCountedPods(t *testing.T) {
	const after = 5 * time.Second
	first := func(rules referee.Rules, retries int, options ...decide.Option) Report {
		return firstOf(schedules(), func(seed uint64) Config {
			return Config{Seed: seed, Mode: Mode(seed % 2), Rules: rules, Retries: retries,
				Without:    []string{"deleted pod exits 0", "deleted pod exits 137", "deleted pod exits with its own code", "deleted pod fails"},
				Controller: func() cluster.Controller { return jobtest.NewCaller(options...) }}
		})
	}
	lost, zero := decide.FailLostPods(after), decide.SucceedOnExitZero()
	if r := first(referee.Rules{LostAfter: after, ExitZero: true}, 0, lost, zero); r.Violation != nil {
		t.Error(r.Story)
	}
	for name, option := range map[string]decide.Option{"FailLostPods": lost, "SucceedOnExitZero": zero} {
		if r := first(referee.Rules{}, -1, option); r.Violation == nil {
			t.Errorf("%s has no effect", name)
		}
	}
}
