package group_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// jobsOf returns the members a-0 and a-1, and their Jobs as a text says: "0 Failed, 1@2 Running gone" are the
// Job a-0 of attempt 0 that has failed, and a-1 of attempt 2 that is being deleted. Another word is a class.
func jobsOf(text string) []group.Object {
	jobs := []*object{{Member: members[0]}, {Member: members[1]}}
	for one := range strings.SplitSeq(text, ", ") {
		var n int
		var phase, word string
		at, rest, _ := strings.Cut(one, " ")
		number, attempt, _ := strings.Cut(at, "@")
		_, _ = fmt.Sscan(number, &n)
		if _, _ = fmt.Sscan(rest, &phase, &word); phase == "" {
			continue
		}
		job := jobs[n]
		_, _ = fmt.Sscan(attempt, &job.attempt)
		job.uid, job.phase, job.reason = types.UID(at), group.Phase(phase), "Because"
		if job.deleting = word == "gone"; !job.deleting {
			job.class = word
		}
	}
	return []group.Object{jobs[0], jobs[1]}
}

// planned describes the plan for the Jobs of a text at noon.
func planned(policy *group.Policy, state group.State, jobs string) string {
	p := Must(group.MakePlan(policy, state, jobsOf(jobs), noon))
	return planText(&p)
}

