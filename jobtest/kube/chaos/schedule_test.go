package chaos

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// A fault loses the answer of a write, ends the Reconcile, or kills the controller, and then ends
// the Reconcile too.
func TestIntercept(t *testing.T) {
	type effect struct{ lost, ended, killed bool }
	all := map[effect]bool{}
	for _, lost := range []bool{false, true} {
		all[effect{lost, false, false}], all[effect{lost, true, false}], all[effect{lost, true, true}] = true, true, true
	}
	reads := maps.Clone(all)
	maps.DeleteFunc(reads, func(e effect, _ bool) bool { return e.lost })
	var p driver.Plan
	for i := range actions {
		p.Off = append(p.Off, actions[i].Name)
	}
	for verb, want := range map[string]map[effect]bool{"create": all, "patch": all, "get": reads, "list": reads} {
		s := &schedule{Schedule: driver.NewSchedule(1, p), serial: make(lock, 1), server: kube.New(kube.Options{})}
		s.judged = s.server.Revision()
		got := map[effect]bool{}
		for range 2000 {
			s.p = &creating{process: process{Env: &Env{running: true, stop: func() {}}}}
			v := s.intercept(&kube.Request{Verb: verb})
			got[effect{v.Lost, !s.p.running, s.p.killed}] = true
			if errors.Is(v.Err, context.Canceled) == s.p.running {
				t.Fatalf("%s gets %v, and Reconcile goes on: %v", verb, v.Err, s.p.running)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("the faults of %s have the effects %v, want %v", verb, got, want)
		}
	}
}
