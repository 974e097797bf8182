package group_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// process runs a Driver on caches of the owner and of each object that lag independently.
type process struct {
	driver *group.Driver
	batch  []group.Request // not sent yet
	owner  group.Owner
	cached []object
}

// schedule is a random life of a group.
type schedule struct {
	*rapid.T
	*rand.Rand
	*cluster
	processes []process
	now       int
	late      []group.Request // without an answer: they take effect later, or never
	// What may happen: several processes and requests that take effect after a later read; others who delete and
	// replace objects; a state that is lost; an owner that is replaced.
	races, meddles, loses, replaces bool
	happened                        map[string]bool // what may happen once
	story                           []string
}

func (s *schedule) tell(format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf(format, args...))
}

func (s *schedule) violated(format string, args ...any) {
	s.Helper()
	s.Fatalf("%s\n%s\npolicy %s\nstate %s", fmt.Sprintf(format, args...), ToJSON(s.story), ToJSON(s.cluster.owner.Policy), ToJSON(s.cluster.owner.State))
}

// once reports a violation if something happens twice.
func (s *schedule) once(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if s.happened[what] && !s.loses {
		s.violated("twice: %s", what)
	}
	s.happened[what] = true
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// waiting has windows, a delay and a suspension.
const waiting = `{budgets: [{name: hourly, per: Member, max: 1, window: 1h, wait: true}, {name: twice, max: 2}], rules: [
	{onReasons: [DeadlineExceeded], steps: [{action: SuspendGroup, charges: [twice], backoff: {}}, {action: Leave}]},
	{steps: [{action: RestartMember, charges: [hourly], backoff: {base: 5s}}]}]}`

func drawSchedule(t *rapid.T) *schedule {
	s := &schedule{T: t, Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), happened: map[string]bool{}}
	s.races, s.meddles, s.loses, s.replaces = s.IntN(3) == 0, s.IntN(4) == 0, s.IntN(4) == 0, s.IntN(4) == 0
	of := members[:1+s.IntN(5)]
	if s.races { // a member without a name is created again if its first creation takes effect late
		of = of[:min(len(of), 4)]
	}
	policy := drawPolicy(t)
	if s.IntN(2) == 0 {
		policy = policyOf(t, pick(s.Rand, apart, escalating, shared, waiting))
	}
	s.cluster = newCluster(policy, of...)
	s.processes = make([]process, 1)
	if s.races {
		s.processes = make([]process, 2)
	}
	for i := range s.processes {
		s.processes[i] = process{driver: &group.Driver{}, owner: s.cluster.owner, cached: slices.Clone(s.objects)}
	}
	return s
}

// carryOut checks a request, and carries it out.
func (s *schedule) carryOut(r group.Request) (group.View, error) {
	owner := s.cluster.owner
	before := owner.State
	s.slow = r.Verb == group.DeleteMember && s.IntN(2) == 0
	v, err := s.send(r)
	s.tell("%s: %v", requestText(r), err)
	if err != nil || r.UID != owner.UID && r.Verb != group.DeleteMember {
		return v, err
	}
	switch r.Verb {
	case group.StoreState:
		s.checkStored(&before, r.Plan)
	case group.CreateMember:
		if s.races || s.meddles || s.loses {
			return v, err
		}
		if r.Attempt != before.Attempt(r.Member) || before.End != nil || before.Phase == group.Suspended {
			s.violated("%s is created for attempt %d", r.Member.Name, r.Attempt)
		}
		if r.Member.Name != "" {
			s.once("%s: a creation of %s for attempt %d", owner.UID, r.Member.Name, r.Attempt)
		}
		for _, o := range s.objects {
			if o.owner == owner.UID && o.uid != "" && o.attempt < before.Attempt(o.Member) {
				s.violated("%s is created while %s is of attempt %d", r.Member.Name, o.Name, o.attempt)
			}
		}
	case group.DeleteMember:
		o := r.Object.(*object)
		if o.owner == owner.UID && o.attempt >= before.Attempt(o.Member) && before.End == nil && !s.loses {
			s.violated("%s is deleted in its attempt %d", o.Name, o.attempt)
		}
	}
	return v, err
}

