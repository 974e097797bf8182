package group_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// The exhaustive search: Drivers run a group of three members. Every request is a step of its own, a process may crash
// before any step, an answer may get lost, and Jobs end at any time. What the caches show needs no place in the search:
// a sync begins at any time, and reads live before all else; TestDriver_schedules has caches.

// object is an object of a member, as tests need it.
type object struct {
	group.Member
	uid      types.UID
	owner    types.UID // in a cluster
	attempt  int32
	deleting bool
	phase    group.Phase
	reason   string
	class    string
	failed   time.Duration // after noon
	noTime   bool
	progress int64
}

func (o *object) UID() types.UID     { return o.uid }
func (o *object) CreatedFor() int32  { return o.attempt }
func (o *object) Deleting() bool     { return o.deleting }
func (o *object) Phase() group.Phase { return o.phase }
func (o *object) Failure() group.Failure {
	f := group.Failure{Member: o.Member, Attempt: o.attempt, At: noon.Add(o.failed), Reason: o.reason, Class: o.class, Progress: o.progress}
	if o.noTime {
		f.At = time.Time{}
	}
	return f
}

// job is the Job of a member.
type job struct {
	uid     int8 // 0 for none; two Jobs of a member have different UIDs
	attempt int8
	phase   int8 // see phases
}

var phases = [...]group.Phase{"", group.Failed, group.Complete}

// replica is a process with the answers that its Driver has had in the sync under way.
type replica struct {
	refused uint16 // bits: which answers were errors
	answers int8   // how many
	// What was read: the owner's state and version, these again if it was read twice, and the Jobs.
	state, version, stateAgain, versionAgain int8
	jobs                                     [3]job
}

// request is the next request of a Driver.
type request struct {
	verb            group.Verb // 0 if the sync is over
	member, attempt int8       // to delete or create
	state, version  int8       // to store, and the version that the owner must have
	decided, of     int8       // the member whose failure decides, and the attempt; -1 for none
}

// world is a state of the search. A group.State is a number, see model.
type world struct {
	state, version int8
	jobs           [3]job
	decided        [3]int8 // bits: the attempts whose failures have been decided
	created        [3]int8 // bits: the attempts that Jobs were created for
	faults         int8    // how many may still happen
	replicas       [2]replica
}

// model is a policy to search, and what may happen.
type model struct {
	policy   *group.Policy
	failing  [3]int8 // bits: the attempts in which the Jobs of each member fail
	replicas int
	crash    bool
	faults   int8 // how many answers get lost or, with loses, how often the state
	loses    bool
	// Bugs of a caller for the search to find.
	overwrites bool // the state is stored even if it has changed since it was read
	unnumbered bool // all Jobs are created for attempt 0
	byName     bool // Jobs are deleted whatever their UID

	states  []group.State
	byText  map[string]int8
	drivers map[replica]request
	ends    map[string]bool
	seen    map[world]bool
	lively  map[world]bool // those from which the group ends without further faults
}

var three = []group.Member{member("a-0", "a"), member("a-1", "a"), member("b-0", "b")}

func (m *model) number(s group.State) int8 {
	text := ToJSON(s)
	if n, ok := m.byText[text]; ok {
		return n
	}
	m.byText[text] = int8(len(m.states))
	m.states = append(m.states, s)
	return m.byText[text]
}

