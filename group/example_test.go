package group_test

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/group"
)

// The Job twice, then the group once, then fail; infrastructure failures cost nothing.
const examplePolicy = `
budgets:
- {name: alone, per: Member, max: 2}
- {name: together, per: Group, max: 1}
rules:
- name: infrastructure
  onClasses: [Infrastructure]
  steps:
  - action: RestartMember
- name: escalate
  steps:
  - {action: RestartMember, charges: [alone], backoff: {}}
  - {action: RestartGroup, charges: [together]}
`

func Example() {
	var policy group.Policy
	if err := yaml.UnmarshalStrict([]byte(examplePolicy), &policy); err != nil {
		fmt.Println(err)
		return
	}
	worker := group.Member{Name: "workers-3", Template: "workers"}
	now := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	var state group.State // read from the status of the custom resource
	for _, class := range []string{"", "Infrastructure", "", "", ""} {
		// A Job of the current attempt fails.
		failure := group.Failure{Member: worker, Attempt: state.Attempt(worker), At: now, Reason: "BackoffLimitExceeded", Class: class}
		decision, err := group.Decide(&policy, state, []group.Failure{failure}, now)
		if err != nil {
			fmt.Println(err)
			return
		}
		state = decision.State // stored in one write, before anything else
		fmt.Println(decision.Action, "in attempt", state.Attempt(worker), "after", max(0, state.NotBefore(worker).Sub(now)))
		now = now.Add(time.Hour)
	}
	// Output:
	// RestartMember in attempt 1 after 10s
	// RestartMember in attempt 2 after 0s
	// RestartMember in attempt 3 after 40s
	// RestartGroup in attempt 4 after 0s
	// FailGroup in attempt 4 after 0s
}
