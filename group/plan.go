package group

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Plan is the next step of the caller: to store a state, or to delete and create objects. It is complete:
// a caller that only carries out plans follows the protocol of the package comment.
type Plan struct {
	// Decision is about the first open failure, if there is one. State also changes at the end of a
	// suspension, and when all members have ended. If it is Changed, store it in one write that
	// fails on a conflict, and make another plan: nothing is deleted or created before.
	Decision
	// Delete lists objects of earlier attempts, and after the end of the group those that still run.
	Delete []Object
	// Create lists the members whose objects to create, for the attempt [State.Attempt]. If the state and
	// the objects are from a cache, first make the plan again from live reads.
	Create []Member
	// Wait is the time until the next object may be created, or the group resumed; zero for none.
	Wait time.Duration
	// Restarting says that objects of earlier attempts still exist.
	Restarting bool
	// Succeeded lists the members that have succeeded, by their position, and LeftFailed those that are left
	// failed.
	Succeeded, LeftFailed []int32

	invalid string  // why the group cannot be created
	failed  []int32 // the members whose failures are open, by their position
}

// MakePlan decides with [Decide] about the failed members of a group, and says what follows. objects has one
// element for each member. The group is complete when all members have succeeded; if instead some of
// them are left failed, it has failed.
//
// Members without an object get one, so objects must not be deleted by others before the group has ended, for
// example by a TTL. The failure of an object that is being deleted does not count.
//
// The error is one of [NewDecider] or [Decider.Decide], and the plan is then empty. It is an *OldStateError
// too if any object is of a later attempt than the state has, and the group has not ended.
func MakePlan(policy *Policy, state State, objects []Object, now time.Time) (p Plan, err error) {
	err = p.look(state, objects, now)
	if err == nil {
		err = p.next(&prepared{policy: policy}, state, objects, now)
	}
	if p.Changed {
		p.Delete, p.Create, p.Wait = nil, nil, 0
	}
	return p, err
}

// prepared is a policy that is prepared when a failure needs it.
type prepared struct {
	policy  *Policy
	decider *Decider
}

func (p *prepared) decide(s State, failures []Failure, now time.Time) (d Decision, err error) {
	if p.decider == nil {
		p.decider, err = NewDecider(p.policy)
		if err != nil {
			return undecided(s), err
		}
	}
	return p.decider.Decide(s, failures, now)
}

// look begins a plan: it finds what follows from the state, and the failures that are open. It uses the lists of the
// plan before.
func (p *Plan) look(state State, objects []Object, now time.Time) error {
	p.clear(state)
	if state.Version > StateVersion {
		return &UnknownVersionError{Version: state.Version}
	}
	if !state.Group.notBefore().After(now) {
		p.State = state.Resume()
		p.Changed = p.State.Phase != state.Phase
	}
	old := p.survey(objects, now)
	if old != nil {
		p.clear(state)
		return old
	}
	return nil
}

// next decides about a failure or, if none is open, whether all members have ended. If the plan is then Changed, its
// lists are those of the new state.
func (p *Plan) next(policy *prepared, state State, objects []Object, now time.Time) error {
	if len(p.failed) > 0 {
		err := p.decide(policy, objects, now)
		if err != nil {
			p.clear(state)
		}
		return err
	}
	switch {
	case !p.done(objects):
		return nil
	case len(p.LeftFailed) > 0:
		p.State = p.State.Finish(Failed, ReasonLeftFailed, now)
	default:
		p.State = p.State.Finish(Complete, ReasonAllSucceeded, now)
	}
	p.Changed = true
	return nil
}

// done reports whether all members of a group that runs have ended. A group without members does not end.
func (p *Plan) done(objects []Object) bool {
	n := len(p.Succeeded) + len(p.LeftFailed)
	return p.State.Phase == "" && n == len(objects) && n > 0
}

// clear makes the plan empty.
func (p *Plan) clear(s State) {
	*p = Plan{Decision: undecided(s), Delete: p.Delete[:0], Create: p.Create[:0],
		Succeeded: p.Succeeded[:0], LeftFailed: p.LeftFailed[:0], failed: p.failed[:0]}
}