// search visits all worlds, and returns the first violation.
func (m *model) search() error {
	m.byText, m.drivers, m.ends = map[string]int8{}, map[replica]request{}, map[string]bool{}
	m.seen, m.lively = map[world]bool{}, map[world]bool{}
	start := world{state: m.number(group.State{}), faults: m.faults}
	todo := []world{start}
	m.seen[start] = true
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		next, err := m.after(w)
		if err == nil {
			err = m.lives(w)
		}
		if err != nil {
			return fmt.Errorf("%w after %s", err, m.end(w))
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

// canonical returns a world that differs in names only: the processes are alike, and only the equality of UIDs
// matters.
func (w world) canonical() world {
	if w.replicas[1] != (replica{}) && w.replicas[1].less(&w.replicas[0]) {
		w.replicas[0], w.replicas[1] = w.replicas[1], w.replicas[0]
	}
	for i := range w.jobs {
		var number [newUID + 1]int8
		for n, uid := range []*int8{&w.jobs[i].uid, &w.replicas[0].jobs[i].uid, &w.replicas[1].jobs[i].uid} {
			if number[*uid] == 0 && *uid != 0 {
				number[*uid] = int8(n + 1)
			}
			*uid = number[*uid]
		}
	}
	return w
}

// newUID is the UID of a Job that has just been created. Three at most are known then, see canonical.
const newUID = 4

// less orders processes; one that has no sync under way is the last.
func (r *replica) less(o *replica) bool {
	list := func(r *replica) [16]int8 {
		a, b, c := &r.jobs[0], &r.jobs[1], &r.jobs[2]
		return [...]int8{r.answers, int8(r.refused), int8(r.refused >> 8), r.state, r.version, r.stateAgain,
			r.versionAgain, a.uid, a.attempt, a.phase, b.uid, b.attempt, b.phase, c.uid, c.attempt, c.phase}
	}
	first, second := list(r), list(o)
	return *o == (replica{}) || slices.Compare(first[:], second[:]) < 0
}

// after returns the worlds that can follow.
func (m *model) after(w world) (next []world, err error) {
	for i, j := range w.jobs { // a Job ends
		if j.uid != 0 && j.phase == 0 {
			n := w
			n.jobs[i].phase = m.outcome(i, j)
			next = append(next, n)
		}
	}
	if m.loses && w.faults > 0 {
		n := w
		n.state, n.version, n.faults = 0, w.version+1, w.faults-1
		next = append(next, n)
	}
	for r := range m.replicas {
		if m.crash && w.replicas[r] != (replica{}) {
			n := w
			n.replicas[r] = replica{}
			next = append(next, n)
		}
		n, err := m.step(w, r)
		if err != nil {
			return nil, err
		}
		next = append(next, n)
		wrote := n.state != w.state || n.jobs != w.jobs
		if wrote && w.faults > 0 && !m.loses { // the answer is lost
			p := &n.replicas[r]
			p.refused, n.faults = p.refused|1<<(p.answers-1), w.faults-1
			next = append(next, n)
		}
	}
	return next, nil
}

// outcome returns how a Job ends.
func (m *model) outcome(i int, j job) int8 {
	if m.failing[i]>>j.attempt&1 != 0 {
		return 1
	}
	return 2
}

// step carries out the next request of a replica.
func (m *model) step(w world, r int) (world, error) {
	p := &w.replicas[r]
	q, err := m.next(*p)
	if err != nil {
		return w, err
	}
	carriedOut := true
	switch i := q.member; q.verb {
	case 0:
		*p = replica{}
		return w, nil
	case group.GetOwner:
		if p.answers == 0 {
			p.state, p.version = w.state, w.version
		} else {
			p.stateAgain, p.versionAgain = w.state, w.version
		}
	case group.ListMembers:
		p.jobs = w.jobs
	case group.StoreState:
		if carriedOut = q.version == w.version || m.overwrites; carriedOut {
			err = m.store(&w, q)
		}
	case group.DeleteMember: // one that is gone is no error
		if j := w.jobs[i]; j.uid == p.jobs[i].uid || m.byName && j.uid != 0 {
			w.jobs[i] = job{}
			if int32(j.attempt) == m.states[w.state].Attempt(three[i]) && m.states[w.state].End == nil && !m.loses {
				err = fmt.Errorf("a Job of %s is deleted in its attempt %d", three[i].Name, j.attempt)
			}
		}
	case group.CreateMember:
		if carriedOut = w.jobs[i].uid == 0; carriedOut {
			err = m.create(&w, q)
		}
	}
	if !carriedOut {
		p.refused |= 1 << p.answers
	}
	p.answers++
	return w, err
}

// store stores a state.
func (m *model) store(w *world, q request) error {
	before, state := m.states[w.state], m.states[q.state]
	if before.End != nil {
		return errors.New("a group that has ended changes")
	}
	if err := withinBudgets(m.policy, &state); err != nil {
		return err
	}
	for _, each := range three {
		if now, then := before.Attempt(each), state.Attempt(each); then < now {
			return fmt.Errorf("the attempt of %s goes from %d back to %d", each.Name, now, then)
		}
	}
	if q.decided >= 0 {
		if w.decided[q.decided]>>q.of&1 != 0 && !m.loses {
			return fmt.Errorf("the failure of attempt %d of %s decides twice", q.of, three[q.decided].Name)
		}
		w.decided[q.decided] |= 1 << q.of
	}
	w.state, w.version = q.state, w.version+1
	return nil
}

// create creates the Job of a member. With one process nothing else happens between its live reads and this.
func (m *model) create(w *world, q request) error {
	state, i := m.states[w.state], q.member
	if m.unnumbered {
		q.attempt = 0
	}
	w.jobs[i] = job{uid: newUID, attempt: q.attempt}
	if m.replicas > 1 || m.loses {
		return nil
	}
	if int32(q.attempt) != state.Attempt(three[i]) || state.End != nil {
		return fmt.Errorf("a Job of %s is created for attempt %d", three[i].Name, q.attempt)
	}
	if w.created[i]>>q.attempt&1 != 0 {
		return fmt.Errorf("a second Job of %s is created for attempt %d", three[i].Name, q.attempt)
	}
	w.created[i] |= 1 << q.attempt
	return nil
}

// next returns the next request of a Driver that has had these answers.
func (m *model) next(p replica) (request, error) {
	for i := range p.jobs { // any UIDs
		p.jobs[i].uid = min(p.jobs[i].uid, 1)
	}
	if q, ok := m.drivers[p]; ok {
		return q, nil
	}
	var d group.Driver
	nothing := make([]group.Object, len(three))
	for i := range three {
		nothing[i] = &object{Member: three[i]}
	}
	d.Begin(group.View{Owner: group.Owner{UID: "owner", Policy: m.policy}, Members: nothing, Now: noon})
	answered := int8(0)
	for batch := d.Next(); len(batch) > 0; batch = d.Next() {
		for _, r := range batch {
			if answered == p.answers {
				q := m.requestOf(r)
				if m.lost(&p) && r.Verb != group.GetOwner {
					return q, fmt.Errorf("the state is lost, and the Driver sends: %v", r.Verb)
				}
				m.drivers[p] = q
				return q, nil
			}
			v, err := m.answer(&p, answered, r)
			_ = d.Answer(r, v, err) // Next has just returned it
			answered++
		}
	}
	if m.lost(&p) != (d.Result().Lost != nil) {
		return request{}, fmt.Errorf("the state is lost: %v, and the Driver says %v", m.lost(&p), d.Result().Err)
	}
	m.drivers[p] = request{}
	return request{}, nil
}

// lost reports whether a replica has read Jobs of later attempts than that of the state.
func (m *model) lost(p *replica) bool {
	read := p.state
	if p.answers > 2 && m.states[p.state].End == nil && m.later(p.state, p) {
		read = p.stateAgain
	}
	return p.answers > 1 && m.states[read].End == nil && m.later(read, p)
}

func (m *model) later(state int8, p *replica) bool {
	for i, j := range p.jobs {
		if j.uid != 0 && int32(j.attempt) > m.states[state].Attempt(three[i]) {
			return true
		}
	}
	return false
}

func (m *model) requestOf(r group.Request) request {
	q := request{verb: r.Verb, decided: -1, of: -1, attempt: int8(r.Attempt),
		member: int8(slices.Index(three, r.Member))}
	if r.Verb == group.StoreState {
		version, _ := strconv.Atoi(r.ResourceVersion)
		q.state, q.version = m.number(r.Plan.State), int8(version)
		if r.Plan.Action != "" {
			q.decided, q.of = int8(r.Plan.Position), int8(r.Plan.Failure.Attempt)
		}
	}
	return q
}

var errLost = errors.New("the answer is lost")

// answer returns what a replica has answered to its request n.
func (m *model) answer(p *replica, n int8, r group.Request) (v group.View, err error) {
	owner := func(state, version int8) group.Owner {
		return group.Owner{UID: "owner", ResourceVersion: strconv.Itoa(int(version)), State: m.states[state], Policy: m.policy}
	}
	switch r.Verb {
	case group.GetOwner:
		v.Owner = owner(p.state, p.version)
		if n > 0 {
			v.Owner = owner(p.stateAgain, p.versionAgain)
		}
	case group.ListMembers:
		for i, j := range p.jobs {
			o := &object{Member: three[i], attempt: int32(j.attempt), phase: phases[j.phase], reason: "BackoffLimitExceeded"}
			if j.uid != 0 {
				o.uid = types.UID(three[i].Name)
			}
			v.Members = append(v.Members, o)
		}
	case group.StoreState:
		version, _ := strconv.Atoi(r.ResourceVersion)
		v.Owner.ResourceVersion = strconv.Itoa(version + 1)
	}
	if p.refused>>n&1 != 0 {
		err = errLost
		if r.Verb == group.StoreState {
			err = apierrors.NewConflict(schema.GroupResource{}, "owner", errLost)
		}
		v = group.View{}
	}
	return v, err
}

// settled reports whether the group has ended, and a sync would change nothing.
func (m *model) settled(w world) bool {
	return m.states[w.state].End != nil && !slices.ContainsFunc(w.jobs[:], func(j job) bool { return j.uid != 0 && j.phase == 0 })
}

// lives checks that the group ends without further faults: with one process, whose caches are current. A state that was
// lost while a Job of a later attempt exists is for people.
func (m *model) lives(w world) error {
	w.faults, w.replicas = 0, [2]replica{}
	path, err := []world(nil), error(nil)
	for len(path) < 500 {
		if w = w.canonical(); m.lively[w] || m.settled(w) || m.loses {
			for _, passed := range path {
				m.lively[passed] = true
			}
			return nil
		}
		path = append(path, w)
		if w.replicas[0] == (replica{}) {
			for i := range w.jobs {
				if w.jobs[i].uid != 0 && w.jobs[i].phase == 0 {
					w.jobs[i].phase = m.outcome(i, w.jobs[i])
				}
			}
		}
		if w, err = m.step(w, 0); err != nil {
			return err
		}
	}
	return errors.New("the group does not end")
}

// end describes the end of a group.
func (m *model) end(w world) string {
	var charged []string
	for i, bits := range w.decided {
		charged = append(charged, fmt.Sprintf("%s:%b", three[i].Name, bits))
	}
	return ToJSON(m.states[w.state]) + " " + strings.Join(charged, " ")
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

var long = flag.Bool("long", false, "two processes have as many failures as one, which takes half a minute")

var searched = map[string]struct {
	policy    string
	one, both [3]int8 // which attempts fail, with one process, and with two unless -long is given
}{
	"apart":      {apart, [3]int8{0b11, 0b1, 0b1}, [3]int8{0b11, 0b1, 0}},
	"escalating": {escalating, [3]int8{0b111, 0b1, 0}, [3]int8{0b11, 0, 0}},
	"shared":     {shared, [3]int8{0b1, 0b11, 0b1}, [3]int8{0b1, 0, 0b1}},
}

// With one process: "a failure is decided once, no budget is exceeded, no second member of a current attempt, none of an
// earlier one is created, an end is final, every group that can end ends". With two, "a member of an earlier attempt may
// be created; it is recognised, deleted, and its failure changes nothing": two processes that may crash anywhere, one
// of whose answers is lost, reach the same ends as one that has no faults.
func TestAllInterleavings(t *testing.T) {
	for name, tc := range searched {
		t.Run(name, func(t *testing.T) {
			policy, both := policyOf(t, tc.policy), map[bool][3]int8{true: tc.one, false: tc.both}[*long]
			for _, pair := range [][2]*model{
				{{failing: tc.one, replicas: 1}, {failing: tc.one, replicas: 1, crash: true, faults: 3}},
				{{failing: both, replicas: 1}, {failing: both, replicas: 2, crash: true, faults: 1}},
			} {
				for _, m := range pair {
					m.policy = policy
					NoError(t, m.search())
				}
				a, b := slices.Sorted(maps.Keys(pair[0].ends)), slices.Sorted(maps.Keys(pair[1].ends))
				if !slices.Equal(a, b) || len(a) == 0 || name == "apart" && len(a) != 1 {
					t.Errorf("without faults\n%s\nwith faults\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
				}
				t.Logf("%d and %d worlds, %d ends", len(pair[0].seen), len(pair[1].seen), len(a))
			}
		})
	}
}

// "A lost state is said and never acted on", and an end is final.
func TestAllInterleavings_lostState(t *testing.T) {
	for name, tc := range searched {
		m := &model{policy: policyOf(t, tc.policy), failing: tc.one, replicas: 1, crash: true, loses: true, faults: 2}
		if err := m.search(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%d worlds, %d ends", len(m.seen), len(m.ends))
	}
}