func (s *schedule) checkStored(before *group.State, p *group.Plan) {
	owner := s.cluster.owner
	if before.End != nil {
		s.violated("a group that has ended changes")
	}
	if err := withinBudgets(owner.Policy, &owner.State); err != nil {
		s.violated("%v", err)
	}
	for _, o := range s.objects {
		if owner.State.Attempt(o.Member) < before.Attempt(o.Member) {
			s.violated("the attempt of %s becomes smaller", o.Name)
		}
		if !s.races && o.owner == owner.UID && o.uid != "" && o.attempt > before.Attempt(o.Member) {
			s.violated("the state was lost, and the Driver decides: %s", p.Message())
		}
	}
	if p.Action != "" && p.Failure.Name != "" {
		s.once("%s: a decision about %s in attempt %d", owner.UID, p.Failure.Name, p.Failure.Attempt)
	}
}

// step lets one thing happen.
func (s *schedule) step() {
	c, p := s.cluster, &s.processes[s.IntN(len(s.processes))]
	at := s.IntN(len(c.objects))
	o := &c.objects[at]
	switch action := s.IntN(25); {
	case action < 11:
		s.proceed(p)
	case action < 13:
		p.owner = c.owner
	case action < 15:
		p.cached[at] = *o
	case action < 18 && o.uid != "" && o.phase == "":
		o.phase = pick(s.Rand, group.Failed, group.Failed, group.Complete, group.Ending)
		o.reason, o.failed, o.progress = pick(s.Rand, reasons...), time.Duration(s.now)*time.Second, int64(s.IntN(40))
		s.tell("%s@%d: %s", o.Name, o.attempt, o.phase)
	case action < 19 && o.deleting || o.uid != "" && o.owner != c.owner.UID:
		*o = object{Member: o.Member}
	case action < 20:
		s.now += pick(s.Rand, 1, 60, 4000)
	case action < 21 && len(s.late) > 0:
		r := s.late[0]
		s.late = s.late[1:]
		_, _ = s.carryOut(r)
	case action < 22: // a crash
		*p = process{driver: &group.Driver{}, owner: p.owner, cached: p.cached}
	case action < 23 && s.meddles:
		*o = object{Member: o.Member, owner: c.owner.UID}
		if s.IntN(2) == 0 {
			c.version++
			o.uid = types.UID(fmt.Sprint("other", c.version))
		}
		s.tell("others: %s %s", o.Name, o.uid)
	case action < 24 && s.loses && !s.happened["lost"]:
		s.happened["lost"] = true
		c.owner.State = group.State{}
		c.touch()
		s.tell("the state is lost")
	case s.replaces && !s.happened["replaced"]:
		s.happened["replaced"] = true
		c.owner.UID, c.owner.State = "another", group.State{}
		c.touch()
		s.tell("the owner is replaced")
	}
}

// proceed lets a process begin a sync, or send its next request, whose answer may get lost.
func (s *schedule) proceed(p *process) {
	if len(p.batch) == 0 {
		if p.batch = p.driver.Next(); len(p.batch) == 0 {
			p.driver.Begin(s.view(p.owner, p.cached))
			p.batch = p.driver.Next()
			if len(p.batch) > 0 && p.batch[0].Verb != group.GetOwner {
				s.violated("a sync begins with %s: it may lag", requestText(p.batch[0]))
			}
		}
		return
	}
	at := s.IntN(len(p.batch))
	r := p.batch[at]
	p.batch = slices.Delete(p.batch, at, at+1)
	if r.Verb == group.StoreState { // the plan is valid until the next call of Next only
		plan := *r.Plan
		r.Plan = &plan
	}
	fault := s.IntN(20)
	if fault == 0 || fault == 1 && s.races {
		if s.tell("%s: without an answer", requestText(r)); fault == 1 {
			s.late = append(s.late, r)
		}
		_ = p.driver.Answer(r, group.View{}, errLost) // Next has returned it
		return
	}
	v, err := s.carryOut(r)
	switch fault {
	case 2:
		v, err = group.View{}, errLost
	case 3:
		return // never answered
	}
	_ = p.driver.Answer(r, v, err) // Next has returned it
}

