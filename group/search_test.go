package group_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/group"
)

// The exhaustive search: two controllers, each with a snapshot that may be old, run a group of three
// members. Every step of a controller is a step of its own: read the state, read the Jobs, decide
// and store, and a deletion or creation for each member. A controller may crash before any step,
// and Jobs fail at any time.

// job is the Job of a member.
type job struct {
	uid     int8 // 0 for none; two Jobs of a member have different UIDs
	attempt int8
	failed  bool
}

// replica is a process that runs the controller.
type replica struct {
	step  int8 // the next step: 0 reads the state
	state int8 // the state that it has read
	jobs  [3]job
}

// world is a state of the search. A group.State is a number, see model.
type world struct {
	state    int8
	jobs     [3]job
	decided  [3]int8 // bits: the attempts whose failures have been decided
	replicas [2]replica
}

// model is a policy to search, and what the controllers do.
type model struct {
	policy   *group.Policy
	failing  [3]int8 // bits: the attempts in which the Jobs of each member fail
	replicas int
	crash    bool
	// Bugs for the search to find.
	overwrites bool // the state is stored even if it has changed since it was read
	unnumbered bool // all Jobs are created for attempt 0
	actsFirst  bool // the failed Job is deleted before the state is stored

	states  []group.State
	byText  map[string]int8
	decider *group.Decider
	ends    map[string]bool
	seen    map[world]bool
}

var three = []group.Member{member("a-0", "a"), member("a-1", "a"), member("b-0", "b")}

func (m *model) number(s group.State) int8 {
	text := textOf(s)
	if n, ok := m.byText[text]; ok {
		return n
	}
	m.byText[text] = int8(len(m.states))
	m.states = append(m.states, s)
	return m.byText[text]
}