// fail ends the group, because it cannot be created.
func (p *Plan) fail(s State, invalid error, now time.Time) {
	p.clear(s)
	p.State, p.Changed, p.invalid = s.Finish(Failed, ReasonInvalid, now), true, invalid.Error()
}

// decide decides about the open failures, and finds what follows from the new state.
func (p *Plan) decide(policy *prepared, objects []Object, now time.Time) error {
	failures := make([]Failure, len(p.failed))
	for i, at := range p.failed {
		failures[i] = objects[at].Failure()
	}
	d, err := policy.decide(p.State, failures, now)
	if err != nil {
		return err
	}
	if d.Position >= 0 {
		d.Position = int(p.failed[d.Position])
	}
	p.clear(d.State)
	p.Decision = d
	if old := p.survey(objects, now); old != nil {
		return old
	}
	return nil
}

// survey looks at the objects once. It counts them, and finds what follows from the state alone and which failures are
// open. It returns an error about an object of a later attempt than the state has.
func (p *Plan) survey(objects []Object, now time.Time) *OldStateError {
	ended, ofGroup := p.State.Phase.ended(), p.State.Group.restarts()
	template, shared := "", ofGroup // the restarts that all members of the template share
	for i, o := range objects {
		m := o.Of()
		if m.Template != template {
			template, shared = m.Template, p.State.Attempt(Member{Template: m.Template})
		}
		attempt, left := shared, false
		if part, ok := p.State.Members[m.Name]; ok && m.Name != "" {
			attempt = sum(attempt, part.restarts())
			left = part.LeftAttempt != nil && *part.LeftAttempt == attempt
		}
		if left {
			p.LeftFailed = append(p.LeftFailed, int32(i))
		}
		if o.UID() == "" {
			if !ended && !left {
				p.missing(m, now)
			}
			continue
		}
		if old := p.exists(i, o, attempt, left); old && !ended {
			return &OldStateError{Member: m, Attempt: o.CreatedFor(), State: attempt}
		}
	}
	if p.Restarting {
		p.Create = p.Create[:0]
	}
	return nil
}

// exists counts an object, and plans its deletion. It reports whether the object is of a later attempt.
func (p *Plan) exists(i int, o Object, attempt int32, left bool) (later bool) {
	created, phase := o.CreatedFor(), o.Phase()
	earlier := created < attempt
	switch {
	case left:
	case earlier:
		p.Restarting = true
	case phase == Complete:
		p.Succeeded = append(p.Succeeded, int32(i))
	case phase == Failed && p.State.Phase == "" && !o.Deleting():
		p.failed = append(p.failed, int32(i))
	}
	runs := phase != Complete && phase != Failed && phase != Ending
	if (earlier || runs && p.State.Phase.ended()) && !o.Deleting() {
		p.Delete = append(p.Delete, o)
	}
	return created > attempt
}

// missing plans the creation of a member that has no object.
func (p *Plan) missing(m Member, now time.Time) {
	if wait := p.State.NotBefore(m).Sub(now); wait > 0 {
		p.Wait = min(wait, cmp.Or(p.Wait, wait))
	} else if p.State.Phase == "" {
		p.Create = append(p.Create, m)
	}
}

// Phase returns the phase of the state or, while the group runs, Running or Restarting.
func (p *Plan) Phase() Phase {
	if p.State.Phase == "" && p.Restarting {
		return Restarting
	}
	return cmp.Or(p.State.Phase, Running)
}

// Message says what has changed, and because of which failure, for a condition or an event. It is empty
// if nothing has.
func (p *Plan) Message() string {
	switch {
	case p.invalid != "":
		return p.invalid
	case p.Action != "":
	case !p.Changed:
		return ""
	case p.State.Phase == Failed:
		return fmt.Sprint("members left failed: ", len(p.LeftFailed))
	case p.State.Phase == Complete:
		return "all members have succeeded"
	default:
		return "resumed"
	}
	text := fmt.Sprintf("%s: %s failed: %s: %s", p.Action, p.Failure.Name, p.Failure.Reason, p.Failure.Message)
	text = strings.TrimRight(text, ": ") // the message may be empty
	for _, r := range p.Renewed {
		text += "; " + r.String()
	}
	switch {
	case p.Rule < 0:
		return "no rule matches, " + text
	case p.Step < 0:
		return "no step is left, " + text
	}
	return text
}