// view returns what an owner and objects show.
func (s *schedule) view(owner group.Owner, objects []object) group.View {
	c := cluster{owner: owner, objects: objects}
	v := c.view()
	v.Now = at(s.now)
	return v
}

// heal runs one process without faults until nothing is left to do. All that still runs succeeds.
func (s *schedule) heal() {
	var d group.Driver
	for range 400 {
		runs := false
		for i := range s.objects {
			o := &s.objects[i]
			if o.deleting || o.uid != "" && o.owner != s.cluster.owner.UID {
				*o = object{Member: o.Member}
			}
			if o.uid != "" && (o.phase == "" || o.phase == group.Ending) {
				o.phase, runs = group.Complete, true
			}
		}
		d.Begin(s.view(s.cluster.owner, s.objects))
		sent := 0
		r := d.Run(func(r group.Request) (group.View, error) {
			if r.Verb != group.GetOwner && r.Verb != group.ListMembers {
				sent++
			}
			return s.carryOut(r)
		})
		if s.now += int(r.Requeue / time.Second); r.Requeue > 0 || sent > 0 || runs {
			continue
		}
		later := slices.ContainsFunc(s.objects, func(o object) bool {
			return o.uid != "" && o.attempt > s.cluster.owner.State.Attempt(o.Member)
		})
		if lost := later && s.cluster.owner.State.End == nil; lost != (r.Lost != nil) || lost && !s.loses {
			s.violated("the state is lost: %v, and the Driver says %v", lost, r.Err)
		}
		if s.cluster.owner.State.End == nil && r.Lost == nil {
			s.violated("the group does not end: %v", r.Err)
		}
		return
	}
	s.violated("the Driver does not come to rest")
}

func schedules(t *rapid.T) {
	s := drawSchedule(t)
	for range 20 + s.IntN(180) {
		s.step()
	}
	s.heal()
}

// Random schedules, with the properties of the exhaustive search: more members, policies and faults than fit into it.
// 100,000 of them: go test ./group -run Driver_schedules -rapid.checks=100000.
func TestDriver_schedules(t *testing.T) { rapid.Check(t, schedules) }

// FuzzDriver decodes a policy and a state from any JSON, as a hostile or a newer writer leaves them. A sync ends, and
// stores a state that it can read: the next one changes nothing more that is due now.
func FuzzDriver(f *testing.F) {
	f.Fuzz(func(t *testing.T, policy, state string, attempt int64, phase string) {
		var p group.Policy
		c := newCluster(&p, members[:5]...)
		if json.Unmarshal([]byte(policy), &p) != nil || json.Unmarshal([]byte(state), &c.owner.State) != nil {
			return
		}
		for i := range 3 {
			c.objects[i].uid, c.objects[i].owner, c.objects[i].attempt = types.UID(fmt.Sprint(i)), c.owner.UID, int32(attempt)
		}
		c.objects[0].phase = group.Phase(phase)
		before := ToJSON(c.owner.State)
		newer := c.owner.State.Version > group.StateVersion
		for n, most := 0, 4*len(c.objects)+4; ; n++ {
			var d group.Driver
			text := synced(&d, c, c.view(), faultless)
			if (newer || d.Result().Lost != nil) && ToJSON(c.owner.State) != before {
				t.Fatalf("the state of a newer writer, or one that was lost, changes: %s", text)
			}
			before = ToJSON(c.owner.State)
			if text == "" || d.Result().Err != nil {
				return
			}
			if n > most {
				t.Fatalf("the Driver does not come to rest: %s", text)
			}
		}
	})
}
