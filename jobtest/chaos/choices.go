package chaos

import (
	"slices"
	"strings"
)

// choices has the indexes of a table, each as often as its weight, so that a uniform draw is
// weighted.
type choices []int

func newChoices(n int, weight func(int) int) choices {
	var c choices
	for i := range n {
		for range weight(i) {
			c = append(c, i)
		}
	}
	return c
}

func (c choices) draw(d dice) int { return c[d.IntN(len(c))] }

// The actions draw from the choices, and the choices are made from the actions. Go allows such
// a cycle only in init.
var (
	actions           []action
	everything, aside choices
	cacheUpdates      choices
	faultChoices      = newChoices(len(faults), func(i int) int { return faults[i].weight })
)

func init() {
	actions = slices.Concat(syncActions, eventActions(), collectActions, clockActions, leaderActions)
	everything = newChoices(len(actions), func(i int) int { return actions[i].weight })
	cacheUpdates = newChoices(len(syncActions), func(i int) int {
		if strings.HasPrefix(syncActions[i].name, "cache shows") {
			return syncActions[i].weight
		}
		return 0
	})
	aside = newChoices(len(actions), func(i int) int { return actions[i].aside })
}
