package group_test

import "testing"

// The search finds the bugs of controllers that break the protocol of the package comment.
func TestAllInterleavings_findsBugs(t *testing.T) {
	for name, plant := range map[string]func(*model){
		"the state is stored over a newer one": func(m *model) { m.overwrites = true },
		"Jobs are created without an attempt":  func(m *model) { m.unnumbered = true },
		"the controller acts before it stores": func(m *model) { m.actsFirst = true },
	} {
		t.Run(name, func(t *testing.T) {
			one := &model{policy: policyOf(t, apart), failing: [3]int8{1, 1, 0}, replicas: 1}
			two := &model{policy: one.policy, failing: one.failing, replicas: 2, crash: true}
			plant(two)
			if err := one.search(); err != nil {
				t.Fatal(err)
			}
			if err := two.search(); err == nil && len(one.ends) == len(two.ends) {
				t.Errorf("not found in %d worlds", len(two.seen))
			}
		})
	}
}