// search visits all worlds, and returns the first violation.
func (m *model) search() error {
	m.byText, m.ends, m.seen = map[string]int8{}, map[string]bool{}, map[world]bool{}
	var err error
	if m.decider, err = group.NewDecider(m.policy); err != nil {
		return err
	}
	start := world{state: m.number(group.State{})}
	todo := []world{start}
	m.seen[start] = true
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		next, err := m.after(w)
		if err != nil {
			return err
		}
		if m.settled(w) {
			m.ends[m.end(w)] = true
		}
		for _, n := range next {
			if n = n.canonical(); !m.seen[n] {
				m.seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	return nil
}

// canonical returns a world that differs in names only: the controllers are alike, and only the
// equality of UIDs matters.
func (w world) canonical() world {
	if w.replicas[1].less(w.replicas[0]) {
		w.replicas[0], w.replicas[1] = w.replicas[1], w.replicas[0]
	}
	for i := range w.jobs {
		a, b, c := &w.jobs[i].uid, &w.replicas[0].jobs[i].uid, &w.replicas[1].jobs[i].uid
		number := map[int8]int8{0: 0}
		for n, uid := range []*int8{a, b, c} {
			if _, ok := number[*uid]; !ok {
				number[*uid] = int8(n + 1)
			}
			*uid = number[*uid]
		}
	}
	return w
}

func (r replica) less(o replica) bool {
	list := func(r replica) []int8 {
		l := []int8{r.step, r.state}
		for _, j := range r.jobs {
			l = append(l, j.uid, j.attempt)
		}
		return l
	}
	return slices.Compare(list(r), list(o)) < 0
}

// after returns the worlds that can follow.
func (m *model) after(w world) (next []world, err error) {
	for i, j := range w.jobs { // a Job fails
		if j.uid != 0 && !j.failed && m.fails(i, j) {
			n := w
			n.jobs[i].failed = true
			next = append(next, n)
		}
	}
	for r := range m.replicas {
		if m.crash && w.replicas[r].step > 0 {
			n := w
			n.replicas[r] = replica{}
			next = append(next, n)
		}
		n, err := m.step(w, r)
		if err != nil {
			return nil, err
		}
		next = append(next, n)
	}
	return next, nil
}

// step carries out the next step of a replica.
func (m *model) step(w world, r int) (world, error) {
	p := &w.replicas[r]
	switch {
	case p.step == 0:
		*p = replica{step: 1, state: w.state}
	case p.step == 1:
		p.jobs, p.step = w.jobs, 2
	case p.step == 2:
		return m.decide(w, r)
	default:
		i := p.step - 3
		if err := m.carryOut(&w, int(i), *p); err != nil {
			return w, err
		}
		if i < 2 {
			p.step++
		} else {
			*p = replica{}
		}
	}
	return w, nil
}

// decide decides, and stores the state unless another one was stored.
func (m *model) decide(w world, r int) (world, error) {
	p := &w.replicas[r]
	state := m.states[p.state]
	var failures []group.Failure
	for i, j := range p.jobs {
		if j.failed {
			failures = append(failures, group.Failure{Member: three[i], Attempt: int64(j.attempt), At: noon, Reason: "BackoffLimitExceeded"})
		}
	}
	d, err := m.decider.Decide(state, failures, noon)
	if err != nil { // the state is old: read it again
		*p = replica{}
		return w, nil
	}
	if !d.Changed {
		p.step = 3
		return w, nil
	}
	i := slices.Index(three, d.Failure.Member)
	if m.actsFirst && w.jobs[i].uid == p.jobs[i].uid {
		if err := m.remove(&w, i); err != nil {
			return w, err
		}
	}
	if w.state != p.state && !m.overwrites {
		*p = replica{} // conflict
		return w, nil
	}
	for _, each := range three {
		if now, then := m.states[w.state].Attempt(each), d.State.Attempt(each); then < now {
			return w, fmt.Errorf("the attempt of %s goes from %d back to %d", each.Name, now, then)
		}
	}
	if w.decided[i]>>d.Failure.Attempt&1 != 0 {
		return w, fmt.Errorf("the failure of attempt %d of %s decides twice", d.Failure.Attempt, d.Failure.Name)
	}
	w.decided[i] |= 1 << d.Failure.Attempt
	w.state = m.number(d.State)
	*p = replica{}
	return w, nil
}

// carryOut deletes or creates the Job of a member, as the replica has read it.
func (m *model) carryOut(w *world, i int, p replica) error {
	state, j := &m.states[p.state], p.jobs[i]
	switch attempt := int8(state.Attempt(three[i])); {
	case state.Phase != "":
	case j.uid == 0 && w.jobs[i].uid == 0: // a Job of the same name cannot be created
		if m.unnumbered {
			attempt = 0
		}
		w.jobs[i] = job{uid: 4, attempt: attempt} // no other Job has that UID, see canonical
	case j.uid == w.jobs[i].uid && j.attempt < attempt: // the deletion names the UID
		return m.remove(w, i)
	}
	return nil
}

// remove deletes a Job. That of the current attempt must stay: its failure would be lost.
func (m *model) remove(w *world, i int) error {
	if j := w.jobs[i]; int64(j.attempt) == m.states[w.state].Attempt(three[i]) {
		return fmt.Errorf("a Job of %s is deleted in its attempt %d", three[i].Name, j.attempt)
	}
	w.jobs[i] = job{}
	return nil
}

// settled reports whether a controller with a current cache would change nothing, and no Job will fail.
func (m *model) settled(w world) bool {
	state := &m.states[w.state]
	for i, j := range w.jobs {
		if state.Phase != "" {
			continue
		}
		if j.uid == 0 || j.attempt != int8(state.Attempt(three[i])) || j.failed && !state.Left(three[i]) ||
			!j.failed && m.fails(i, j) {
			return false
		}
	}
	return true
}

// fails reports whether a Job of a member fails, sooner or later.
func (m *model) fails(i int, j job) bool { return m.failing[i]>>j.attempt&1 != 0 }

// end describes the end of a group.
func (m *model) end(w world) string {
	var charged []string
	for i, bits := range w.decided {
		charged = append(charged, fmt.Sprintf("%s:%b", three[i].Name, bits))
	}
	return textOf(m.states[w.state]) + " " + strings.Join(charged, " ")
}

// Two budgets in each policy.
const (
	// Each member has budgets of its own, so the order in which they fail does not matter.
	apart = `{budgets: [{name: alone, per: Member, max: 1}, {name: kept, per: Member, max: 1}],
		rules: [{steps: [{action: RestartMember, charges: [alone]}, {action: Leave, charges: [kept]}]}]}`
	// The Job once, then the group once, then fail.
	escalating = `{budgets: [{name: alone, per: Member, max: 1}, {name: together, max: 1}],
		rules: [{steps: [{action: RestartMember, charges: [alone]}, {action: RestartGroup, charges: [together]}]}]}`
	// Templates restart together, and two restarts are shared by all.
	shared = `{budgets: [{name: all, max: 2}, {name: each, per: Template, max: 1}],
		rules: [{templates: [a], steps: [{action: RestartTemplate, charges: [all, each]}, {action: Leave, charges: [all]}]},
		{steps: [{action: RestartMember, charges: [all]}]}]}`
)

var searched = map[string]struct {
	policy  string
	failing [3]int8
	oneEnd  bool
}{
	"apart":      {apart, [3]int8{0b11, 0b1, 0b1}, true},
	"escalating": {escalating, [3]int8{0b111, 0b1, 0}, false},
	"shared":     {shared, [3]int8{0b1, 0b11, 0b1}, false},
}

// "The same failure twice, in another order, or after a crash between 2 and 3, has no further effect":
// two controllers that may crash anywhere reach the same ends as one controller that never crashes.
func TestAllInterleavings(t *testing.T) {
	for name, tc := range searched {
		t.Run(name, func(t *testing.T) {
			policy := policyOf(t, tc.policy)
			one := &model{policy: policy, failing: tc.failing, replicas: 1}
			two := &model{policy: policy, failing: tc.failing, replicas: 2, crash: true}
			for _, m := range []*model{one, two} {
				if err := m.search(); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d and %d worlds, %d ends", len(one.seen), len(two.seen), len(one.ends))
			if len(one.ends) == 0 || tc.oneEnd && len(one.ends) != 1 {
				t.Errorf("%d ends: %v", len(one.ends), one.ends)
			}
			if a, b := sorted(one.ends), sorted(two.ends); !slices.Equal(a, b) {
				t.Errorf("one controller reaches\n%s\ntwo reach\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
			}
		})
	}
}

func sorted(set map[string]bool) (list []string) {
	for s := range set {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

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
