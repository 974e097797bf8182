package group_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

var noon = Noon()

// at returns a time some seconds after noon.
func at(seconds int) time.Time { return After(seconds).Time }

// policyOf reads a policy from YAML, and checks it.
func policyOf(t rapid.TB, text string) *group.Policy {
	t.Helper()
	p := uncheckedPolicy(text)
	NoError(t, p.Check(nil, nil).ToAggregate())
	return p
}

// uncheckedPolicy reads a policy from YAML.
func uncheckedPolicy(text string) *group.Policy {
	p := new(group.Policy)
	return Must(p, yaml.UnmarshalStrict([]byte(text), p))
}

// stateOf reads a state.
func stateOf(text string) group.State { return FromJSON[group.State]([]byte(text)) }

// budgetsOf returns budgets, with renew if the name has a +.
func budgetsOf(t testing.TB) []group.Budget {
	return policyOf(t, `{budgets: [{name: none, max: 0}, {name: one, max: 1}, {name: two, max: 2}, {name: nine, max: 9},
		{name: hourly, max: 1, window: 1h}, {name: template, per: Template, max: 2}, {name: template+, per: Template, max: 1, renew: {withGroup: true}},
		{name: member, per: Member, max: 2}, {name: member+, per: Member, max: 2, renew: {withGroup: true}}, {name: none+, per: Member, max: 0, renew: {withGroup: true}},
		{name: hourly+, per: Member, max: 1, window: 1h, wait: true, renew: {withGroup: true}}]}`).Budgets
}

// rulesOf reads rules for the classes 0, 1, …: their steps, and what each step charges. "RestartMember x y, Leave; FailGroup"
// are two.
func rulesOf(text string) (rules []group.Rule) {
	for i, steps := range strings.Split(text, "; ") {
		rules = append(rules, group.Rule{OnClasses: []string{strconv.Itoa(i)}})
		for step := range strings.SplitSeq(steps, ", ") {
			words := strings.Fields(step)
			rules[i].Steps = append(rules[i].Steps, group.Step{Action: group.Action(words[0]), Charges: words[1:]})
		}
	}
	return rules
}

// stored returns the state that is read after one was written.
func stored(s group.State) group.State { return stateOf(ToJSON(s)) }

func times(seconds ...int) (list []metav1.Time) {
	for _, s := range seconds {
		list = append(list, metav1.NewTime(at(s)))
	}
	return list
}

func member(name, template string) group.Member { return group.Member{Name: name, Template: template} }
