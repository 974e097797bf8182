package proof

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// Counts counts what a Follower has checked.
type Counts struct {
	// Steps is the number of events, Checks that of pairs of states, each of one pod and one index, and Pods that of
	// pods.
	Steps, Checks, Pods int64
	// Actions counts the checked pairs by action, Out the pods that are not followed further by the
	// assumption that was broken. Under growing it counts the Jobs that are followed without the invariant.
	Actions, Out map[string]int64
}

// add adds what another Follower has checked.
func (c *Counts) add(o *Counts) {
	if c.Actions == nil {
		c.Actions, c.Out = map[string]int64{}, map[string]int64{}
	}
	c.Steps += o.Steps
	c.Checks += o.Checks
	c.Pods += o.Pods
	for name, n := range o.Actions {
		c.Actions[name] += n
	}
	for name, n := range o.Out {
		c.Out[name] += n
	}
}

// Options holds the options of the controller that decide what it sees of a pod.
type Options struct {
	referee.Rules // the keys, and the phases by which pods count
	// Cap is the number of pods that the uncounted lists may hold; 0 means 500.
	Cap int16
	// Policy replaces the failure policy of the Job.
	Policy *failurepolicy.Spec
	// These switch parts of the spec off.
	WithoutPolicy, WithoutPerIndex, WithoutReplacement bool
}

// Follower checks that each event in a cluster is a step of the model.
type Follower struct {
	Options
	// Versions says that resource versions are those of a real cluster: they never repeat.
	Versions bool
	Counts
	Refused error // the first event that is not a step of the model

	p       *program
	known   map[pod]*pod
	checked map[check]bool
	policy  policies
	sets    map[string]uint64
}

type check struct {
	action        string
	before, after *pod
	actor         int
	given         [3]int16
}

// NewFollower returns a Follower.
func NewFollower(p *program) *Follower {
	return &Follower{p: p, known: map[pod]*pod{}, checked: map[check]bool{}, sets: map[string]uint64{},
		Counts: Counts{Actions: map[string]int64{}, Out: map[string]int64{}}}
}

// intern returns the one pod that is equal.
func (f *Follower) intern(p *pod) *pod {
	if same, ok := f.known[*p]; ok {
		return same
	}
	next := *p
	f.known[next] = &next
	return &next
}

// step makes a step for all pods, and checks it for each. It changes the world, so the caller passes a copy.
func (f *Follower) step(w *world, action string, actor int, given [3]int16, change func(*pod)) {
	for i, before := range w.pods {
		after := *before
		change(&after)
		w.pods[i] = f.intern(&after)
		switch {
		case after.out == "":
			f.check(w, check{action, before, w.pods[i], actor, given})
		case before.out == "":
			f.Out[after.out]++
		}
	}
}

// stepOne makes a step that is about one pod.
func (f *Follower) stepOne(w *world, uid types.UID, action string, actor int, change func(*pod)) {
	for i, before := range w.pods {
		if before.uid != uid || before.out != "" {
			continue
		}
		after := *before
		change(&after)
		w.pods[i] = f.intern(&after)
		if after.out == "" {
			f.check(w, check{action, before, w.pods[i], actor, [3]int16{}})
		}
	}
}

// check checks a step for one pod.
func (f *Follower) check(w *world, k check) {
	f.Checks++
	f.Actions[k.action]++
	if f.checked[k] {
		return
	}
	s := f.frame(w, k)
	a := f.p.actions[k.action]
	if !a.holds(s) {
		f.refuseStep(w, k, s, "not true: "+strings.Join(a.wrong(s), ", "))
		return
	}
	for _, c := range f.p.invariant {
		if !w.lowered && c.holds(&frame{s.consts, s.after, s.after, nil}) == 0 {
			f.refuseStep(w, k, s, "after it the invariant does not hold: "+c.text)
		}
	}
	f.checked[k] = true
}

// refuseStep reports a pair of states.
func (f *Follower) refuseStep(w *world, k check, s *frame, why string) {
	f.refuse(k.action, "of %s and %q, index %d, by %d: %s\nbefore: %s\nafter:  %s", w.uid, k.before.uid, k.before.index,
		k.actor+1, why, f.p.show(s.before), f.p.show(s.after))
}

// frame returns the values of a step. c is the actor, and o the other process.
func (f *Follower) frame(w *world, k check) *frame {
	s := &frame{given: k.given[:]}
	s.consts = append(s.consts, truth(w.indexed), cmp.Or(f.Cap, 500))
	for _, a := range f.p.Assumptions {
		s.consts = append(s.consts, truth(a.Name != "growing" || !w.lowered))
	}
	s.before, s.after = k.before.values(k.actor), k.after.values(k.actor)
	return s
}

func (f *Follower) refuse(action, format string, args ...any) {
	if f.Refused == nil {
		f.Refused = fmt.Errorf(action+": "+format, args...)
	}
}
