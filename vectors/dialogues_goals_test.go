package vectors_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/vectors"
)

// goalsOf returns all pairs of events in one sync or in two consecutive syncs.
func goalsOf(d *vectors.Dialogue) map[string]bool {
	goals, before := map[string]bool{}, []string(nil)
	for _, sync := range happenings(d) {
		for i, a := range sync {
			goals[a] = true
			for _, b := range sync[i+1:] {
				goals[a+", "+b] = true
			}
			for _, b := range before {
				if unusual(a) || unusual(b) {
					goals[b+"; "+a] = true
				}
			}
		}
		before = sync
	}
	return goals
}

// happenings returns the events of each sync of a dialogue.
func happenings(d *vectors.Dialogue) (syncs [][]string) {
	asked, open := map[uint64]string{}, map[uint64]bool{}
	add := func(what string) {
		if last := len(syncs) - 1; !slices.Contains(syncs[last], what) {
			syncs[last] = append(syncs[last], what)
		}
	}
	unanswered := func() {
		for _, id := range slices.Sorted(maps.Keys(open)) {
			add(asked[id] + ": no answer")
		}
		clear(open)
	}
	if d.Orphans != nil {
		syncs = [][]string{{"orphans"}}
	}
	for _, s := range d.Steps {
		switch {
		case s.Begin != nil:
			unanswered()
			syncs = append(syncs, nil)
			if s.Begin.Job == "" {
				add("no Job in the cache")
			}
			if s.Begin.Fed {
				add("fed pods")
			}
		case s.Requests != nil:
			for _, r := range s.Requests {
				asked[r.ID], open[r.ID] = purpose(&r), true
				add(asked[r.ID])
			}
		case s.Answer != nil:
			what := asked[s.Answer.To]
			delete(open, s.Answer.To)
			switch f := s.Answer.Fail; {
			case f != nil && f.Broken:
				add(what + ": broken connection")
			case f != nil:
				add(what + ": " + string(f.Status.Reason))
			case s.Answer.Job+s.Answer.Pod == "" && s.Answer.List == nil:
				add(what + ": no object")
			default:
				add(what)
			}
		case s.Result != nil:
			for _, e := range s.Result.Events {
				add("event " + e.Reason)
			}
			if s.Result.Ended {
				add("ended")
			}
			if s.Result.Gone {
				add("gone")
			}
		}
	}
	unanswered()
	return syncs
}

// unusual reports whether an answer is missing or an error.
func unusual(what string) bool { return strings.ContainsAny(what, ":,") }

// purpose returns the purpose of a request.
func purpose(r *vectors.Request) string {
	if r.Verb != jobfate.PatchPod.String() {
		return r.Verb
	}
	return vectors.PurposeOf(r.Patch)
}
