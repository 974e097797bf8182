package chaos

import "strings"

// menu has the indexes of a table to draw from, each as often as its weight says.
type menu []int

func newMenu(n int, weight func(int) int) menu {
	var m menu
	for i := range n {
		for range weight(i) {
			m = append(m, i)
		}
	}
	return m
}

func (m menu) draw(d dice) int { return m[d.IntN(len(m))] }

// The actions draw from the menus, and the menus are made from the actions. Go allows such
// a cycle only in init.
var (
	actions           []action
	everything, aside menu
	shifting          menu // updates of caches
	strike            = newMenu(len(faults), func(i int) int { return faults[i].weight })
)

func init() {
	actions = concat(seeing, podActions, userActions, specActions, clockActions, leaderActions)
	everything = newMenu(len(actions), func(i int) int { return actions[i].weight })
	shifting = newMenu(len(seeing), func(i int) int {
		if strings.HasPrefix(seeing[i].name, "cache shows") {
			return seeing[i].weight
		}
		return 0
	})
	aside = newMenu(len(actions), func(i int) int { return actions[i].aside })
}

func concat(tables ...[]action) (all []action) {
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}