// planText describes a plan.
func planText(p *group.Plan) string {
	words := []string{string(p.Phase())}
	if p.Changed {
		words = append(words, "store", p.Message())
	}
	for _, j := range p.Delete {
		words = append(words, "delete", j.Of().Name)
	}
	for _, m := range p.Create {
		words = append(words, "create", m.Name)
	}
	if p.Wait > 0 {
		words = append(words, "wait", p.Wait.String())
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// A group step by step: the Jobs, the seconds after noon, and the plan.
func TestMakePlan(t *testing.T) {
	const escalate = `{budgets: [{name: alone, per: Member, max: 1}, {name: together, max: 1}], rules: [{steps: [
		{action: RestartMember, charges: [alone], backoff: {base: 5s}}, {action: RestartGroup, charges: [together]}]}]}`
	for _, story := range []struct{ policy, steps string }{
		{escalate, `0 : Running create a-0 create a-1
			0 0 Running, 1 Running: Running
			0 0 Complete, 1 Failed gone: Running
			0 0 Complete, 1 Failed: Restarting store RestartMember: a-1 failed: Because
			0 0 Complete, 1 Failed: Restarting delete a-1
			0 0 Complete, 1 Failed gone: Restarting
			1 0 Complete: Running wait 4s
			5 0 Complete: Running create a-1
			9 0 Complete, 1@1 Failed: Restarting store RestartGroup: a-1 failed: Because
			9 0 Complete, 1@1 Failed gone: Restarting delete a-0
			9 1@1 Failed gone: Restarting
			9 : Running create a-0 create a-1
			9 0@1 Complete, 1@2 Running: Running
			9 0@1 Running, 1@2 Failed: Failed store no step is left, FailGroup: a-1 failed: Because
			9 0@1 Running, 1@2 Failed: Failed delete a-0
			9 0@1 Ending, 1@2 Failed: Failed
			9 : Failed`},
		{`{rules: [{steps: [{action: Leave}]}]}`, `0 0 Failed, 1 Running: Running store Leave: a-0 failed: Because
			0 1 Running: Running
			0 0 Failed, 1 Complete: Failed store members left failed: 1
			0 0 Failed, 1 Complete: Failed`},
		{`{rules: [{steps: [{action: Leave}]}]}`, `0 0 Failed, 1 Complete: Running store Leave: a-0 failed: Because
			0 0 Failed, 1 Complete: Failed store members left failed: 1`},
		{`{rules: [{onClasses: [Infra], steps: [{action: RestartMember}]}]}`, `0 0 Failed Infra: Restarting store RestartMember: a-0 failed: Because
			0 0@1 Failed Other: Failed store no rule matches, FailGroup: a-0 failed: Because`},
		{`{}`, `0 0 Complete, 1 Running: Running
			0 0 Complete, 1 Ending: Running
			0 0 Complete, 1 Complete: Complete store all members have succeeded
			0 0 Complete: Complete`},
		{`{rules: [{steps: [{action: CompleteGroup}]}]}`, `0 0 Failed, 1 Running: Complete store CompleteGroup: a-0 failed: Because
			0 0 Failed, 1 Running: Complete delete a-1`},
		{`{rules: [{steps: [{action: SuspendGroup, backoff: {}}]}]}`, `0 0 Failed: Suspended store SuspendGroup: a-0 failed: Because
			1 0 Failed: Suspended delete a-0 wait 9s
			1 : Suspended wait 9s
			10 : Running store resumed
			10 : Running create a-0 create a-1`},
	} {
		policy, state := policyOf(t, story.policy), group.State{}
		for line := range strings.Lines(story.steps) {
			line, want, _ := strings.Cut(strings.TrimSpace(line), ": ")
			second, jobs, _ := strings.Cut(line, " ")
			now, _ := time.ParseDuration(second + "s")
			p, err := group.MakePlan(policy, state, jobsOf(jobs), noon.Add(now))
			if err != nil || planText(&p) != want {
				t.Errorf("%s\ngot  %s, %v\nwant %s", line, planText(&p), err, want)
			}
			state = stored(p.State)
		}
	}
}

// "any Job is of a later attempt than the state has": then nothing is decided, whatever the Job does. The package
// comment says two ways to go on.
func TestMakePlan_oldState(t *testing.T) {
	policy := policyOf(t, `{rules: [{steps: [{action: RestartGroup}]}]}`)
	one := group.State{Group: group.Part{Restarts: 1}}
	suspended := group.State{Phase: group.Suspended, Group: group.Part{Restarts: 1, NotBefore: &times(9)[0]}}
	for _, tc := range []struct {
		state group.State
		jobs  string
	}{
		{group.State{}, "0@3 Running, 1 Failed"}, {group.State{}, "0@3 Complete, 1 Complete"}, {group.State{}, "0@3 Failed"},
		{group.State{}, "0@3 Complete gone"}, {one, "1@2 Running"}, {suspended, "0@3 Running"},
	} {
		p, err := group.MakePlan(policy, tc.state, jobsOf(tc.jobs), noon)
		if old := new(group.OldStateError); !errors.As(err, &old) || ToJSON(p.State) != ToJSON(tc.state) || planText(&p) != string(p.Phase()) || p.Rule != -1 {
			t.Errorf("%s after %s: %s, %v, want an *OldStateError and no plan", tc.jobs, ToJSON(tc.state), planText(&p), err)
		}
	}
	Must(group.MakePlan(policy, group.State{}, []group.Object{&object{Member: members[0], attempt: 3}}, noon)) // it does not exist
	ended := group.State{Phase: group.Failed}
	Same(t, "a group that has ended", planned(policy, ended, "0@3 Running"), "Failed delete a-0")
	Same(t, "a group that has ended, with failures", planned(policy, ended, "0@3 Failed, 1 Running"), "Failed delete a-1")

	state, jobs := group.State{Members: map[string]group.Part{}}, jobsOf("0@3 Running, 1@2 Complete")
	for range jobs { // the attempts of the state are raised: the Jobs stay
		old := new(group.OldStateError)
		if _, err := group.MakePlan(policy, state, jobs, noon); !errors.As(err, &old) {
			t.Fatalf("%s: %v, want an *OldStateError", ToJSON(state), err)
		}
		part := state.Members[old.Member.Name]
		part.Restarts += old.Attempt - old.State
		state.Members[old.Member.Name] = part
	}
	p := Must(group.MakePlan(policy, state, jobs, noon))
	Same(t, "raised attempts", planText(&p), "Running")
	// The Jobs of later attempts are deleted: they are created again.
	Same(t, "a Job deleted", planned(policy, one, "1@1 Running"), "Running create a-0")
}

// A plan that is an error returns the state that it was given, which may be that of a group that would be
// resumed. A group without members does not end. The first state of one without failures has a version too.
func TestMakePlan_changesNothing(t *testing.T) {
	suspended := group.State{Phase: group.Suspended, Group: group.Part{Restarts: 1}}
	if p, err := group.MakePlan(nil, suspended, jobsOf("0@2 Failed"), noon); err == nil || p.State.Phase != group.Suspended {
		t.Errorf("an old state: %s, %v, want the state as it was", ToJSON(p.State), err)
	}
	refused := &group.Policy{Rules: []group.Rule{{}}}
	if p, err := group.MakePlan(refused, suspended, jobsOf("0@1 Failed"), noon); err == nil || p.State.Phase != group.Suspended {
		t.Errorf("an invalid policy: %s, %v, want the state as it was", ToJSON(p.State), err)
	}
	p := Must(group.MakePlan(nil, group.State{}, jobsOf("0 Complete, 1 Complete"), noon))
	Same(t, "the first state that is stored, that of the end", ToJSON(p.State),
		`{"version":1,"phase":"Complete","end":{"reason":"AllSucceeded","time":"2026-05-01T12:00:00Z"}}`)
	p = Must(group.MakePlan(nil, group.State{}, nil, noon))
	Same(t, "no members: changed, phase", Pair(p.Changed, p.State.Phase), Pair(false, group.Phase("")))
}

// The members that have succeeded, those that are left failed, and the one whose failure decides are listed by their positions.
func TestMakePlan_positions(t *testing.T) {
	attempt := int32(0)
	state := group.State{Version: 1, Members: map[string]group.Part{"a-0": {LeftAttempt: &attempt}}}
	p := Must(group.MakePlan(nil, state, jobsOf("0 Failed, 1 Complete"), noon))
	Same(t, "succeeded, left", [][]int32{p.Succeeded, p.LeftFailed}, [][]int32{{1}, {0}})
	state.Members = map[string]group.Part{"a-1": {LeftAttempt: &attempt}}
	p = Must(group.MakePlan(nil, state, jobsOf("0 Complete, 1 Failed"), noon))
	Same(t, "succeeded, left, decided", [][]int32{p.Succeeded, p.LeftFailed, {int32(p.Position)}}, [][]int32{{0}, {1}, {-1}})
	p = Must(group.MakePlan(nil, group.State{}, jobsOf("1 Failed"), noon))
	Same(t, "the member whose failure decides", p.Position, 1)
}

// Wait is the time until the next Job may be created, whatever the order of the members.
func TestMakePlan_wait(t *testing.T) {
	for _, after := range [][2]int{{5, 9}, {9, 5}, {5, 5}} {
		state := group.State{Members: map[string]group.Part{}}
		for i, seconds := range after {
			state.Members[members[i].Name] = group.Part{Restarts: 1, NotBefore: &times(seconds)[0]}
		}
		Same(t, fmt.Sprintf("not before %v s: wait", after), Must(group.MakePlan(nil, state, jobsOf(""), noon)).Wait, 5*time.Second)
		state.Phase = group.Failed
		Same(t, "wait of a group that has ended", Must(group.MakePlan(nil, state, jobsOf(""), noon)).Wait, 0)
	}
}

// "Templates counts restarts of whole templates, by their names": what has no name has no restarts of its own.
func TestAttempt_withoutNames(t *testing.T) {
	none := map[string]group.Part{"": {Restarts: 2}}
	s := group.State{Group: group.Part{Restarts: 1}, Templates: none, Members: none}
	Same(t, "attempt", s.Attempt(group.Member{}), 1)
	jobs := []group.Object{&object{uid: "uid", attempt: 1}}
	Same(t, "what is deleted of the member of attempt 1", Must(group.MakePlan(nil, s, jobs, noon)).Delete, nil)
}

func TestRestarts(t *testing.T) {
	s := group.State{Group: group.Part{Restarts: 1}, Templates: map[string]group.Part{"a": {Restarts: 2}, "b": {Restarts: -9}},
		Members: map[string]group.Part{"a-0": {Restarts: 4}}}
	Same(t, "restarts", s.Restarts(), 7)
}
